package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load loads settings from arguments, variables and a file in a directory of its own.
func load(t *testing.T, args []string, vars map[string]string, file string) (settings, map[string]origin, error) {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(dir, "crawl.toml"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) {
		if name == "CRAWL_DIR" {
			return dir, true
		}
		value, set := vars[name]
		return value, set
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addSettings(flags, forAll|forFetch|forInvoked)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return loadSettings(flags, env, fileSource)
}

func TestPrecedence(t *testing.T) {
	const file = "workers = 3"
	vars := map[string]string{"CRAWL_WORKERS": "4"}
	for _, test := range []struct {
		name string
		args []string
		vars map[string]string
		file string
		want int
		from string
	}{
		{"default", nil, nil, "", 256, "default"},
		{"file", nil, nil, file, 3, "crawl.toml"},
		{"variable", nil, vars, file, 4, "variable CRAWL_WORKERS"},
		{"flag", []string{"--workers", "5"}, vars, file, 5, "flag --workers"},
		{"flag with the default's value", []string{"--workers", "256"}, vars, file, 256, "flag --workers"},
		{"empty variable", nil, map[string]string{"CRAWL_WORKERS": ""}, file, 3, "crawl.toml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, origins, err := load(t, test.args, test.vars, test.file)
			if err != nil {
				t.Fatal(err)
			}
			if s.run.Workers != test.want {
				t.Errorf("workers = %d, want %d", s.run.Workers, test.want)
			}
			if from := origins["workers"].from; filepath.Base(from) != test.from {
				t.Errorf("from %q, want %q", from, test.from)
			}
		})
	}
}

func TestLists(t *testing.T) {
	const file = `allow-net = ["10.0.0.0/8", "fd00::/8"]`
	for _, test := range []struct {
		name string
		args []string
		vars map[string]string
		file string
		want string
	}{
		{"default", nil, nil, "", "[]"},
		{"file", nil, nil, file, "[10.0.0.0/8 fd00::/8]"},
		{"one in the file", nil, nil, `allow-net = "10.1.2.3/8"`, "[10.0.0.0/8]"},
		{"variable", nil, map[string]string{"CRAWL_ALLOW_NET": "127.0.0.0/8, ::1"}, file, "[127.0.0.0/8 ::1/128]"},
		{"empty variable", nil, map[string]string{"CRAWL_ALLOW_NET": ""}, file, "[]"},
		{"repeated flag", []string{"--allow-net", "10.0.0.0/8", "--allow-net", "192.168.0.0/16"}, nil, file, "[10.0.0.0/8 192.168.0.0/16]"},
		{"flag with commas", []string{"--allow-net=10.0.0.0/8,192.168.1.1"}, nil, "", "[10.0.0.0/8 192.168.1.1/32]"},
		{"empty flag", []string{"--allow-net="}, nil, file, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _, err := load(t, test.args, test.vars, test.file)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s.fetch.AllowNet); got != test.want {
				t.Errorf("allow-net = %s, want %s", got, test.want)
			}
		})
	}
}

