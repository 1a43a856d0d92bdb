package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// twoHosts starts one handler on two addresses of this machine: the same host, and another.
func twoHosts(t *testing.T, handler http.HandlerFunc) (here, other string) {
	return serveOn(t, "127.0.0.1", handler), serveOn(t, "127.0.0.2", handler)
}

// TestRedirectMatrix: each status, to the same and to another host, and what each hop sees (rules R1–R3, R6, Q5, C11).
func TestRedirectMatrix(t *testing.T) {
	var requests seen
	var code int
	var here, other string
	here, other = twoHosts(t, func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		if to, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
			host := map[bool]string{true: here, false: other}[strings.HasPrefix(to, "same/")]
			w.Header().Set("Location", host+"/end?token=x")
			w.WriteHeader(code)
			fmt.Fprint(w, "moved")
			return
		}
		w.Header().Set("ETag", `"new"`)
		fmt.Fprint(w, "<rss/>")
	})
	for _, code = range []int{301, 302, 303, 307, 308} {
		for _, same := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d same=%v", code, same), func(t *testing.T) {
				before := len(requests.all())
				start, end := here+"/to/other/", other+"/end?token=x"
				if same {
					start, end = here+"/to/same/", here+"/end?token=x"
				}
				r, err := newClient(t, nil).Get(t.Context(), Request{
					URL: start, ETag: `"old"`, LastModified: "Sun, 01 Mar 2026 12:00:00 GMT", User: "u", Password: "p",
					Header: map[string]string{"X-Token": "mine"},
				})
				if err != nil {
					t.Fatal(err)
				}
				permanent := ""
				if code == 301 || code == 308 {
					permanent = end
				}
				if r.URL != end || r.PermanentURL != permanent || r.Requests != 2 || r.Conditional || r.ETag != `"new"` ||
					!slices.Equal(r.Hops, []Hop{{code, start, end}}) || string(r.Body) != "<rss/>" {
					t.Errorf("%+v", r)
				}
				checkHops(t, requests.all()[before:], same)
			})
		}
	}
}

// checkHops looks at the headers of a request and of the one that a redirect led to.
func checkHops(t *testing.T, all []*http.Request, same bool) {
	if len(all) != 2 || all[1].Method != http.MethodGet {
		t.Fatalf("%d requests", len(all))
	}
	if all[0].Header.Get("If-None-Match") != `"old"` || all[0].Header.Get("If-Modified-Since") == "" ||
		all[0].Header.Get("Authorization") == "" || all[0].Header.Get("X-Token") != "mine" {
		t.Errorf("first hop: %v", all[0].Header)
	}
	second := all[1].Header
	for _, name := range []string{"Referer", "Cookie", "If-None-Match", "If-Modified-Since"} {
		if second.Get(name) != "" {
			t.Errorf("second hop has %s", name)
		}
	}
	if got := second.Get("Authorization") != ""; got != same {
		t.Errorf("second hop has Authorization: %v", got)
	}
	if got := second.Get("X-Token") != ""; got != same {
		t.Errorf("second hop has the feed's own header: %v", got)
	}
	if second.Get("User-Agent") != agent || second.Get("Accept") != accept {
		t.Errorf("second hop: %v", second)
	}
}

// TestValidatorsOnTheirHop: those of the final URL are sent there and nowhere else (rule C11).
func TestValidatorsOnTheirHop(t *testing.T) {
	var requests seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusNotModified)
	}))
	defer s.Close()
	r, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL + "/a", ETag: `"x"`, ValidatorsURL: s.URL + "/b"})
	if err != nil {
		t.Fatal(err)
	}
	all := requests.all()
	if all[0].Header.Get("If-None-Match") != "" || all[1].Header.Get("If-None-Match") != `"x"` {
		t.Errorf("hops had %v and %v", all[0].Header, all[1].Header)
	}
	if !r.Conditional || r.Status != 304 || r.Failure() != nil || r.Body != nil {
		t.Errorf("%+v", r)
	}
}

