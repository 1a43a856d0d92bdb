package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// dangerous are addresses that a stranger's URL must never reach, one or more of each special-purpose range of IANA and of
// each cloud's inner services.
var dangerous = []string{
	// IPv4
	"0.0.0.0", "0.1.2.3", // this network
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", // private
	"100.64.0.1", "100.127.255.255", "100.100.100.200", // shared; Alibaba's metadata
	"127.0.0.1", "127.0.0.53", "127.255.255.254", // loopback
	"169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.169.123", // link-local; metadata of most clouds, ECS, time
	"192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.0.192", // protocol assignments; Oracle's metadata
	"192.0.2.1", "198.51.100.1", "203.0.113.1", // documentation
	"192.31.196.1", "192.175.48.1", // AS112
	"192.52.193.1",                 // AMT
	"192.88.99.1",                  // 6to4 relays
	"198.18.0.1", "198.19.255.255", // benchmarks
	"224.0.0.1", "239.255.255.250", // multicast
	"240.0.0.1", "254.255.255.255", "255.255.255.255", // reserved, broadcast
	"168.63.129.16", // Azure's wire server, which looks public
	// IPv6
	"::", "::1", // unspecified, loopback
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", // IPv4-mapped
	"::127.0.0.1", "::ffff:0:127.0.0.1", // IPv4-compatible, IPv4-translated
	"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", // NAT64
	"100::1", "100:0:0:1::1", // discard-only, dummy
	"2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff::1", // Teredo, benchmarks, ORCHID
	"2001:db8::1", "3fff::1", // documentation
	"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002::1", // 6to4
	"2620:4f:8000::1",    // AS112
	"5f00::1",            // segment routing
	"fc00::1", "fd00::1", // unique local
	"fd00:ec2::254", "fd20:ce::254", // metadata of AWS and Google
	"fe80::1", "febf::1", "fec0::1", // link-local, site-local
	"ff02::1", "ff0e::1", // multicast
	"4000::1", "e000::1", // not assigned
}

// TestGuardTable tries each dangerous address by literal, by name and by redirect, with a proxy in the environment. No
// connection may be tried.
func TestGuardTable(t *testing.T) {
	if len(dangerous) < 58 {
		t.Fatalf("only %d addresses", len(dangerous))
	}
	proxied := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proxied <- r.URL.Host }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	known := names{addrs: map[string][]string{}}
	for i, addr := range dangerous {
		known.addrs[fmt.Sprintf("n%d.example", i)] = []string{addr}
	}
	strict, err := New(Options{UserAgent: agent, ConnectTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	lax := newClient(t, func(o *Options) { // only the redirecting server is open to it
		o.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.44.0.0/16")}
	})
	strict.resolver, lax.resolver = newResolver(t, known), newResolver(t, known)
	from := serveOn(t, "127.44.0.1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.URL.Query().Get("to")+"/")
		w.WriteHeader(http.StatusFound)
	})
	for i, addr := range dangerous {
		literal := addr
		if strings.Contains(addr, ":") {
			literal = "[" + addr + "]"
		}
		name := fmt.Sprintf("n%d.example", i)
		refused(t, strict, "http://"+literal+"/secret")
		refused(t, strict, "https://"+literal+":8443/secret")
		refused(t, strict, "http://"+name+"/secret")
		refused(t, lax, from+"/?to="+literal)
		refused(t, lax, from+"/?to="+name)
		if strict.CheckURL("http://"+literal+"/") == nil {
			t.Errorf("CheckURL allows %s", addr)
		}
	}
	select {
	case host := <-proxied:
		t.Errorf("the environment's proxy was asked for %s", host)
	default:
	}
}

// refused checks that a GET is refused for its address, or for that of the redirect that a query has, and that nothing is sent there.
func refused(t *testing.T, c *Client, url string) {
	t.Helper()
	redirected := strings.Contains(url, "?to=")
	connections := 0
	_, err := c.Get(t.Context(), Request{URL: url, Before: func() error { connections++; return nil }})
	e := asError(t, err)
	if e.Kind != KindAddress || e.Local || !strings.Contains(e.Error(), "is not a public address (--allow-net ") || strings.Contains(e.Error(), "secret") {
		t.Errorf("%s: kind %s: %v", url, e.Kind, e)
	}
	if e.Answered != redirected || connections > 1 || connections == 1 && !redirected {
		t.Errorf("%s: %d connections, answered %v", url, connections, e.Answered)
	}
}

// TestGuardPublic: what is public is not refused. The guard alone is asked, there being no network here.
func TestGuardPublic(t *testing.T) {
	g := newGuard(nil)
	for _, addr := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8",
		"2000::1", "2001:200::1", "2606:4700:4700::1111", "2620:fe::fe", "2a00:1450::1",
	} {
		for _, port := range []uint16{80, 443, 1024, 8080, 65535} {
			if err := g.check(netip.MustParseAddr(addr), port); err != nil {
				t.Errorf("%s port %d: %v", addr, port, err)
			}
		}
		for _, port := range []uint16{1, 22, 25, 79, 81, 442, 444, 1023} {
			if g.check(netip.MustParseAddr(addr), port) == nil {
				t.Errorf("%s port %d is allowed", addr, port)
			}
		}
	}
}