// Every setting can be set in every source, and comes out as it was put in.
func TestEverySetting(t *testing.T) {
	values := map[string]string{
		"log-level": "info", "log-format": "json", "timeout": "9s", "connect-timeout": "8s", "max-body": "2MiB",
		"allow-net": "10.0.0.0/8", "user-agent": "us/1", "proxy": "http://p.example:1", "workers": "7", "per-host": "1",
		"min-interval": "1m0s", "max-interval": "2h0m0s", "max-failures": "9", "max-consecutive-errors": "8", "start-minute": "15",
		"takeover-wait": "3s", "stall-after": "1m1s", "max-feeds": "6", "deadline": "11m0s", "hook": "true", "hook-timeout": "12s",
	}
	show := func(s settings) map[string]string {
		var nets []string
		for _, p := range s.fetch.AllowNet {
			nets = append(nets, p.String())
		}
		r := s.run
		return map[string]string{
			"log-level": s.logLevel, "log-format": s.logFormat, "timeout": fmt.Sprint(s.fetch.Timeout),
			"connect-timeout": fmt.Sprint(s.fetch.ConnectTimeout), "max-body": formatSize(s.fetch.MaxBody),
			"allow-net": strings.Join(nets, ","), "user-agent": s.fetch.UserAgent, "proxy": fmt.Sprint(s.fetch.Proxy),
			"workers": fmt.Sprint(r.Workers), "per-host": fmt.Sprint(r.PerHost), "min-interval": fmt.Sprint(r.MinInterval),
			"max-interval": fmt.Sprint(r.MaxInterval), "max-failures": fmt.Sprint(r.MaxFailures),
			"max-consecutive-errors": fmt.Sprint(r.MaxConsecutiveErrors), "start-minute": fmt.Sprint(r.StartMinute),
			"takeover-wait": fmt.Sprint(r.TakeoverWait), "stall-after": fmt.Sprint(r.StallAfter), "max-feeds": fmt.Sprint(s.maxFeeds),
			"deadline": fmt.Sprint(s.deadline), "hook": r.Hook, "hook-timeout": fmt.Sprint(r.HookTimeout),
		}
	}
	for _, s := range settingList() {
		if slices.Contains([]string{"dir", "db", "config"}, s.name) {
			continue
		}
		value := values[s.name]
		for from, given := range map[string]func() (settings, map[string]origin, error){
			"flag": func() (settings, map[string]origin, error) { return load(t, []string{"--" + s.name, value}, nil, "") },
			"variable": func() (settings, map[string]origin, error) {
				return load(t, nil, map[string]string{variable(s.name): value}, "")
			},
			"file": func() (settings, map[string]origin, error) {
				return load(t, nil, nil, fmt.Sprintf("%s = %q", s.name, value))
			},
		} {
			got, _, err := given()
			if err != nil {
				t.Errorf("%s by %s: %v", s.name, from, err)
			} else if show(got)[s.name] != value {
				t.Errorf("%s by %s is %q, want %q", s.name, from, show(got)[s.name], value)
			}
		}
	}
}

// The defaults are those of the contract.
func TestDefaults(t *testing.T) {
	s, _, err := load(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	r, f := s.run, s.fetch
	got := []any{r.Workers, r.PerHost, f.Timeout, f.ConnectTimeout, f.MaxBody, r.MinInterval, r.MaxInterval, r.MaxFailures,
		r.MaxConsecutiveErrors, len(f.AllowNet), f.Proxy == nil, r.StartMinute, r.TakeoverWait, r.StallAfter, s.deadline, s.maxFeeds, s.db, s.config}
	want := []any{256, 2, 60 * time.Second, 10 * time.Second, int64(16 << 20), 55 * time.Minute, 24 * time.Hour, 5,
		3, 0, true, 30, 60 * time.Second, 10 * time.Minute, 25 * time.Minute, 0, "", ""}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("defaults are %v\nwant %v", got, want)
	}
	if !strings.HasPrefix(f.UserAgent, "crawl/") {
		t.Errorf("user agent %q", f.UserAgent)
	}
}

