package cmd

import (
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// web is many hosts on loopback whose answers a test writes itself, with a clock that goes with the program's. Each host has an
// address, and so a registrable domain, of its own. Every request is logged.
type web struct {
	t       testing.TB
	octet   byte
	server  *http.Server
	clients clients // of the hosts that speak HTTP
	hosts   int
	ending  chan struct{} // closed when the test ends

	mu          sync.Mutex
	pages       map[string]*page // by authority, path and query as they are asked for
	log         []*webRequest
	visits      int       // invocations of the program so far
	visited, at time.Time // when the last one began, by the real clock and by the program's
}

// page is one address of a web.
type page struct {
	url    string
	answer func(now time.Time, r *http.Request) reply
	hold   chan struct{} // holds answers back until it is closed; nil: they go out at once
}

// reply is one answer.
type reply struct {
	status int // 0 means 200
	header map[string]string
	body   string
}

// webRequest is one request as the server saw it, and what it got.
type webRequest struct {
	page   *page // nil: an address that nobody was given
	url    string
	method string
	header http.Header
	at     time.Time // by the program's clock
	visit  int
	reply  reply
	whole  bool // the reply went out to its end
	lost   bool // the program was killed before it could keep the reply
}

// newWeb starts a web without pages; it ends with the test.
func newWeb(t testing.TB) *web {
	t.Helper()
	b := &web{t: t, octet: byte(10 + siteNumber.Add(1)%200), ending: make(chan struct{}), pages: map[string]*page{}}
	b.server = &http.Server{Handler: b, ConnState: b.clients.note, ErrorLog: log.New(io.Discard, "", 0)} // clients that go away are no news
	t.Cleanup(func() {
		close(b.ending)
		b.server.Close()
	})
	return b
}

// listen opens one more host.
func (b *web) listen() net.Listener {
	b.t.Helper()
	n := b.hosts
	b.hosts++
	l, err := net.Listen("tcp4", fmt.Sprintf("127.%d.%d.%d:0", b.octet, n/250, 1+n%250))
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// host opens a host that speaks HTTP and returns its URL, without a path.
func (b *web) host() string {
	b.t.Helper()
	l := b.listen()
	go b.server.Serve(l)
	b.clients.hosts = append(b.clients.hosts, l.Addr().String())
	return "http://" + l.Addr().String()
}

// page puts an answer at a URL of one of the hosts.
func (b *web) page(url string, answer func(now time.Time, r *http.Request) reply) *page {
	p := &page{url: url, answer: answer}
	_, rest, _ := strings.Cut(url, "://")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages[rest] = p
	return p
}

// raw opens a host of bytes and returns its URL: answer writes what is sent, right or not, to the n-th request (from 0) when its head is
// in. The connection is closed when answer returns, and at the end of the test.
func (b *web) raw(answer func(c net.Conn, n int)) string {
	b.t.Helper()
	l := b.listen()
	b.t.Cleanup(func() { l.Close() })
	requests := make(chan int, 1)
	requests <- 0
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				stop := make(chan struct{})
				defer close(stop)
				go func() {
					select {
					case <-b.ending:
						c.Close()
					case <-stop:
					}
				}()
				if readHead(c) {
					n := <-requests
					requests <- n + 1
					answer(c, n)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + feedPath
}

// readHead reads a request up to its empty line.
func readHead(c net.Conn) bool {
	var head strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		if _, err := io.ReadFull(c, one); err != nil {
			return false
		}
		head.Write(one)
	}
	return true
}

// now is what the program's clock reads. Call with mu held.
func (b *web) now() time.Time { return b.at.Add(time.Since(b.visited)) }

// ServeHTTP logs the request and answers as its page does.
func (b *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	p := b.pages[r.Host+r.URL.RequestURI()]
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	now := b.now()
	entry := &webRequest{
		page: p, url: scheme + r.Host + r.URL.RequestURI(), method: r.Method, header: r.Header.Clone(), at: now, visit: b.visits,
		reply: reply{status: http.StatusNotFound},
	}
	var hold chan struct{}
	if p != nil {
		entry.reply, hold = p.answer(now, r), p.hold
	}
	if entry.reply.status == 0 {
		entry.reply.status = http.StatusOK
	}
	a := entry.reply
	b.log = append(b.log, entry)
	b.mu.Unlock()

	if hold != nil {
		select {
		case <-hold:
		case <-b.ending:
			return
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, err := io.WriteString(w, a.body)
	b.mu.Lock()
	entry.whole = err == nil
	b.mu.Unlock()
}

// tick sets the clock for one more invocation of the program.
func (b *web) tick(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.visits++
	b.at, b.visited = at, time.Now()
}

// visit sets the clock and runs the program.
func (b *web) visit(w *world, at time.Time, args ...string) ending {
	b.t.Helper()
	b.tick(at)
	return w.run(at, args...)
}

// quietly visits; the program must end with code 0 and print nothing.
func (b *web) quietly(w *world, at time.Time, args ...string) {
	b.t.Helper()
	b.visit(w, at, args...).want(0).wantSilence()
}

// requests returns the log so far.
func (b *web) requests() []webRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	var log []webRequest
	for _, r := range b.log {
		log = append(log, *r)
	}
	return log
}

// asked returns the URLs of the last invocation's requests, sorted.
func (b *web) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, r := range b.log {
		if r.visit == b.visits {
			list = append(list, r.url)
		}
	}
	slices.Sort(list)
	return list
}

// follows imports feeds, all into one category.
func (w *world) follows(urls ...string) {
	w.t.Helper()
	type outline struct {
		Text   string `xml:"text,attr"`
		XMLURL string `xml:"xmlUrl,attr"`
	}
	var list struct {
		XMLName  xml.Name  `xml:"opml"`
		Outlines []outline `xml:"body>outline>outline"`
	}
	for _, url := range urls {
		list.Outlines = append(list.Outlines, outline{"", url})
	}
	text, err := xml.Marshal(list)
	if err != nil {
		w.t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "<outline>", `<outline text="News">`, 1))
	path := filepath.Join(w.t.TempDir(), "feeds.opml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.silent(runAt(0).Add(-time.Hour), "import", path)
}

// rss is an RSS document with items from number first to last, both included, under some head elements.
func rss(head string, first, last int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel>` +
		`<title>A feed</title><link>https://www.example.org/</link>` + head)
	for n := last; n >= first; n-- {
		fmt.Fprintf(&b, `<item><guid isPermaLink="false">id-%d</guid><link>https://www.example.org/%d</link><title>Item %d</title></item>`+"\n", n, n, n)
	}
	return b.String() + "</channel></rss>"
}

// always gives the same answer.
func always(a reply) func(time.Time, *http.Request) reply {
	return func(time.Time, *http.Request) reply { return a }
}

// serving is the answer of a server with a document and its validators ("" for none): 304 where the request has the right ones.
func serving(r *http.Request, etag, modified, body string) reply {
	a := reply{header: map[string]string{"Content-Type": "application/rss+xml"}, body: body}
	if etag != "" {
		a.header["ETag"] = etag
	}
	if modified != "" {
		a.header["Last-Modified"] = modified
	}
	tag, since := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")
	if etag != "" && tag == etag || tag == "" && modified != "" && since == modified {
		a.status, a.body = http.StatusNotModified, ""
	}
	return a
}