// redirectTargets is what stands in Location, and where it leads.
var redirectTargets = []struct {
	location string
	want     string // path and query that are asked next; "" if it fails
	kind     Kind
}{
	{"/b", "/b", ""},
	{"b?x=1", "/dir/b?x=1", ""},
	{"../b", "/b", ""},
	{"./../../../b", "/b", ""},
	{"?y=2", "/dir/a?y=2", ""},
	{"/b#fragment", "/b", ""},
	{" /b ", "/b", ""},
	{"/b c/d?e f", "/b%20c/d?e%20f", ""},
	{"/b//c d", "/b//c%20d", ""},
	{"/b?u=http://x/y z", "/b?u=http://x/y%20z", ""},
	{"/é", "/%C3%A9", ""},
	{"/%e9", "/%e9", ""},
	{"//{host}/b", "/b", ""},
	{"http://{host}/b", "/b", ""},
	{"HTTP://{host}/b", "/b", ""},
	{"http://user:secret@{host}/b", "/b", ""},
	{"http://{host}", "/", ""},
	{"/%zz", "", KindHTTP},
	{"http://[::1", "", KindHTTP},
	{"http://a b/", "", KindHTTP},
	{"://", "", KindHTTP},
	{"http://127.0.0.1:99999/", "", KindAddress},
	{"http://127.0.0.1:0/", "", KindAddress},
	{"http://{host}:port/", "", KindHTTP},
	{"http:///b", "", KindAddress},
	{"https:", "", KindAddress},
	{"file:///etc/passwd", "", KindAddress},
	{"ftp://{host}/b", "", KindAddress},
	{"gopher://{host}/b", "", KindAddress},
	{"javascript:alert(1)", "", KindAddress},
	{"data:text/xml,<rss/>", "", KindAddress},
	{"feed://{host}/b", "", KindAddress},
	{"http://169.254.169.254/latest/meta-data/", "", KindAddress},
	{"http://10.0.0.1/", "", KindAddress},
	{"http://2852039166/", "", KindAddress},
	{"http://0xa9fea9fe/", "", KindAddress},
	{"http://0251.0376.0251.0376/", "", KindAddress},
	{"http://[::ffff:169.254.169.254]/", "", KindAddress},
	{"http://[fe80::1%25lo]/", "", KindAddress},
	{"http://[fd00:ec2::254]/", "", KindAddress},
	{"http://１６９.254.169.254/", "", KindAddress},
	{"http://good.example@10.0.0.1/", "", KindAddress},
	{`http://good.example\@10.0.0.1/`, "", KindHTTP},
}

// TestRedirectTargets goes where redirectTargets say.
func TestRedirectTargets(t *testing.T) {
	for _, tt := range redirectTargets {
		t.Run(tt.location, func(t *testing.T) {
			var host string
			s := newRawServer(t, nil, func(c net.Conn, head string) {
				if strings.HasPrefix(head, "GET /dir/a ") {
					fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n", strings.ReplaceAll(tt.location, "{host}", host))
					return
				}
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n<rss/>")
			})
			host = strings.TrimPrefix(s.URL, "http://")
			r, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL + "/dir/a"})
			heads := s.requests()
			if tt.want == "" {
				e := asError(t, err)
				if e.Kind != tt.kind || !e.Answered || len(heads) != 1 || strings.Contains(e.Error(), "secret") {
					t.Errorf("kind %s, answered %v, %d requests: %v", e.Kind, e.Answered, len(heads), e)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, _, _ := strings.Cut(heads[1], "\r\n"); line != "GET "+tt.want+" HTTP/1.1" {
				t.Errorf("asked %q, want %q", line, tt.want)
			}
			if strings.ContainsAny(r.URL, "#@ ") {
				t.Errorf("final URL %s", r.URL)
			}
		})
	}
}

