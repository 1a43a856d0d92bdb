package cmd

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version that the next release will have, or this one has.
const release = "0.1.0"

// version is that of the tagged module the binary was built from, else the release in this source.
func version() string {
	info, _ := debug.ReadBuildInfo() // nil without module support
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil || info.Main.Path != "crawl" {
		return release
	}
	if tag := taggedVersion.FindStringSubmatch(info.Main.Version); tag != nil {
		return tag[1]
	}
	return release
}

// taggedVersion is a version that a person gave: not that of a checkout between tags (its date and commit), nor of one with changes.
var taggedVersion = regexp.MustCompile(`^v(\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?)$`)

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
		RunE: func(c *cobra.Command, _ []string) error { // whatever the settings are
			json, err := c.Flags().GetBool("json")
			if err != nil {
				return err
			}
			c.Annotations = map[string]string{begun: "yes"}
			return runVersion(&app{program: p, json: json})
		},
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
