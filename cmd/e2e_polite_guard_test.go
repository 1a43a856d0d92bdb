package cmd

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// private are addresses of machines and networks that a stranger's URL must not reach, one of each kind and spelling.
var private = []string{
	"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1",
	"255.255.255.255", "168.63.129.16", "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]",
	"[2002:7f00:1::]", "[2001::1]", "[ff02::1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "LOCALHOST.", "feed.localhost", "192.0.2.1",
}

// closed is the same world without any network opened, or with these instead.
func (w *world) opening(nets ...string) *world {
	other := *w
	other.env = slices.DeleteFunc(slices.Clone(w.env), func(v string) bool { return strings.HasPrefix(v, "CRAWL_ALLOW_NET=") })
	if len(nets) > 0 {
		other.env = append(other.env, "CRAWL_ALLOW_NET="+strings.Join(nets, ","))
	}
	return &other
}

// A private address is refused wherever a person or a list brings it in, by name, and nothing is stored.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).opening()
	at := runAt(0)
	var urls []string
	text := "<opml><body>"
	for _, host := range private {
		urls = append(urls, "http://"+host+"/feed")
		text += `<outline text="` + host + `" xmlUrl="http://` + host + `/feed"/>`
	}
	text += `<outline text="good" xmlUrl="https://feed.example/"/><outline text="port" xmlUrl="https://feed.example:22/"/></body></opml>`
	list := filepath.Join(t.TempDir(), "private.opml")
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := w.run(at, "import", list).want(1)
	if n := strings.Count(e.stderr, "crawl: "); n != len(private)+1 {
		t.Fatalf("%d lines were refused, not %d: %s", n, len(private)+1, e)
	}
	same(t, "feeds after the import", []string{"https://feed.example/"}, w.query("SELECT url FROM feeds"))

	e = w.run(at, append([]string{"add", "--no-fetch"}, urls...)...).want(1)
	if n := strings.Count(e.stderr, "crawl: add "); n != len(private) {
		t.Fatalf("%d addresses were refused, not %d: %s", n, len(private), e)
	}
	e = w.run(at, append([]string{"add"}, urls[:4]...)...).want(1)
	if n := strings.Count(e.stderr, "--allow-net"); n != 4 {
		t.Fatalf("%d of the messages say what would open the address: %s", n, e)
	}
	for _, url := range []string{urls[0], urls[4], "http://feed.example:22/"} {
		w.run(at, "set", "1", "--url", url).want(2)
		w.run(at, "resume", "1", "--url", url)
		if e := w.run(at, "check", url); e.code == 0 || e.stderr == "" {
			t.Fatalf("check of a private address: %s", e)
		}
	}
	same(t, "feeds in the end", []string{"https://feed.example/"}, w.query("SELECT url FROM feeds"))
}

// A run refuses what has become private since, and where a redirect leads to: kind address, and nobody is called.
func TestRunRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	called := make(chan string, 100)
	inside := b.listen()
	t.Cleanup(func() { inside.Close() })
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			called <- c.RemoteAddr().String()
			c.Close()
		}
	}()
	host := b.host()
	ip, _, _ := net.SplitHostPort(hostOf(host))
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	targets := []string{"http://" + inside.Addr().String() + "/", "http://localhost:" + port + "/", "http://[::1]:" + port + "/", "http://[::ffff:" + strings.Split(inside.Addr().String(), ":")[0] + "]:" + port + "/"}
	for _, p := range private {
		targets = append(targets, "http://"+p+"/feed")
	}
	targets = append(targets, "file:///etc/passwd", "gopher://feed.example/", "data:text/xml,<rss/>", "unix:/run/docker.sock")
	var urls []string
	for n, to := range targets {
		a := reply{status: http.StatusFound, header: map[string]string{"Location": to}}
		urls = append(urls, b.page(fmt.Sprintf("%s/%d", host, n), always(a)).url)
	}
	good := b.crowd(1)[0] // another address, which only the wide network opens
	wide := newWorld(t, nil)
	wide.follows(append(urls, good)...)
	w := wide.opening(ip + "/32")
	if e := w.run(runAt(0), "run").want(0); e.stdout != "" || !oneLine(e.stderr, "every active feed is failing") {
		t.Errorf("%s", e)
	}
	for _, row := range w.query("SELECT url, last_error_kind, last_error FROM feeds WHERE last_error_kind IS NOT 'address'") {
		t.Errorf("not refused for its address: %s; the targets are %q", row, targets)
	}
	same(t, "requests", urls, b.asked())
	if n := len(called); n > 0 {
		t.Errorf("%d connections to a private address", n)
	}
	w.number("SELECT 1 FROM feeds WHERE url = ? AND last_error LIKE '%is not a public address%'", good)
	b.quietly(wide, runAt(2), "run", "--feed", good)
	w.number("SELECT 1 FROM feeds WHERE url = ? AND last_error IS NULL", good)
}

// A proxy from the environment is not used: through it the guard would see only the proxy. One that is set is.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	proxied := make(chan string, 10)
	host := b.host()
	b.page(host+feedPath, always(reply{body: rss("", 1, 2)}))
	l := b.listen()
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied <- r.URL.String()
		w.Write([]byte(rss("", 1, 2)))
	})}
	t.Cleanup(func() { proxy.Close() })
	go proxy.Serve(l)
	through := "http://" + l.Addr().String()
	// An address of documentation (RFC 5737), at which nobody is: net/http would never send requests for loopback to such a proxy.
	const nowhere = "http://192.0.2.7/feed"
	w := newWorld(t, nil).opening("127.0.0.0/8", "192.0.2.0/24")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		w.env = append(w.env, name+"="+through)
	}
	if e := w.with("CRAWL_CONNECT_TIMEOUT=300ms", "CRAWL_TIMEOUT=1s").run(runAt(0), "check", nowhere); e.code != 1 {
		t.Errorf("a fetch from nowhere: %s", e)
	}
	w.run(runAt(0), "check", host+feedPath).want(0)
	if n := len(proxied); n != 0 {
		t.Fatalf("%d requests went through a proxy that nobody has set: %s", n, <-proxied)
	}
	w.run(runAt(0), "check", nowhere, "--proxy", through).want(0)
	if n := len(proxied); n != 1 {
		t.Fatalf("%d requests went through the proxy that was set", n)
	}
	// Behind a proxy literal private addresses are still refused.
	w.opening().run(runAt(0), "check", "http://169.254.169.254/feed", "--proxy", through).want(1)
	if n := len(proxied); n != 1 {
		t.Fatalf("the proxy was asked for a private address")
	}
}
