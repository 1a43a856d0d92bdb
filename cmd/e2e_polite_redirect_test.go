package cmd

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// redirecting is a page of a new host that redirects somewhere else, to a feed on another new host.
func (b *web) redirecting(status int) (from, to string) {
	to = b.page(b.host()+"/new", func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 2)) }).url
	return b.leading(status, to), to
}

// leading is a page of a new host that redirects to a URL.
func (b *web) leading(status int, to string) string {
	return b.page(b.host()+"/old", always(reply{status: status, header: map[string]string{"Location": to}})).url
}

// redirects are feeds that redirect in all ways: those that are to move with where to, and those that are to stay.
func (b *web) redirects(sightings *int) (moved map[string]string, still []string) {
	moved = map[string]string{}
	for _, status := range []int{http.StatusMovedPermanently, http.StatusPermanentRedirect} {
		from, to := b.redirecting(status)
		moved[from] = to
		_, end := b.redirecting(status)
		moved[b.leading(http.StatusMovedPermanently, b.leading(http.StatusPermanentRedirect, end))] = end
	}
	for _, status := range []int{http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect} {
		from, _ := b.redirecting(status)
		first, _ := b.redirecting(http.StatusMovedPermanently)
		last, _ := b.redirecting(status)
		still = append(still, from, b.leading(status, first), b.leading(http.StatusMovedPermanently, last))
	}
	_, end := b.redirecting(http.StatusMovedPermanently)
	wavering := b.page(b.host()+"/old", func(time.Time, *http.Request) reply { // 302 at the fourth sighting
		a := reply{status: http.StatusMovedPermanently, header: map[string]string{"Location": end}}
		if *sightings++; *sightings == 4 {
			a.status = http.StatusFound
		}
		return a
	}).url
	portal := b.leading(http.StatusMovedPermanently, b.page(b.host()+"/login", always(reply{
		header: map[string]string{"Content-Type": "text/html"}, body: "<html><title>Please log in</title></html>"})).url)
	return moved, append(still, wavering, portal)
}

// The stored URL follows a permanent redirect when it was seen 5 times over at least 2 days and led to a feed; no other redirect moves it.
func TestStoredURLFollowsPermanentRedirects(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	sightings := 0
	moved, still := b.redirects(&sightings)
	before := append(keys(moved), still...)
	after := slices.Clone(still)
	for _, to := range moved {
		after = append(after, to)
	}
	for name, hours := range map[string][]int{"four within two days": {0, 12, 24, 49, 50}, "five within two days, then a sixth": {0, 1, 2, 3, 4, 49}} {
		w := newWorld(t, nil)
		b.mu.Lock()
		sightings = 0
		b.mu.Unlock()
		w.follows(before...)
		for n, hour := range hours {
			b.quietly(w, runAt(hour), "run")
			want := before
			if n == len(hours)-1 {
				want = after
			}
			same(t, name+": stored URLs", want, w.query("SELECT url FROM feeds"))
		}
		same(t, "former URLs", keys(moved), w.query("SELECT url FROM former_urls"))
		b.quietly(w, runAt(hours[len(hours)-1]+1), "run")
		for _, asked := range b.asked() {
			if moved[asked] != "" {
				t.Fatalf("%s: %s was asked though it has moved", name, asked)
			}
		}
		if n := w.number("SELECT count(*) FROM items"); n != 2*(len(before)-1) {
			t.Fatalf("%s: %d items, not 2 for each feed but the portal", name, n)
		}
		w.follows(before...) // the former URLs are known
		if n := w.number("SELECT count(*) FROM feeds"); n != len(before) {
			t.Fatalf("%s: %d feeds after the same import", name, n)
		}
		w.sound()
	}
}

func keys(m map[string]string) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}

// A feed whose new URL is a subscribed one already is stopped as its duplicate, if that one works; two that move to one place are one too.
func TestMovedFeedsBecomeNoDuplicates(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	from, to := b.redirecting(http.StatusMovedPermanently)
	shared := b.page(b.host()+"/new", func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 2)) }).url
	one, two := b.leading(http.StatusMovedPermanently, shared), b.leading(http.StatusPermanentRedirect, shared)
	w := newWorld(t, nil)
	w.follows(from, to, one, two)
	for _, hour := range []int{0, 12, 24, 36, 49} {
		b.quietly(w, runAt(hour), "run")
	}
	got := w.query("SELECT id, url, status, stopped_reason, last_error FROM feeds WHERE id <= 2 ORDER BY id")
	same(t, "the subscribed target and its duplicate",
		[]string{"1 | " + from + " | stopped | duplicate of feed 2 | NULL", "2 | " + to + " | active | NULL | NULL"}, got)
	got = w.query("SELECT url, status FROM feeds WHERE id > 2")
	if len(got) != 2 || !slices.Contains(got, shared+" | active") || !strings.Contains(strings.Join(got, "\n"), " | stopped") {
		t.Fatalf("two feeds that moved to one place: %q", got)
	}
	b.quietly(w, runAt(50), "run")
	same(t, "requests of the next hour", []string{to, shared}, b.asked())
	w.sound()
}

