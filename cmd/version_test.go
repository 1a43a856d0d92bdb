package cmd

import (
	"runtime/debug"
	"testing"
)

// Only a tag is a version: what go says of a checkout (the next version, its date and commit) is none, and reached servers as one.
func TestVersion(t *testing.T) {
	for module, want := range map[string]string{
		"v1.2.3": "1.2.3", "v0.0.1": "0.0.1", "v1.2.3-rc.1": "1.2.3-rc.1", "v10.20.30": "10.20.30",
		"": release, "(devel)": release, "v1": release, "v": release, "1.2.3": release, "v1.2.3+dirty": release,
		"v0.0.0-20261130103005-0123456789ab": release, "v1.2.4-0.20261130103005-0123456789ab": release,
		"v1.2.3-rc.1.0.20261130103005-0123456789ab": release, "v0.1.1-0.20261130103005-0123456789ab+dirty": release,
	} {
		if got := versionOf(&debug.BuildInfo{Main: debug.Module{Path: "crawl", Version: module}}); got != want {
			t.Errorf("built from %q: version %q, want %q", module, got, want)
		}
	}
	if got := versionOf(&debug.BuildInfo{Main: debug.Module{Path: "other", Version: "v1.2.3"}}); got != release {
		t.Errorf("another module's version is ours: %q", got)
	}
	if got := versionOf(nil); got != release {
		t.Errorf("without build information: %q", got)
	}
}
