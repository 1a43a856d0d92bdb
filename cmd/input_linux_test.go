package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// powerless runs the program in this process, on a thread that has none of root's rights.
func powerless(t *testing.T, args ...string) result {
	t.Helper()
	home := t.TempDir()
	var out, errs bytes.Buffer
	p := program{
		args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, now: time.Now,
		env: func(name string) (string, bool) { return home, name == "HOME" },
	}
	ended := make(chan int)
	go func() {
		runtime.LockOSThread() // which ends with this goroutine
		var none [2]unix.CapUserData
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			t.Error(err)
		}
		ended <- p.main()
	}()
	return result{<-ended, out.String(), errs.String()}
}

// Of an input file that may not be read it is not said that one must be able to write there.
func TestUnreadableInput(t *testing.T) {
	dir := t.TempDir()
	file, closed := filepath.Join(dir, "file"), filepath.Join(dir, "closed")
	if err := os.WriteFile(file, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", file}, {"set", "1", "--user", "u", "--password-file", file}, {"list", "--config", file}, {"check", file},
		{"check", filepath.Join(closed, "feed.xml")},
	} {
		r := powerless(t, args...)
		if r.code != exitUsage || !strings.HasSuffix(r.stderr, "permission denied\nhint: the user who runs crawl must be able to read it\n") {
			t.Errorf("crawl %s: code %d, %s", strings.Join(args, " "), r.code, r.stderr)
		}
	}
}