// certificate is a key and certificate for one address, and the PEM file that makes it trusted.
func certificate(t *testing.T, ip net.IP) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: runAt(-10000), NotAfter: runAt(100000), IPAddresses: []net.IP{ip},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// bilingual is a listener whose connections begin with TLS or not, as the client likes.
type bilingual struct {
	net.Listener
	config *tls.Config
	conns  chan net.Conn
}

// Accept implements net.Listener.
func (l *bilingual) Accept() (net.Conn, error) {
	if c, open := <-l.conns; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *bilingual) listen() {
	defer close(l.conns)
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return
		}
		r := bufio.NewReader(c)
		if first, err := r.Peek(1); err != nil {
			c.Close()
		} else if peeked := (peekedConn{c, r}); first[0] == 0x16 { // a handshake record
			l.conns <- tls.Server(peeked, l.config)
		} else {
			l.conns <- peeked
		}
	}
}

type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c peekedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// secureHost opens a host that speaks http and https on one port. It returns its authority and the file that makes it trusted.
func (b *web) secureHost(t *testing.T) (authority, trust string) {
	t.Helper()
	l := b.listen()
	cert, trust := certificate(t, l.Addr().(*net.TCPAddr).IP)
	both := &bilingual{l, &tls.Config{Certificates: []tls.Certificate{cert}}, make(chan net.Conn)}
	go both.listen()
	go b.server.Serve(both)
	return l.Addr().String(), trust
}

// From http to https of the same address the stored URL goes after one feed was read there; from https to http never; and never without a
// certificate that can be trusted, unless that is set for this feed alone.
func TestStoredURLGoesToHTTPSAndNeverBack(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	host, trust := b.secureHost(t)
	upward := func(path string, status int, to string) string {
		b.page("http://"+host+path, func(_ time.Time, r *http.Request) reply {
			if r.TLS == nil {
				return reply{status: status, header: map[string]string{"Location": "https://" + host + to}}
			}
			return serving(r, `"e"`, "", rss("", 1, 2))
		})
		return "http://" + host + path
	}
	same301, same308, found := upward("/a?x=1", 301, "/a?x=1"), upward("/b", 308, "/b"), upward("/c", 302, "/c")
	b.page("http://"+host+"/other", func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 2)) })
	elsewhere := upward("/d", 301, "/other")
	plain := b.page(b.host()+"/new", func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 2)) }).url
	downward := "https://" + host + "/down"
	b.page(downward, always(reply{status: 301, header: map[string]string{"Location": plain}}))

	all := []string{same301, same308, found, elsewhere, downward}
	w := newWorld(t, nil, "SSL_CERT_FILE="+trust)
	w.follows(all...)
	for n, hour := range []int{0, 12, 24, 36, 49, 60, 72} {
		b.quietly(w, runAt(hour), "run")
		want := []string{"https://" + host + "/a?x=1", "https://" + host + "/b", found, elsewhere, downward}
		if n >= 4 {
			want[3] = "https://" + host + "/other"
		}
		same(t, "stored URLs", want, w.query("SELECT url FROM feeds"))
	}
	if n := w.number("SELECT count(*) FROM items"); n != 2*len(all) {
		t.Fatalf("%d items", n)
	}

	distrustful := newWorld(t, nil)
	distrustful.follows(same301, same308)
	distrustful.silent(runAt(0).Add(-time.Minute), "set", same308, "--insecure")
	b.quietly(distrustful, runAt(0), "run")
	same(t, "feeds whose certificate cannot be trusted", []string{same301 + " | tls | 0", "https://" + host + "/b | NULL | 2"},
		distrustful.query("SELECT url, last_error_kind, (SELECT count(*) FROM items WHERE feed_id = f.id) FROM feeds f"))
}
