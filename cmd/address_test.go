package cmd

import "testing"

func TestTypedWithout(t *testing.T) {
	for in, want := range map[string]string{
		"http://h.example/a?b@c":            "http://h.example/a?b@c",
		"http://me:secret@h.example/a@b":    "http://h.example/a@b",
		"me:secret@h.example/a":             "h.example/a",
		" h.example ":                       "h.example",
		"http://me:se/cr?et@h.example/feed": "http://h.example/feed", // no URL: a / ends the host
		"http://me:s@cret@h.example/":       "http://h.example/",
		"":                                  "",
	} {
		if got := typedWithout(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
