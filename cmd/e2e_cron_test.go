package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Under Debian's own cron two hours' runs and half-checks do their work with the environment that a job gets, and nothing is mailed. The hours
// follow each other in minutes, by --start-minute. CRAWL_TEST_CRON names the cron binary; it runs as root in
// namespaces of its own, so that nothing is installed or left.
func TestUnderRealCron(t *testing.T) {
	cron := os.Getenv("CRAWL_TEST_CRON")
	if cron == "" || os.Getuid() != 0 {
		t.Skip("skipped: CRAWL_TEST_CRON does not name a cron binary, or not root; .ci/run sets it")
	}
	s := newSite(t)
	for n := range 6 {
		s.add([]string{"News", "Art"}[n%2], 4)
	}
	w := newWorld(t, s)
	w.subscribe()
	root := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(root, "crawl"), "crawl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	prepareCron(t, cron, root)
	first := time.Now().Add(10 * time.Second).Truncate(time.Minute).Add(time.Minute)
	startCron(t, root, crontab(root, w.dir, first))

	w.awaitRuns(1, first)
	eachOnce(t, s.cut(), s.feeds)
	s.edit(func() {
		for _, f := range s.feeds {
			f.publish()
		}
	})
	w.awaitRuns(2, first.Add(2*time.Minute))
	for end := first.Add(6 * time.Minute); len(lines(t, filepath.Join(root, "codes"))) < 4 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	same(t, "exit codes", []string{"run 0", "half-check 0", "run 0", "half-check 0"}, lines(t, filepath.Join(root, "codes")))
	eachOnce(t, s.cut(), s.feeds)
	w.storedOnce()
	w.sound()
	w.nothingLeft()

	mail := strings.Join(lines(t, filepath.Join(root, "mail")), "\n")
	if strings.Count(mail, "Subject:") != 1 || !strings.Contains(mail, "echo this is mailed") {
		t.Fatalf("the mail of cron is not just that of the job that prints:\n%s", mail)
	}
}

// crontab has two hours of cron entries, three minutes long, and one entry whose output must be mailed.
func crontab(root, dir string, first time.Time) string {
	var b strings.Builder
	entry := func(after int, command string, start time.Time) {
		fmt.Fprintf(&b, "%d * * * * root %s/crawl %s --dir %s --allow-net 127.0.0.0/8 --min-interval 1s --start-minute %d; echo %s $? >> %s/codes\n",
			first.Add(time.Duration(after)*time.Minute).Minute(), root, command, dir, start.Minute(), command, root)
	}
	second := first.Add(2 * time.Minute)
	entry(0, "run", first)
	entry(1, "half-check", first)
	entry(2, "run", second)
	entry(3, "half-check", second)
	fmt.Fprintf(&b, "%d * * * * root echo this is mailed\n", first.Minute())
	return b.String()
}

// prepareCron makes a copy of /etc without crontabs, and a sendmail that keeps what it gets: that may take a while, and cron must be there
// in its minute.
func prepareCron(t *testing.T, cron, root string) {
	t.Helper()
	script := fmt.Sprintf(`set -e
cd %[1]s
mkdir -p run sbin spool/cron/crontabs
cp -a /etc etc
rm -rf etc/cron.d etc/crontab && mkdir etc/cron.d
printf 'session optional pam_env.so\naccount sufficient pam_permit.so\nauth sufficient pam_permit.so\n' > etc/pam.d/cron
grep -q ^crontab: etc/group || echo crontab:x:64000: >> etc/group
cp %[2]s sbin/cron
printf '#!/bin/sh\ncat >> %[1]s/mail\n' > sbin/sendmail
chmod 755 sbin/sendmail`, root, cron)
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// startCron runs cron in the foreground, with what was prepared, and this as the only crontab.
func startCron(t *testing.T, root, crontab string) {
	t.Helper()
	script := fmt.Sprintf(`set -e
cd %s
mount --bind etc /etc
mount --bind run /run
mount --bind spool /var/spool
mount --bind sbin /usr/sbin
exec /usr/sbin/cron -f`, root)
	if err := os.WriteFile(filepath.Join(root, "etc", "cron.d", "crawl"), []byte(crontab), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script)
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill() // takes the whole namespace with it
		c.Wait()
	})
}

// awaitRuns waits until so many runs are done, at most until cron starts another, two minutes after the last.
func (w *world) awaitRuns(n int, from time.Time) {
	w.t.Helper()
	for end := from.Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		rows, err := w.tryQuery("SELECT count(*) FROM runs WHERE outcome = 'done'")
		if err == nil && rows[0] == fmt.Sprint(n) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%v runs are done, not %d: %v", rows, n, err)
		}
	}
}

func lines(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
