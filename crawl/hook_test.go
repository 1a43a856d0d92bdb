package crawl

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runHook runs a hook and returns what is logged of it.
func runHook(t *testing.T, command string) (log string, err error) {
	t.Helper()
	s := testSession(t)
	var b bytes.Buffer
	s.cfg.Log = slog.New(slog.NewTextHandler(&b, nil))
	s.cfg.Settings.Hook, s.cfg.Settings.HookTimeout = command, time.Minute
	_, err = s.hook(t.Context(), 0)
	return b.String(), err
}

// The examples of the README call crawl, which cron's path does not have. Where this program is comes last; without any path the system's
// commands are found all the same.
func TestAHookFindsCrawl(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/bin:/usr/bin": "/bin:/usr/bin", "": "/usr/bin:/bin"} {
		t.Setenv("PATH", path)
		out := filepath.Join(t.TempDir(), "out")
		if _, err := runHook(t, "command -v "+filepath.Base(self)+" > "+out+" && printenv PATH >> "+out); err != nil {
			t.Errorf("PATH=%s: %v", path, err)
		}
		got, err := os.ReadFile(out)
		if want := self + "\n" + want + ":" + filepath.Dir(self) + "\n"; err != nil || string(got) != want {
			t.Errorf("PATH=%s: %q, want %q, %v", path, got, want, err)
		}
	}
}

// What a hook complains of is logged, on one line without control characters, also where it ends well: it was lost. Its failure is
// explained by that first, then by what it wrote last.
func TestWhatAHookSays(t *testing.T) {
	log, err := runHook(t, `printf 'chatter\n'; printf 'bad\n \033]0;x\007 \377news\n' >&2`)
	if err != nil || !strings.HasSuffix(log, ` stderr="bad ]0;x �news"`+"\n") || strings.Count(log, "\n") != 1 || strings.Contains(log, "level=WARN") {
		t.Errorf("%q, %v", log, err)
	}
	if log, err := runHook(t, "echo chatter"); log != "" || err != nil {
		t.Errorf("without complaints: %q, %v", log, err)
	}
	if log, err := runHook(t, "yes | head -c 9999 >&2"); len(log) > hookTail+200 || err != nil {
		t.Errorf("%d bytes, %v", len(log), err)
	}
	for command, want := range map[string]string{
		"echo no luck; exit 3":                           "exit status 3: no luck",
		"echo no luck >&2; echo chatter; exit 3":         "exit status 3: no luck",
		`printf 'first\nno \033[1mluck\n\n' >&2; exit 3`: "exit status 3: no [1mluck",
		"exit 3": "exit status 3",
	} {
		if log, err := runHook(t, command); err == nil || err.Error() != want || log != "" {
			t.Errorf("%s: %v, want %s; log %q", command, err, want, log)
		}
	}
}
