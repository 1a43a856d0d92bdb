package cmd

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

//go:embed demo
var demoFiles embed.FS

const (
	demoSlow       = 4 // feeds that wait at the gate
	demoQuickItems = 8 // items of the others
)

// demoSite is the sites of the demo: one listener a feed, for each is a host of its own.
type demoSite struct {
	servers []*http.Server
	feeds   []outline
	gate    chan struct{} // closed when the slow feeds may answer

	mu       sync.Mutex
	changed  bool
	requests int // since the last count
	notAgain int // of these, answered 304
	waiting  int // at the gate
}

// openDemoSite starts the servers on loopback.
func openDemoSite() (*demoSite, error) {
	s := &demoSite{gate: make(chan struct{})}
	for _, f := range []struct {
		title, category string
		handler         http.HandlerFunc
	}{
		{"Harbour News", "News", s.file("demo/news.rss")},
		{"Weather", "News", s.weather},
		{"A gardener writes", "Blogs", s.file("demo/blog.atom")},
		{"Workshop notes", "Blogs", s.file("demo/notes.json")},
		{"Journal of Small Things", "Science / Journals", s.file("demo/journal.rdf")},
		{"answers 500", "Broken", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "out of order", http.StatusInternalServerError)
		}},
		{"answers with a page", "Broken", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><title>Please log in</title></head><body>…</body></html>") // a broken feed
		}},
		{"never answers", "Broken", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		if err := s.open(f.title, f.category, f.handler); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for n := range demoSlow {
		if err := s.open(fmt.Sprintf("Slow feed %d", n+1), "Slow", s.slow(n+1)); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, s.refuse("refuses connections", "Broken")
}

func (s *demoSite) open(title, category string, handler http.HandlerFunc) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start a server for the demo: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		s.mu.Unlock()
		handler(w, r)
	})}
	s.servers = append(s.servers, server)
	s.feeds = append(s.feeds, outline{title: title, category: category, url: "http://" + l.Addr().String() + "/feed"})
	go func() { _ = server.Serve(l) }() // until close
	return nil
}

// refuse adds a feed where nothing listens.
func (s *demoSite) refuse(title, category string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a port for the demo: %w", err)
	}
	s.feeds = append(s.feeds, outline{title: title, category: category, url: "http://" + l.Addr().String() + "/feed"})
	return l.Close()
}

func (s *demoSite) close() error {
	var err error
	for _, server := range s.servers {
		err = errors.Join(err, server.Close())
	}
	return err
}

func (s *demoSite) file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := demoFiles.ReadFile(name) // it is embedded
		s.serve(w, r, body)
	}
}

func (s *demoSite) weather(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	name := "demo/changing.rss"
	if s.changed {
		name = "demo/changed.rss"
	}
	s.mu.Unlock()
	s.file(name)(w, r)
}

// slow answers when the gate is open.
func (s *demoSite) slow(number int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.waiting++
		s.mu.Unlock()
		select {
		case <-s.gate:
		case <-r.Context().Done():
			return
		}
		body, _ := demoFiles.ReadFile("demo/slow.rss") // it is embedded
		s.serve(w, r, []byte(strings.ReplaceAll(string(body), "NUMBER", fmt.Sprint(number))))
	}
}

// serve answers with a document, or 304 to whom has it.
func (s *demoSite) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	tag := fmt.Sprintf("%q", fmt.Sprintf("%08x", crc32.ChecksumIEEE(body)))
	if r.Header.Get("If-None-Match") == tag {
		s.mu.Lock()
		s.notAgain++
		s.mu.Unlock()
	}
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "feed", time.Time{}, bytes.NewReader(body))
}

// change makes the changing feed another one.
func (s *demoSite) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// count gives the requests since the last count, and how many of them a 304 answered.
func (s *demoSite) count() (requests, notModified int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, notModified = s.requests, s.notAgain
	s.requests, s.notAgain = 0, 0
	return requests, notModified
}

// atGate is how many requests have come to the gate.
func (s *demoSite) atGate() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}
