package cmd

import (
	"os/exec"
	"testing"
)

// A shell reads a quoted word back as it was.
func TestShellWord(t *testing.T) {
	for _, word := range []string{"plain", "/a b/c", "it's", `"$HOME"`, "`id`", "", "a\\b", "*", "~/x", "ü"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+shellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q came back as %q, %v", word, out, err)
		}
	}
}

func TestSystemdWord(t *testing.T) {
	for in, want := range map[string]string{
		"/a/b": "/a/b", "/a b": `"/a b"`, "100%": "100%%", "$x": "$$x", `a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "": `""`,
	} {
		if got := systemdWord(in); got != want {
			t.Errorf("systemdWord(%q) = %s, want %s", in, got, want)
		}
	}
}
