package state

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(d.file("id")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if len(d.ID) < 16 || strings.ContainsAny(d.ID, "/ \n") || d.Database() != filepath.Join(dir, "crawl.db") {
		t.Errorf("id %q, database %s", d.ID, d.Database())
	}
	t.Chdir(filepath.Dir(dir))
	if again := open(t, "b"); again.ID != d.ID || again.Path != dir {
		t.Errorf("opened again: %+v, was %+v", again, d)
	}
	moved := filepath.Join(filepath.Dir(dir), "c")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if again := open(t, moved); again.ID != d.ID {
		t.Errorf("moved: id %s, was %s", again.ID, d.ID)
	}
}

// TestCopiedDirectory: flag and snapshots of the original are set aside in the copy, nothing is deleted but TLS sessions, and the original
// is as it was.
func TestCopiedDirectory(t *testing.T) {
	d := open(t, t.TempDir())
	snapshot(t, d, header(d, 1), lines(2))
	write(t, d, header(d, 2), lines(2)).Leave()
	if err := d.SetFlag(Flag{Run: 1, Hour: testHour}); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepStartMinute(15); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepSessions([]byte("keys")); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(d.Path)); err != nil {
		t.Fatal(err)
	}
	c := open(t, copied)
	if c.ID == d.ID {
		t.Fatal("the copy has the same identity")
	}
	if f, err := c.LookFlag(); f != nil || err != nil {
		t.Errorf("flag of the copy: %+v, %v", f, err)
	}
	if infos := list(t, c); len(infos) != 0 {
		t.Errorf("snapshots of the copy: %+v", infos)
	}
	if m, err := c.StartMinute(); m != 15 || err != nil {
		t.Errorf("start minute of the copy: %d, %v", m, err)
	}
	if b, err := c.Sessions(); b != nil || err != nil {
		t.Errorf("TLS sessions of the copy: %q, %v", b, err)
	}
	if aside, err := os.ReadDir(filepath.Join(c.snapshots(), "bad")); err != nil || len(aside) != 3 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	if again := open(t, copied); again.ID != c.ID {
		t.Error("the copy does not keep its identity")
	}
	if again := open(t, d.Path); again.ID != d.ID || len(list(t, again)) != 2 {
		t.Error("the original was touched")
	}
	if b, err := d.Sessions(); string(b) != "keys" || err != nil {
		t.Errorf("TLS sessions of the original: %q, %v", b, err)
	}
}

// TestForeignIdentity: what in the file id makes a directory another's.
func TestForeignIdentity(t *testing.T) {
	d := open(t, t.TempDir())
	whole, err := os.ReadFile(d.file("id"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*identity)
		same   bool
	}{
		"machine":         {func(i *identity) { i.Machine = "other" }, machine() == ""},
		"inode":           {func(i *identity) { i.Inode++ }, false},
		"birth":           {func(i *identity) { i.Born = "1.000000000" }, false},
		"no id":           {func(i *identity) { i.ID = "" }, false},
		"unknown machine": {func(i *identity) { i.Machine = "" }, true},
		"unknown birth":   {func(i *identity) { i.Born = "" }, true},
	}
	var here identity
	if err := json.Unmarshal(whole, &here); err != nil {
		t.Fatal(err)
	}
	if here.Born == "" {
		t.Log("this file system does not tell when an inode was made: that case is left out")
		delete(tests, "birth")
	}
	for name, tt := range tests {
		is := here
		tt.change(&is)
		data, _ := json.Marshal(is)
		if err := os.WriteFile(d.file("id"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := open(t, d.Path); (got.ID == d.ID) != tt.same {
			t.Errorf("%s: same %v, want %v", name, got.ID == d.ID, tt.same)
		}
	}
	for _, content := range []string{"", "{", "hello", string(whole[:len(whole)/2])} {
		if err := os.WriteFile(d.file("id"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := open(t, d.Path); got.ID == d.ID || got.ID == "" {
			t.Errorf("%q: id %q", content, got.ID)
		}
	}
}

// TestForeignIdentityAtWork: a directory that two machines see does not change its identity under a run.
func TestForeignIdentityAtWork(t *testing.T) {
	d := open(t, t.TempDir())
	l := take(t, d, Holder{})
	defer l.Unlock()
	if err := os.WriteFile(d.file("id"), []byte(`{"id":"other","inode":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path); err == nil || !strings.Contains(err.Error(), d.Path) {
		t.Errorf("got %v", err)
	}
}

func TestOpenAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

// "wait for another process" is said only where one was waited for.
func TestAGateThatCannotBeOpenedNamesNoOtherProcess(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(d.file("id")), os.Mkdir(d.file("id"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepHighestSeq(1); err == nil || strings.Contains(err.Error(), "another process") {
		t.Fatal(err)
	}
}
