package state

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// options switch off what ext4 does for programs that rename without fsync.
const options = "loop,noauto_da_alloc"

// disk is an ext4 file system in a file, whose power can be cut.
type disk struct{ image, mount string }

func newDisk(t *testing.T) disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("power cuts need root, to mount a disk of their own")
	}
	k := disk{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	if err := os.WriteFile(k.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(k.image, 16<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", k.image).CombinedOutput(); err != nil {
		t.Skipf("no ext4 can be made here: %v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", options, k.image, k.mount).CombinedOutput(); err != nil {
		t.Skipf("no loop device can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { unix.Unmount(k.mount, unix.MNT_DETACH) })
	return k
}

func (k disk) data() string { return filepath.Join(k.mount, "data") }

// cut cuts the power: what is not on the disk, nor in its journal, is lost. (FS_IOC_SHUTDOWN, without a flush of the log.)
func (k disk) cut(t *testing.T) {
	t.Helper()
	dir, err := os.Open(k.mount)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), 0x8004587d, 2); err != nil {
		t.Skipf("this file system has no FS_IOC_SHUTDOWN: %v", err)
	}
}

// reboot cuts the power, and opens the directory as the next run does.
func (k disk) reboot(t *testing.T) *Dir {
	t.Helper()
	k.cut(t)
	if out, err := exec.Command("umount", k.mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	k.move(t)
	if out, err := exec.Command("mount", "-o", options, k.image, k.mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := open(t, k.data())
	take(t, d, Holder{}).Unlock()
	return d
}

// move copies the image to a file of its own. Tests of other packages make mount namespaces, in which the dead file system lives on: to
// mount the same file again would be to mount that.
func (k disk) move(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(k.image)
	if err == nil {
		err = os.WriteFile(k.image+".new", content, 0o600)
	}
	if err == nil {
		err = os.Rename(k.image+".new", k.image)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPowerCutAfterDone: what was said to be done is still so after a power cut in the same moment.
func TestPowerCutAfterDone(t *testing.T) {
	k := newDisk(t)
	d := open(t, k.data())
	id := d.ID
	if d = k.reboot(t); d.ID != id {
		t.Error("the identity is lost")
	}
	if err := d.SetFlag(Flag{Run: 4, Hour: testHour}); err != nil {
		t.Fatal(err)
	}
	d = k.reboot(t)
	if f, err := d.LookFlag(); err != nil || f == nil || f.Run != 4 {
		t.Errorf("flag %+v, %v", f, err)
	}
	if err := d.ClearFlag(); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepHighestSeq(8); err != nil {
		t.Fatal(err)
	}
	d = k.reboot(t)
	if f, err := d.LookFlag(); err != nil || f != nil {
		t.Errorf("flag %+v, %v", f, err)
	}
	if s, err := d.HighestSeq(); err != nil || s != 8 {
		t.Errorf("seq %d, %v", s, err)
	}
}

// TestPowerCutAfterSync: the same for a part and a snapshot.
func TestPowerCutAfterSync(t *testing.T) {
	k := newDisk(t)
	d := open(t, k.data())
	p := write(t, d, header(d, 7), lines(3))
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := p.Append(result(4)); err != nil {
		t.Fatal(err)
	}
	k.cut(t)
	p.file.Close()
	d = k.reboot(t)
	if got, err := read(d, list(t, d)[0]); err != nil || len(got) < 3 || !equal(got, lines(len(got))) {
		t.Errorf("part: %d lines, %v", len(got), err)
	}
	write(t, d, header(d, 7), nil).file.Close()
	if err := d.SetKill(Kill{At: testHour}); err != nil { // makes the part's new name durable, but not its content
		t.Fatal(err)
	}
	d = k.reboot(t)
	if infos := list(t, d); len(infos) != 1 {
		t.Errorf("part, opened again: %+v", infos)
	} else if got, err := read(d, infos[0]); err != nil || len(got) < 3 {
		t.Errorf("part, opened again: %d lines, %v", len(got), err)
	}

	want := snapshot(t, d, header(d, 7), nil)
	d = k.reboot(t)
	if infos := list(t, d); len(infos) != 1 || !infos[0].Complete || *infos[0].Closing != *want.Closing {
		t.Errorf("snapshot: %+v", infos)
	}
}

// TestPowerCutAnyTime: at any moment nothing is bad, and a complete snapshot is whole.
func TestPowerCutAnyTime(t *testing.T) {
	k := newDisk(t)
	for range 10 {
		d := open(t, k.data())
		take(t, d, Holder{}).Unlock()
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for category := int64(1); ; category = category%3 + 1 {
				if !work(d, category) {
					return
				}
			}
		}()
		time.Sleep(time.Duration(5+rand.IntN(60)) * time.Millisecond)
		k.cut(t)
		<-stop
		d = k.reboot(t)
		for _, info := range list(t, d) {
			if got, err := read(d, info); err != nil || !equal(got, lines(len(got))) {
				t.Errorf("%s: %d lines, %v", info.Path, len(got), err)
			}
		}
	}
}

// work writes a snapshot until the power is cut.
func work(d *Dir, category int64) bool {
	p, err := d.Part(header(d, category), nil)
	if err != nil {
		return false
	}
	defer p.Leave()
	for i := p.held; i < 60; i++ {
		if p.Append(result(i+1)) != nil || i%20 == 0 && p.Sync() != nil {
			return false
		}
	}
	_, err = p.Close(1, testHour)
	return err == nil
}
