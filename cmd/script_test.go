package cmd

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script/*.txtar, each named after the subcommand it is about, against the real program in a directory
// of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("CRAWL_TEST_MAIN", "1")
			e.Setenv("CRAWL_DIR", e.WorkDir+"/data")
			if zone, set := os.LookupEnv("TZ"); set {
				e.Setenv("TZ", zone)
			}
			return nil
		},
	})
}
