package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own child: with this variable set it does one thing to a database and ends.
const childVariable = "CRAWL_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		if err := child(strings.Fields(what), os.Getenv(childVariable+"_DB")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childCommand prepares a child process.
func childCommand(t testing.TB, path string, what ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(what, " "), childVariable+"_DB="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func child(what []string, path string) error {
	ctx := context.Background()
	o := Options{Key: testKey, Fail: testFail(5)}
	switch what[0] {
	case "die": // at the named point
		o.Migrate = true
		o.Point = func(name string) {
			if name == what[1] {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		s, err := Open(ctx, path, o)
		if err != nil {
			return err
		}
		return mergeForCrash(s)
	case "churn":
		o.Migrate = true
		s, err := Open(ctx, path, o)
		if err != nil {
			return err
		}
		return churn(s)
	case "use":
		return use(ctx, path)
	case "claim":
		return claimForRace(ctx, path, what[1])
	}
	return errors.New("unknown child " + what[0])
}

// use opens a database, reads and writes, and says how that went.
func use(ctx context.Context, path string) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		fmt.Println("open:", err)
		return nil
	}
	defer s.Close()
	feeds, err := s.Feeds(ctx, Filter{})
	fmt.Println("read:", len(feeds), err)
	fmt.Println("write:", s.SetRanked(ctx, "c", true))
	return nil
}

// claimForRace waits for a line on standard input, then claims all that it can get, and prints id and token of each.
func claimForRace(ctx context.Context, path, name string) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for {
		candidates, err := s.Candidates(ctx, 1, dueAt(t0))
		if err != nil {
			return err
		}
		if len(candidates) == 0 {
			return nil
		}
		for len(candidates) > 0 {
			n := min(len(candidates), 50)
			var ids []int64
			for _, c := range candidates[:n] {
				ids = append(ids, c.ID)
			}
			claims, err := s.Claim(ctx, ids, Lease{"host" + name + "/1", "boot", t0.Add(10 * time.Minute)}, dueAt(t0))
			if err != nil {
				return err
			}
			for _, c := range claims {
				fmt.Println(c.ID, c.Token)
			}
			candidates = candidates[n:]
		}
	}
}

// readClaims reads what claimForRace printed.
func readClaims(t testing.TB, out *bufio.Scanner, owner string, claimed map[int64]string) (n int) {
	t.Helper()
	for out.Scan() {
		id, err := strconv.ParseInt(strings.Fields(out.Text())[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := claimed[id]; twice {
			t.Errorf("feed %d was claimed by %s and %s", id, other, owner)
		}
		claimed[id] = owner
		n++
	}
	return n
}