// chains is a server of redirects: the first part of the path says of what kind, the second is a number.
func chains(w http.ResponseWriter, r *http.Request) {
	kind, rest, _ := strings.Cut(r.URL.Path[1:], "/")
	n, _ := strconv.Atoi(rest)
	switch kind {
	case "down": // so many hops
		if n > 0 {
			http.Redirect(w, r, "/down/"+strconv.Itoa(n-1), http.StatusMovedPermanently)
			return
		}
	case "mixed": // the second of three hops is for now only
		if n > 0 {
			http.Redirect(w, r, "/mixed/"+strconv.Itoa(n-1), map[bool]int{true: 302, false: 308}[n == 2])
			return
		}
	case "self":
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
		return
	case "two":
		http.Redirect(w, r, "/two/"+strconv.Itoa(1-n), http.StatusFound)
		return
	case "hash":
		http.Redirect(w, r, r.URL.Path+"#"+rest, http.StatusFound)
		return
	case "endless":
		http.Redirect(w, r, "/endless/"+strconv.Itoa(n+1), http.StatusFound)
		return
	case "none":
		w.WriteHeader(n)
		return
	case "cookie": // sends those away who do not keep cookies, and back those who do
		if _, err := r.Cookie("seen"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", Path: "/"})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
	case "counting": // a new cookie each time, never content
		http.SetCookie(w, &http.Cookie{Name: "n", Value: fmt.Sprint(len(r.Header.Get("Cookie")), r.Header.Get("Cookie")), Path: "/"})
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
		return
	}
	fmt.Fprint(w, "<rss/>")
}

func TestRedirectChains(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(chains))
	defer s.Close()
	for _, tt := range []struct {
		path      string
		kind      Kind
		permanent bool
		requests  int
		says      string
	}{
		{"/down/0", "", false, 1, ""},
		{"/down/1", "", true, 2, ""},
		{"/down/5", "", true, 6, ""},
		{"/down/6", KindHTTP, false, 0, "more than 5 redirects"},
		{"/mixed/3", "", false, 4, ""},
		{"/self/0", KindHTTP, false, 0, "circle"},
		{"/two/0", KindHTTP, false, 0, "circle"},
		{"/hash/0", KindHTTP, false, 0, "circle"},
		{"/endless/0", KindHTTP, false, 0, "more than 5 redirects"},
		{"/counting/0", KindHTTP, false, 0, "more than 5 redirects"},
		{"/cookie/0", "", false, 2, ""},
		{"/none/301", KindHTTP, false, 1, "without a Location"},
		{"/none/302", KindHTTP, false, 1, "without a Location"},
		{"/none/308", KindHTTP, false, 1, "without a Location"},
		{"/none/300", KindHTTP, false, 1, "300 Multiple Choices"},
		{"/none/305", KindHTTP, false, 1, "305 Use Proxy"},
		{"/none/306", KindHTTP, false, 1, "306"},
	} {
		r, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL + tt.path})
		e := outcome(t, r, err)
		switch {
		case tt.kind != "" && (e == nil || e.Kind != tt.kind || !e.Answered || !strings.Contains(e.Error(), tt.says)):
			t.Errorf("%s: %v", tt.path, e)
		case strings.HasPrefix(tt.says, "more than") && e.Requests != 6:
			t.Errorf("%s: %d requests, want 6", tt.path, e.Requests)
		case tt.kind == "" && e != nil:
			t.Errorf("%s: %v", tt.path, e)
		case r != nil && (r.Requests != tt.requests || (r.PermanentURL != "") != tt.permanent || r.PermanentURL != "" && r.PermanentURL != r.URL):
			t.Errorf("%s: %+v", tt.path, r)
		}
	}
}

// TestCookiesEndWithTheChain: they are sent within one GET, to hosts they are for, and never again (rule R5).
func TestCookiesEndWithTheChain(t *testing.T) {
	var requests seen
	var here, other string
	here, other = twoHosts(t, func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		switch r.URL.Path {
		case "/1":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b", Path: "/"})
			http.Redirect(w, r, here+"/2", http.StatusFound)
		case "/2":
			http.Redirect(w, r, other+"/3", http.StatusFound)
		default:
			fmt.Fprint(w, "<rss/>")
		}
	})
	c := newClient(t, nil)
	for _, own := range []map[string]string{nil, {"Cookie": "mine=1"}} {
		if _, err := c.Get(t.Context(), Request{URL: here + "/1", Header: own}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range requests.all() {
		got = append(got, r.URL.Path+" "+r.Header.Get("Cookie"))
	}
	want := []string{"/1 ", "/2 a=b", "/3 ", "/1 mine=1", "/2 mine=1; a=b", "/3 "}
	if !slices.Equal(got, want) {
		t.Errorf("cookies %q, want %q", got, want)
	}
}

// TestRedirectWithEndlessBody: a redirect's body is not waited for.
func TestRedirectWithEndlessBody(t *testing.T) {
	s := newRawServer(t, nil, func(c net.Conn, head string) {
		if strings.HasPrefix(head, "GET /end ") {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n<rss/>")
			return
		}
		fmt.Fprint(c, "HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 1000000000\r\n\r\n")
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	if _, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL}); err != nil {
		t.Fatal(err)
	}
}