func TestAllowNet(t *testing.T) {
	g := newGuard([]netip.Prefix{
		netip.MustParsePrefix("10.1.2.3/16"), netip.MustParsePrefix("::ffff:192.168.0.0/112"), netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("198.51.100.7/32"),
	})
	for addr, want := range map[string]bool{
		"10.1.0.1": true, "::ffff:10.1.0.1": true, "10.2.0.1": false, "192.168.200.1": true, "192.169.0.1": false,
		"fd12::1": true, "fc12::1": false, "198.51.100.7": true, "198.51.100.8": false, "127.0.0.1": false,
	} {
		if got := g.check(netip.MustParseAddr(addr), 22) == nil; got != want {
			t.Errorf("%s on port 22: %v", addr, got)
		}
	}
}

// TestGoodAddressAmongBad: of a name's addresses those that may be dialled are, and no other.
func TestGoodAddressAmongBad(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<rss/>")) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	c := newClient(t, nil)
	c.resolver = newResolver(t, names{addrs: map[string][]string{
		"mixed.example": {"10.0.0.1", "fd00::1", "127.0.0.1", "169.254.169.254"},
		"bad.example":   {"10.0.0.1", "fd00::1"},
	}})
	r, err := c.Get(t.Context(), Request{URL: "http://mixed.example:" + port})
	if err != nil || string(r.Body) != "<rss/>" || !r.AllowedNet {
		t.Errorf("%v %v", r, err)
	}
	_, err = c.Get(t.Context(), Request{URL: "http://bad.example:" + port})
	if e := asError(t, err); e.Kind != KindAddress || e.AllowedNet || !strings.Contains(e.Error(), "http://bad.example:"+port+": ") {
		t.Errorf("%s %v", e.Kind, e)
	}
}

// TestRebinding: a name that is public when first asked and private later is judged at each dial.
func TestRebinding(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<rss/>")) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	c := newClient(t, nil)
	c.resolver = newResolver(t, names{
		addrs: map[string][]string{"rebind.example": {"127.0.0.1"}}, later: map[string][]string{"rebind.example": {"10.0.0.1"}},
	})
	request := Request{URL: "http://rebind.example:" + port}
	if _, err := c.Get(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), request); asError(t, err).Kind != KindAddress {
		t.Errorf("%v", err)
	}
}

// TestConfiguredProxy: it is used and exempt from the guard, which still refuses private literals, at each hop.
func TestConfiguredProxy(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization")
		switch r.Host {
		case "moved.example":
			http.Redirect(w, r, "http://192.168.0.1/", http.StatusFound)
		case "secure.example:443":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.Write([]byte("<rss/>"))
		}
	}))
	defer proxy.Close()
	c, err := New(Options{UserAgent: agent, Proxy: mustParse(strings.Replace(proxy.URL, "//", "//u:secret@", 1))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.resolver = newResolver(t, names{})
	r, err := c.Get(t.Context(), Request{URL: "http://a.example/"})
	if err != nil || string(r.Body) != "<rss/>" || r.AllowedNet {
		t.Errorf("%v %v", r, err)
	}
	if got := <-asked; got != "GET a.example Basic dTpzZWNyZXQ=" {
		t.Errorf("the proxy was asked %s", got)
	}
	_, err = c.Get(t.Context(), Request{URL: "http://moved.example/"})
	if e := asError(t, err); e.Kind != KindAddress || !e.Answered {
		t.Errorf("%s %v", e.Kind, e)
	}
	_, err = c.Get(t.Context(), Request{URL: "http://10.0.0.1/"})
	if e := asError(t, err); e.Kind != KindAddress || e.Answered {
		t.Errorf("%s %v", e.Kind, e)
	}
	_, err = c.Get(t.Context(), Request{URL: "https://secure.example/"})
	if e := asError(t, err); e.Kind != KindConnect || !strings.Contains(e.Error(), "the proxy answered 403 Forbidden") {
		t.Errorf("%s %v", e.Kind, e)
	}
	proxy.Close()
	_, err = c.Get(t.Context(), Request{URL: "http://a.example/"})
	if e := asError(t, err); e.Kind != KindConnect || !e.Local || !e.Proxy || strings.Contains(e.Error(), "secret") ||
		!strings.HasSuffix(e.Error(), "no connection to the proxy "+proxy.URL) {
		t.Errorf("%s local %v: %v", e.Kind, e.Local, e)
	}
	for _, own := range []string{"http://nowhere.invalid:8080", proxy.URL, "no proxy"} { // that of one feed says nothing about this machine
		_, err = c.Get(t.Context(), Request{URL: "http://a.example/", Proxy: own})
		if e := asError(t, err); e.Kind != KindConnect || e.Local || e.Proxy || !strings.Contains(e.Error(), "proxy") {
			t.Errorf("%s: %s local %v: %v", own, e.Kind, e.Local, e)
		}
	}
}