func TestBadSettings(t *testing.T) {
	for _, test := range []struct {
		args       []string
		vars       map[string]string
		file       string
		want, hint string
	}{
		{args: []string{"--workers", "0"}, want: "--workers: 0 is not between 1 and 10000"},
		{args: []string{"--workers", "many"}, want: `--workers: "many" is not a whole number`},
		{args: []string{"--workers", "99999999999999999999"}, want: "--workers: 99999999999999999999 is not between 1 and 10000"},
		{vars: map[string]string{"CRAWL_WORKERS": "-1"}, want: "CRAWL_WORKERS: -1 is not between 1 and 10000"},
		{file: "workers = 0", want: "crawl.toml: workers: 0 is not between 1 and 10000"},
		{file: "workers = 1.5", want: "crawl.toml: workers: 1.5 is neither text nor a whole number"},
		{file: "hook = 5", want: "crawl.toml: hook: 5 is not text"},
		{file: "proxy = 3128", want: "crawl.toml: proxy: 3128 is not text"},
		{file: "user-agent = 1", want: "crawl.toml: user-agent: 1 is not text"},
		{file: "allow-net = 10", want: "crawl.toml: allow-net: 10 is not text"},
		{file: "workers = [1]", want: "crawl.toml: workers: 1 is not text"},
		{file: `workers = ["1", "2"]`, want: "crawl.toml: workers: one value is needed, not a list"},
		{file: "worker = 1", want: `crawl.toml: unknown key "worker"`, hint: "did you mean workers?"},
		{file: "[run]\nworkers = 1", want: `crawl.toml: unknown key "run.workers"`},
		{file: "dir = '/'", want: "crawl.toml: dir cannot be set in the file", hint: "use --dir or the variable CRAWL_DIR"},
		{file: "timeout = '9s'\nworkers = ", want: "crawl.toml: line 2, column 11: "},
		{args: []string{"--timeout", "60"}, want: `--timeout: "60" is not a duration like 90s, 25m or 24h`},
		{args: []string{"--timeout", "0s"}, want: "--timeout: 0s is not between 1ms and 1h"},
		{args: []string{"--start-minute", "60"}, want: "--start-minute: 60 is not between 0 and 59"},
		{args: []string{"--max-body", "16 apples"}, want: "--max-body: \"16 apples\" is not a size"},
		{args: []string{"--max-body", "2GiB"}, want: "--max-body: 2GiB is not between 1KiB and 1GiB"},
		{args: []string{"--max-body", "9999999999999"}, want: "--max-body: 9999999999999 is too large"},
		{args: []string{"--allow-net", "localhost"}, want: `--allow-net: "localhost" is not a network`},
		{args: []string{"--proxy", "ftp://x"}, want: `--proxy: "ftp" is none of`},
		{args: []string{"--proxy", "u:secret@h"}, want: "--proxy: not a URL"},
		{args: []string{"--user-agent", ""}, want: "--user-agent: a name is needed"},
		{args: []string{"--user-agent", "a\nb"}, want: "--user-agent: \"a\\nb\" holds characters"},
		{args: []string{"--log-level", "loud"}, want: `--log-level: "loud" is none of debug, info, warn, error`},
		{args: []string{"--db", "postgres://u:p@h/d"}, want: "--db: PostgreSQL is not supported"},
		{args: []string{"--db", "mysql://h/d"}, want: `--db: "mysql" is not a kind of database`},
		{args: []string{"--config", "/nonexistent/crawl.toml"}, want: "read settings: open /nonexistent/crawl.toml"},
		{args: []string{"--max-interval", "10m"}, want: "--max-interval: 10m is less than min-interval (55m by default)"},
		{vars: map[string]string{"CRAWL_MIN_INTERVAL": "30h"}, want: "CRAWL_MIN_INTERVAL: 30h is more than max-interval (24h by default)"},
		{vars: map[string]string{"CRAWL_MIN_INTERVAL": "3h"}, file: "max-interval = '2h'", want: "crawl.toml: max-interval: 2h is less than min-interval (3h by variable CRAWL_MIN_INTERVAL)"},
	} {
		_, _, err := load(t, test.args, test.vars, test.file)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %v %q: error %v, want %q", test.args, test.vars, test.file, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: the error shows a password: %v", test.args, err)
		}
		if test.hint != "" && hint(err) != test.hint {
			t.Errorf("%q: hint %q, want %q", test.file, hint(err), test.hint)
		}
	}
}

