package cmd

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script/*.txtar, each named after the subcommand it is about, against the real program in a directory
// of its own. $URL is a server with the sample feeds of the demo (/news.rss, /blog.atom, /journal.rdf, /notes.json), a page that
// names one feed (/page), one that names two (/two), one that names none (/none), /moved, which redirects to /news.rss for good, /broken,
// which answers 500, and /closed, which answers 401. $HOST is its host and port.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../testdata/script",
		Setup: func(e *testscript.Env) error {
			server := httptest.NewServer(http.HandlerFunc(serveScript))
			e.Defer(server.Close)
			e.Setenv("URL", server.URL)
			e.Setenv("HOST", strings.TrimPrefix(server.URL, "http://"))
			e.Setenv("CRAWL_DIR", e.WorkDir+"/data")
			e.Setenv("CRAWL_ALLOW_NET", "127.0.0.0/8")
			e.Setenv("CRAWL_TEST_MAIN", "1") // the demo starts its own executable
			e.Vars = append(e.Vars, quickExit)
			if zone, set := os.LookupEnv("TZ"); set {
				e.Setenv("TZ", zone)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": codeCommand, "expand": expandCommand},
	})
}

// codeCommand is `code N PROGRAM ARG…`: the program ends with exit code N.
func codeCommand(s *testscript.TestScript, _ bool, args []string) {
	err := s.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		code = exit.ExitCode()
	} else if err != nil {
		s.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		s.Fatalf("%s ends with code %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// expandCommand is `expand FILE`: variables in the file get their values.
func expandCommand(s *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(s.ReadFile(args[0]), s.Getenv)
	s.Check(os.WriteFile(s.MkAbs(args[0]), []byte(text), 0o600))
}

func serveScript(w http.ResponseWriter, r *http.Request) {
	link := func(path string) string {
		return `<link rel="alternate" type="application/rss+xml" title="` + path + `" href="` + path + `">`
	}
	page := func(links string) { io.WriteString(w, "<!DOCTYPE html><html><head>"+links+"</head><body/></html>") }
	leads := func(to string) { page(`<meta http-equiv="refresh" content="0; url=` + to + `">`) }
	switch r.URL.Path {
	case "/leads":
		leads("/page")
	case "/leads-to-feed":
		leads("blog.atom")
	case "/leads-twice":
		leads("/leads")
	case "/leads-to-two":
		leads("/two")
	case "/wall": // a visitor without cookies is sent elsewhere
		leads("/none")
	case "/leads-oddly":
		leads("HTTP://someone:verysecret@" + r.Host + "/news.rss?b=1#top")
	case "/names-oddly":
		page(link("HTTP://someone:verysecret@"+r.Host+"/news.rss?c=1#top") + link("/news.rss?c=1"))
	case "/leads-away":
		leads("http://10.0.0.1/secretpath")
	case "/page":
		page(link("/news.rss"))
	case "/two":
		page(link("/news.rss") + link("/blog.atom"))
	case "/moved":
		http.Redirect(w, r, "/news.rss", http.StatusMovedPermanently)
	case "/none":
		page("<title>Nothing here</title>")
	case "/broken":
		http.Error(w, "out of order", http.StatusInternalServerError)
	case "/closed":
		w.WriteHeader(http.StatusUnauthorized)
	case "/wall/rss.xml":
		body, _ := demoFiles.ReadFile("demo/news.rss")
		w.Write(body)
	case "/news.rss", "/blog.atom", "/journal.rdf", "/notes.json":
		body, _ := demoFiles.ReadFile("demo" + r.URL.Path)
		w.Write(body)
	default:
		http.NotFound(w, r)
	}
}
