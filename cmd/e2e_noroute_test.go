package cmd

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Without a route nothing counts, whether the feeds worked an hour ago or were never fetched.
func TestNoRouteIsAnOutage(t *testing.T) {
	t.Parallel()
	for _, fetched := range []bool{true, false} {
		for _, feeds := range []int{2, 8} { // what is certainly ours needs no row of failures
			if feeds == 2 && !fetched {
				continue
			}
			s := healthySite(t, feeds)
			w := newWorld(t, s)
			w.subscribe()
			if fetched {
				w.silent(runAt(0), "run")
			}
			s.cut()
			w.wantOutage(w.unshared([]string{"--net"}, "", w.at(runAt(1)), "run"))
			if n := len(s.cut()); n != 0 {
				t.Fatalf("%d requests without a route", n)
			}
			w.silent(halfAt(1), "half-check")
			eachOnce(t, s.cut(), s.feeds)
			w.converged(runAt(1).Add(50 * time.Minute))
		}
	}
}

// A few hosts without a route (of IPv6 alone where there is none; here a multicast address, which TCP reaches nowhere) are no outage, though
// they come first and have worked elsewhere: they are counted.
func TestHostsWithoutARouteAreNoOutage(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 12)
	s.edit(func() { s.feeds[11].delay = 500 * time.Millisecond }) // so that an answer follows them all
	w := newWorld(t, s, "CRAWL_ALLOW_NET=127.0.0.0/8,224.0.0.0/4")
	for n := range 5 {
		w.run(runAt(0).Add(-time.Hour), "add", "--no-fetch", fmt.Sprintf("http://224.0.0.%d/feed", n+1)).want(0)
	}
	w.subscribe()
	w.change("UPDATE feeds SET last_success_at = '2026-11-01T00:00:00Z' WHERE url LIKE '%224.0.0%'")
	w.silent(runAt(0), "run")
	same(t, "standing", []string{"connect | 5"}, w.query("SELECT last_error_kind, count(*) FROM feeds WHERE consecutive_failures = 1 GROUP BY 1"))
	if n := w.number("SELECT count(*) FROM feeds WHERE last_error LIKE '%on this machine%'"); n != 5 {
		t.Errorf("%d feeds without a route, not 5", n)
	}
	w.storedOnce()
	w.sound()
}

// New feeds of four hosts without a route, which are still asked when all others have answered, ended each run as an outage.
func TestManyNewFeedsWithoutARouteAreNoOutage(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	var urls []string
	for host := range 4 {
		for n := range 20 {
			urls = append(urls, fmt.Sprintf("http://224.0.0.%d/%d", host+1, n))
		}
	}
	for range 10 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=8", "CRAWL_PER_HOST=1", "CRAWL_ALLOW_NET=127.0.0.0/8,224.0.0.0/4")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	same(t, "standing", []string{"connect | 1 | 80", "NULL | 0 | 10"},
		w.query("SELECT last_error_kind, consecutive_failures, count(*) FROM feeds GROUP BY 1, 2"))
	w.sound()
}

// A redirect to a host without a route is the feed's failure: it was asked at each invocation, never counted, and left no reason.
func TestARedirectToNoRouteCountsOnceAnHour(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 8)
	s.edit(func() {
		f := s.feeds[0]
		f.behave, f.code, f.header = fails, 301, http.Header{"Location": {"http://224.0.0.1/feed"}}
		f.delay = 300 * time.Millisecond // so that no other answer follows it
	})
	for _, worked := range []bool{false, true} {
		w := newWorld(t, s, "CRAWL_ALLOW_NET=127.0.0.0/8,224.0.0.0/4")
		w.subscribe()
		if worked {
			w.change("UPDATE feeds SET last_success_at = '2026-11-01T00:00:00Z'")
		}
		s.cut()
		for n := range 5 {
			w.silent(runAt(0).Add(time.Duration(n)*time.Minute), "run")
		}
		eachOnce(t, s.cut(), s.feeds)
		failed := w.query("SELECT url, consecutive_failures FROM feeds WHERE last_error LIKE '%224.0.0.1%on this machine%' AND next_fetch_at > last_attempt_at")
		same(t, "with a failure", []string{s.feeds[0].url + " | 1"}, failed)
	}
}

