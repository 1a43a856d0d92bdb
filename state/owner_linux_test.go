package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const nobody = 65534

// others gives the names in a directory, itself included, that do not belong to a user.
func others(t *testing.T, dir string, user uint32) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != user || st.Gid != user {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What root makes in another user's directory is that user's: one run by root left files that every later run was not permitted to read.
func TestRootWorksInAnothersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can give files away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	check := func(step string, err error) {
		t.Helper()
		if left := others(t, dir, nobody); err != nil || len(left) > 0 {
			t.Fatalf("%s: %v; not the user's: %v", step, err, left)
		}
	}
	d, err := Open(dir)
	check("open", err)
	lock, err := d.Lock(Holder{Kind: "run", Hour: testHour})
	check("lock", err)
	check("minute", d.KeepStartMinute(30))
	check("seq", d.KeepHighestSeq(7))
	check("flag", d.SetFlag(Flag{Hour: testHour}))
	check("kill", d.SetKill(Kill{At: testHour}))
	check("sessions", d.KeepSessions([]byte("keys")))
	p, err := d.Part(header(d, 1), nil)
	check("part", err)
	check("line", p.Append(result(1)))
	_, err = p.Close(1, testHour)
	check("snapshot", err)
	base := list(t, d)[0]
	p, err = d.Part(header(d, 1), &base)
	check("extend", err)
	check("leave", p.Leave())
	check("aside", d.SetAside(base))
	if _, err := os.Stat(filepath.Join(dir, "snapshots", "bad")); err != nil {
		t.Error(err)
	}
	check("unlock", lock.Unlock())
}

// Nothing else becomes the user's: neither what a link leads to, nor what is made there, nor what was there before, nor a
// file in a directory of root's. A new snapshot in a directory of root's was the user's whose link led there.
func TestRootGivesNothingElseAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can give files away")
	}
	outside := t.TempDir()
	for _, name := range []string{"lock", "id"} {
		if err := os.WriteFile(filepath.Join(outside, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(outside, "snapshots"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"lock", "id", "snapshots"} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	for _, dir := range []string{dir, own} {
		d := open(t, dir)
		lock, err := d.Lock(Holder{})
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Unlock()
		snapshot(t, d, header(d, 1), lines(1))
		if err := d.SetAside(list(t, d)[0]); err != nil {
			t.Fatal(err)
		}
		snapshot(t, d, header(d, 1), lines(1))
	}
	for _, dir := range []string{outside, own} {
		if left := others(t, dir, 0); len(left) > 0 {
			t.Errorf("not root's any more: %v", left)
		}
		if found, err := filepath.Glob(filepath.Join(dir, "snapshots", "*")); len(found) != 2 || err != nil { // 1.jsonl and bad
			t.Errorf("%v, %v", found, err)
		}
	}
}
