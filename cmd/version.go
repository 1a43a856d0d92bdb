package cmd

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version that the next release will have, or this one has.
const release = "0.1.0"

// version is the module's version where the binary was built from a tagged module, else the release in this source.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == "crawl" {
		if v := info.Main.Version; v != "" && v != "(devel)" && len(v) > 1 && v[0] == 'v' && v[:3] != "v0.0.0" {
			return v[1:]
		}
	}
	return release
}

// userAgent names this program to servers.
func userAgent() string { return "crawl/" + version() }

// revision is the commit that the binary was built from, "" if unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func newVersion(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  takes(0, 0, ""),
		RunE:  p.withAnyFile(func(_ context.Context, a *app, _ []string) error { return runVersion(a) }),
	}
}

func runVersion(a *app) error {
	if a.json {
		return a.printJSON(struct {
			Version  string  `json:"version"`
			Revision *string `json:"revision"`
			Go       string  `json:"go"`
		}{version(), nullText(revision()), runtime.Version()})
	}
	return a.print(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "crawl %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