func TestDirectories(t *testing.T) {
	here := t.TempDir()
	for _, test := range []struct {
		name      string
		args      []string
		vars      map[string]string
		dir, want string
	}{
		{"flag", []string{"--dir", here + "/a"}, map[string]string{"CRAWL_DIR": here + "/b", "HOME": here}, here + "/a", ""},
		{"variable", nil, map[string]string{"CRAWL_DIR": here + "/b", "XDG_DATA_HOME": here + "/c", "HOME": here}, here + "/b", ""},
		{"xdg", nil, map[string]string{"XDG_DATA_HOME": here + "/c", "HOME": here}, here + "/c/crawl", ""},
		{"relative xdg", nil, map[string]string{"XDG_DATA_HOME": "c", "HOME": here}, here + "/.local/share/crawl", ""},
		{"home", nil, map[string]string{"HOME": here}, here + "/.local/share/crawl", ""},
		{"nothing", nil, nil, "", "no home directory"},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		addSettings(flags, forAll)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		s, _, err := loadSettings(flags, func(name string) (string, bool) { v, ok := test.vars[name]; return v, ok }, fileSource)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) || exitCode(err) != exitUsage {
				t.Errorf("%s: error %v, want %q", test.name, err, test.want)
			}
			continue
		}
		if err != nil || s.dir != test.dir {
			t.Errorf("%s: directory %q, error %v, want %q", test.name, s.dir, err, test.dir)
		}
	}
}

// A relative path in the file is relative to the file, elsewhere to the working directory; crawl.toml of the data directory
// beats that of the user.
func TestFiles(t *testing.T) {
	home := t.TempDir()
	user := filepath.Join(home, ".config", "crawl")
	data := filepath.Join(home, "data")
	for _, dir := range []string{user, data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) {
		value, set := map[string]string{"HOME": home, "CRAWL_DIR": data}[name]
		return value, set
	}
	write := func(dir, text string) {
		if err := os.WriteFile(filepath.Join(dir, "crawl.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addSettings(flags, forAll)

	write(user, `db = "user.db"`)
	s, _, err := loadSettings(flags, env, fileSource)
	if err != nil || s.db != filepath.Join(user, "user.db") || s.config != filepath.Join(user, "crawl.toml") {
		t.Errorf("db %q by %q, error %v", s.db, s.config, err)
	}
	write(data, `db = "sqlite:data.db"`)
	s, _, err = loadSettings(flags, env, fileSource)
	if err != nil || s.db != filepath.Join(data, "data.db") {
		t.Errorf("db %q by %q, error %v", s.db, s.config, err)
	}
	if err := flags.Parse([]string{"--db", "here.db"}); err != nil {
		t.Fatal(err)
	}
	working, _ := os.Getwd()
	s, _, err = loadSettings(flags, env, fileSource)
	if err != nil || s.db != filepath.Join(working, "here.db") {
		t.Errorf("db %q, error %v", s.db, err)
	}
}

func TestDidYouMean(t *testing.T) {
	all := names(settingList())
	for _, test := range []struct{ in, want string }{
		{"worker", "workers"}, {"Workers", "workers"}, {"max_feeds", "max-feeds"}, {"time-out", "timeout"}, {"xyzzy", ""}, {"", ""},
	} {
		want := ""
		if test.want != "" {
			want = "did you mean " + test.want + "?"
		}
		if got := didYouMean(test.in, all); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", test.in, got, want)
		}
	}
}

func TestContactInUserAgent(t *testing.T) {
	s, _, err := load(t, []string{"--user-agent", "https://me.example/bot"}, nil, "")
	if want := userAgent() + " (+https://me.example/bot)"; err != nil || s.fetch.UserAgent != want {
		t.Errorf("user agent %q, error %v, want %q", s.fetch.UserAgent, err, want)
	}
}

func TestWithoutPassword(t *testing.T) {
	if got := withoutPassword("http://u:secret@p.example:1"); strings.Contains(got, "secret") {
		t.Error(got)
	}
	if got := withoutPassword("http://p.example:1"); got != "http://p.example:1" {
		t.Error(got)
	}
}