// Without a resolver it is the same.
func TestNoResolverIsAnOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hosts := "127.0.0.1 localhost\n"
	for n := range 6 {
		listening := s.listen()
		ip, port, _ := net.SplitHostPort(listening)
		name := fmt.Sprintf("feed%d.test", n)
		hosts += ip + " " + name + "\n"
		s.addAt(name+":"+port, "News", 3)
	}
	w := newWorld(t, s, "CRAWL_CONNECT_TIMEOUT=2s", "CRAWL_TIMEOUT=5s")
	w.subscribe()
	resolves := w.etc(hosts)
	deaf := w.etc("127.0.0.1 localhost\n")
	w.unshared([]string{"--mount"}, resolves, w.at(runAt(0)), "run").want(0)
	eachOnce(t, s.cut(), s.feeds)
	w.wantOutage(w.unshared([]string{"--mount"}, deaf, w.at(runAt(1)), "run"))
	if n := len(s.cut()); n != 0 {
		t.Fatalf("%d requests without a resolver", n)
	}
	w.unshared([]string{"--mount"}, resolves, w.at(halfAt(1)), "half-check").want(0).wantSilence()
	eachOnce(t, s.cut(), s.feeds)
	w.storedOnce()
	w.sound()
	w.nothingLeft()

	fresh := newWorld(t, s, "CRAWL_CONNECT_TIMEOUT=2s", "CRAWL_TIMEOUT=5s")
	fresh.subscribe()
	fresh.wantOutage(fresh.unshared([]string{"--mount"}, deaf, fresh.at(runAt(0)), "run"))
}

// A feed whose name servers are gone may be alone due: each hour was an outage then, and the feed was never counted. Whether other names have
// addresses that there is a route to tells the difference; those of this machine's own networks, and those behind a proxy, say nothing.
func TestANameThatIsGoneIsNoOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	here, far, near := "127.0.0.1 localhost\n", "127.0.0.1 localhost\n", "127.0.0.1 localhost\n"
	for n := range 5 {
		ip, port, _ := net.SplitHostPort(s.listen())
		name := fmt.Sprintf("feed%d.test", n)
		if n == 4 {
			name = "gone.test"
		}
		s.addAt(name+":"+port, "News", 3)
		here += ip + " " + name + "\n"
		if n < 4 {
			far += "11.0.0.1 " + name + "\n"
			near += ip + " " + name + "\n"
		}
	}
	for _, test := range []struct {
		name, hosts, change string
		outage              bool
	}{
		{"others are within reach", far, "", false},
		{"others too", "127.0.0.1 localhost\n", "", true},
		{"others are near", near, "", true},
		{"others are behind a proxy", far, `UPDATE feeds SET settings = '{"proxy":"http://127.0.0.1:1"}' WHERE url NOT LIKE '%gone.test%'`, true},
	} {
		w := newWorld(t, s, "CRAWL_CONNECT_TIMEOUT=2s", "CRAWL_TIMEOUT=5s")
		w.subscribe()
		w.unshared([]string{"--mount"}, w.etc(here), w.at(runAt(0)), "run").want(0)
		w.change("UPDATE feeds SET next_fetch_at = '2027-01-01T00:00:00Z' WHERE url NOT LIKE '%gone.test%'")
		if test.change != "" {
			w.change(test.change)
		}
		net := "ip link set lo up && ip addr add 11.0.0.1/8 dev lo || exit 99; " + w.etc(test.hosts)
		for n := 1; n < 3; n++ {
			for _, command := range []string{"run", "half-check"} {
				at := map[string]time.Time{"run": runAt(n * 24), "half-check": halfAt(n * 24)}[command]
				switch e := w.unshared([]string{"--mount", "--net"}, net, w.at(at), command); {
				case e.code == 99:
					t.Skipf("skipped: a network namespace: %s", strings.TrimSpace(e.stderr))
				case test.outage:
					w.wantOutage(e)
				default:
					e.want(0).wantSilence()
				}
			}
			want := "dns | " + fmt.Sprint(n)
			if test.outage {
				want = "NULL | 0"
			}
			same(t, test.name, []string{want}, w.query("SELECT last_error_kind, consecutive_failures FROM feeds WHERE url LIKE '%gone.test%'"))
		}
	}
}

// etc writes the hosts file of a mount namespace, beside a resolv.conf that names a resolver which is not there, and returns the script
// that puts both in place.
func (w *world) etc(hosts string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, text := range map[string]string{"hosts": hosts, "resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	return fmt.Sprintf("mount --bind %[1]s/hosts /etc/hosts && mount --bind %[1]s/resolv.conf /etc/resolv.conf && ", dir)
}
