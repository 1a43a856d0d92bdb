package cmd

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// misbehaviour is how a server answers the second hour's request of a feed that it served well in the first, with two items and
// validators; and what is to become of the feed.
type misbehaviour struct {
	name   string
	answer string         // what it sends
	then   func(net.Conn) // what it does after that, before it closes

	kind    string        // last_error_kind, "" for success
	items   int           // stored in the end; 0: the two of the first hour
	fresh   bool          // the new validators are stored; else still the old ones
	due     time.Duration // next fetch after this one; 0: the back-off of a first failure
	warning string        // part of last_warning
	other   string        // "stopped" or "throttled": what else than success or a counted failure
}

const (
	oldLines = "ETag: \"old\"\r\nLast-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n"
	newLines = "ETag: W/\"new\"\r\nLast-Modified: Mon, 02 Nov 2026 00:00:00 GMT\r\n"
	newHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n" + newLines
)

// newDocument is what the servers mean to say in the second hour, newBeginning that as far as into the second of its four items.
var (
	newDocument  = rss("", 1, 4)
	newBeginning = newDocument[:strings.Index(newDocument, "<title>Item 3")]
)

// ok is a whole answer of 200 with these header lines and this body.
func ok(lines, body string) string {
	return fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n%s", newHead, lines, len(body), body)
}

// packed returns a text in a coding.
func packed(coding, text string) string {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	}
	io.WriteString(w, text)
	w.Close()
	return out.String()
}

// coded is an answer in a coding that it names, or misnames.
func coded(name string, codings ...string) string {
	body := newDocument
	for _, c := range codings {
		body = packed(c, body)
	}
	if name != "" {
		name = "Content-Encoding: " + name + "\r\n"
	}
	return ok(name, body)
}

// bare is a bare answer with a status, validators of its own, a body and more header lines.
func bare(code int, lines string) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\n%s%sContent-Length: 2\r\n\r\nno", code, newLines, lines)
}

func silence(c net.Conn) { io.Copy(io.Discard, c) }

// endless sends a text until the reader has had enough, with a pause after each.
func endless(text string, pause time.Duration) func(net.Conn) {
	if pause == 0 {
		text = strings.Repeat(text, 1+8192/len(text))
	}
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

func reset(c net.Conn) {
	time.Sleep(50 * time.Millisecond) // what was written would go with the connection
	c.(*net.TCPConn).SetLinger(0)
}

// Items when all four have come, and when only the newest has.
const all, newest = 4, 3

const hourly, daily = 55 * time.Minute, 24 * time.Hour

func arrives(name, answer string) misbehaviour {
	return misbehaviour{name: name, answer: answer, items: all, fresh: true, due: hourly}
}

func breaksOff(name, answer string, then func(net.Conn)) misbehaviour {
	return misbehaviour{name: name, answer: answer, then: then, items: newest, due: daily, warning: "did not arrive whole"}
}

func isFailure(kind, name, answer string, then func(net.Conn)) misbehaviour {
	return misbehaviour{name: name, answer: answer, then: then, kind: kind}
}

func withoutEnd(s string, n int) string { return s[:len(s)-n] }

// misbehaviours are those of bodies, heads and statuses.
func misbehaviours() []misbehaviour {
	return slices.Concat(wholeAnswers(), brokenAnswers(), failures(), statuses())
}

func wholeAnswers() []misbehaviour {
	return []misbehaviour{
		arrives("as it should be", ok("", newDocument)),
		arrives("without a length", newHead+"\r\n"+newDocument),
		arrives("chunked, with a trailer", newHead+"Transfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n"+fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\nETag: \"x\"\r\n\r\n", len(newDocument), newDocument)),
		arrives("HTTP/1.0", strings.Replace(newHead, "1.1", "1.0", 1)+"\r\n"+newDocument),
		arrives("lines end in LF alone", strings.ReplaceAll(newHead, "\r", "")+"\n"+newDocument),
		arrives("100 first", "HTTP/1.1 100 Continue\r\n\r\n"+ok("", newDocument)),
		arrives("more than its length", ok("", newDocument)+"HTTP/1.1 200 OK\r\n\r\n"),
		arrives("a header of 200 KB", ok(strings.Repeat("X-A: aaaaaaaaaaaaaaaaaaaa\r\n", 7<<10), newDocument)),
		arrives("gzip", coded("gzip", "gzip")),
		arrives("br", coded("br", "br")),
		arrives("zstd", coded("zstd", "zstd")),
		arrives("deflate", coded("deflate", "zlib")),
		arrives("gzip not called so", coded("", "gzip")),
		arrives("plain called gzip", coded("gzip")),
		arrives("gzip called br", coded("br", "gzip")),
		arrives("an unknown coding", coded("utf-8")),
		arrives("gzip twice, called once", coded("gzip", "gzip", "gzip")),
		arrives("203", strings.Replace(ok("", newDocument), "200 OK", "203 x", 1)),
		arrives("226", strings.Replace(ok("", newDocument), "200 OK", "226 IM Used", 1)),
		{name: "broken markup", answer: ok("", strings.Replace(newDocument, "Item 4</title>", "Item 4</titel>", 1)), items: all, fresh: true, due: hourly, warning: "mended"},
		{name: "the document itself is cut off", answer: ok("", newBeginning), items: newest, fresh: true, due: hourly, warning: "cut off"},
		{name: "304 without validators", answer: "HTTP/1.1 304 x\r\n\r\n", items: 2, due: hourly},
		{name: "304 with a new ETag alone", answer: "HTTP/1.1 304 x\r\nETag: W/\"new\"\r\n\r\n", items: 2, due: hourly, other: "half"},
	}
}

func brokenAnswers() []misbehaviour {
	many := newDocument[:strings.Index(newDocument, "</item>")] + "</item>"
	return []misbehaviour{
		breaksOff("shorter than its length", newHead+"Content-Length: 9000\r\n\r\n"+newBeginning, nil),
		breaksOff("chunked and cut off", newHead+fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(newDocument), newBeginning), nil),
		breaksOff("chunked without its end", newHead+fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(newBeginning), newBeginning), nil),
		breaksOff("a chunk size that is none", newHead+fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nxyz\r\n", len(newBeginning), newBeginning), nil),
		breaksOff("gzip cut off by the transfer", newHead+"Content-Encoding: gzip\r\nContent-Length: 9000\r\n\r\n"+withoutEnd(packed("gzip", newBeginning), 8), nil),
		breaksOff("gzip with a wrong checksum", ok("", withoutEnd(packed("gzip", newBeginning), 8)+"00000000"), nil),
		breaksOff("reset in the body", newHead+"Content-Length: 9000\r\n\r\n"+newBeginning, reset),
		breaksOff("the body stops", newHead+"Content-Length: 9000\r\n\r\n"+newBeginning, silence),
		breaksOff("the body drips", newHead+"\r\n"+newBeginning, endless(" ", 100*time.Millisecond)),
		breaksOff("the body never ends", newHead+"\r\n"+many, endless("<!-- a -->", 0)),
		breaksOff("a length over the limit", newHead+"Content-Length: 99999999999\r\n\r\n"+many, endless("<!-- a -->", 0)),
		breaksOff("a gzip bomb", ok("", packed("gzip", many+strings.Repeat("<!-- a -->", 1<<20))), nil),
		breaksOff("a br bomb", ok("Content-Encoding: br\r\n", packed("br", many+strings.Repeat("<!-- a -->", 1<<20))), nil),
	}
}

func failures() []misbehaviour {
	return []misbehaviour{
		isFailure("truncated", "nothing of its length", newHead+"Content-Length: 9000\r\n\r\n", nil),
		isFailure("truncated", "cut off before the first item's end", newHead+"Content-Length: 9000\r\n\r\n"+newDocument[:strings.Index(newDocument, "<title>Item 4")], nil),
		isFailure("truncated", "gzip that is only a beginning", ok("Content-Encoding: gzip\r\n", "\x1f\x8b\x08\x00"), nil),
		isFailure("empty", "200, empty", ok("", ""), nil),
		isFailure("empty", "200, blank", ok("", " \r\n "), nil),
		isFailure("empty", "gzip of nothing", ok("Content-Encoding: gzip\r\n", packed("gzip", "")), nil),
		isFailure("empty", "204", "HTTP/1.1 204 x\r\n"+newLines+"\r\n", nil),
		isFailure("empty", "205", "HTTP/1.1 205 x\r\n"+newLines+"\r\n", nil),
		isFailure("timeout", "silence", "", silence),
		isFailure("timeout", "a header that drips", "HTTP/1.1 200 OK\r\n", endless("X-A: a\r\n", 100*time.Millisecond)),
		isFailure("timeout", "the body never begins", newHead+"Content-Length: 9000\r\n\r\n", silence),
		isFailure("connect", "closes at once", "", nil),
		isFailure("connect", "resets at once", "", reset),
		isFailure("malformed", "two lengths", newHead+"Content-Length: 6\r\nContent-Length: 7\r\n\r\n<rss/>", nil),
		isFailure("malformed", "a header of 11 MB", newHead+"X-A: "+strings.Repeat("a", 11<<20)+"\r\n\r\n", nil),
		isFailure("malformed", "a header without end", newHead, endless("X-A: a\r\n", 0)),
		isFailure("malformed", "100 without end", "", endless("HTTP/1.1 100 Continue\r\n\r\n", 0)),
		isFailure("malformed", "HTTP/0.9", newDocument, nil),
		isFailure("malformed", "binary noise", "\x16\x03\x01\x00\x05\x00\x00\x00\x00\x00\r\n\r\n", nil),
		isFailure("malformed", "SSH", "SSH-2.0-OpenSSH_9.6\r\n", nil),
		isFailure("malformed", "a control character in a header", newHead+"X-A: a\x00b\r\n\r\n"+newDocument, nil),
		isFailure("malformed", "half a header", newHead+"Content-Le", nil),
		isFailure("not-a-feed", "a login page", ok("", "<!DOCTYPE html><html><head><title>Please log in</title></head><body/></html>"), nil),
		isFailure("not-a-feed", "an error in JSON", ok("", `{"error":"quota"}`), nil),
	}
}

func statuses() []misbehaviour {
	return []misbehaviour{
		isFailure("http", "206 unasked", bare(206, "Content-Range: bytes 0-1/2\r\n"), nil),
		isFailure("http", "300", bare(300, ""), nil),
		isFailure("http", "301 without Location", bare(301, ""), nil),
		isFailure("http", "302 in a circle", bare(302, "Location: "+feedPath+"\r\n"), nil),
		isFailure("http", "305", bare(305, "Location: http://127.0.0.1:9/\r\n"), nil),
		isFailure("http", "400", bare(400, ""), nil),
		isFailure("http", "404", bare(404, ""), nil),
		isFailure("http", "418", bare(418, ""), nil),
		isFailure("http", "500", bare(500, ""), nil),
		isFailure("http", "503 without Retry-After", bare(503, ""), nil),
		isFailure("http", "999", bare(999, ""), nil),
		isFailure("http", "an error page without end", "HTTP/1.1 500 x\r\n\r\n", endless("x", 0)),
		isFailure("refused", "401", bare(401, "WWW-Authenticate: Basic realm=x\r\n"), nil),
		isFailure("refused", "403", bare(403, ""), nil),
		isFailure("refused", "a bot check", bare(403, "CF-Mitigated: challenge\r\n"), nil),
		{name: "404 for 3 h", answer: bare(404, "Retry-After: 10800\r\n"), kind: "http", due: 3 * time.Hour},
		{name: "410", answer: bare(410, ""), kind: "http", other: "stopped"},
		{name: "429", answer: bare(429, ""), kind: "http", due: time.Hour, other: "throttled"},
		{name: "429 for 2 h", answer: bare(429, "Retry-After: 7200\r\n"), kind: "http", due: 2 * time.Hour, other: "throttled"},
		{name: "429 for a year", answer: bare(429, "Retry-After: 31536000\r\n"), kind: "http", due: 7 * daily, other: "throttled"},
		{name: "503 for an hour and a half", answer: bare(503, "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\nRetry-After: Sun, 01 Mar 2026 13:30:00 +0000\r\n"), kind: "http", due: 90 * time.Minute, other: "throttled"},
	}
}

// TestMisbehavingServersInARun lets one run ask servers that misbehave in every way, and good ones beside them.
func TestMisbehavingServersInARun(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	cases := misbehaviours()
	asked := make(chan string, 10*len(cases))
	var urls []string
	for _, m := range cases {
		urls = append(urls, b.raw(func(c net.Conn, n int) {
			asked <- m.name
			if n == 0 {
				body := rss("", 1, 2)
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", oldLines, len(body), body)
				return
			}
			io.WriteString(c, m.answer)
			if m.then != nil {
				m.then(c)
			}
		}))
	}
	last := 2
	var good []string
	for range 10 {
		good = append(good, b.page(b.host()+feedPath, func(_ time.Time, r *http.Request) reply {
			return serving(r, fmt.Sprintf(`"v%d"`, last), "", rss("", 1, last))
		}).url)
	}
	w := newWorld(t, nil, "CRAWL_TIMEOUT=8s", "CRAWL_MAX_BODY=1MiB")
	w.follows(append(append([]string(nil), urls...), good...)...)
	b.quietly(w, runAt(0), "run")
	if n := w.number("SELECT count(*) FROM feeds WHERE last_error IS NULL AND body_hash IS NOT NULL"); n != len(urls)+len(good) || len(asked) != len(urls) {
		t.Fatalf("the first hour read %d feeds well, with %d requests to %d servers", n, len(asked), len(urls))
	}
	b.mu.Lock()
	last = 4
	b.mu.Unlock()
	hashes := w.query("SELECT url, body_hash FROM feeds")

	e := b.visit(w, runAt(1), "run", "--json").want(0)
	if e.elapsed > 5*time.Minute {
		t.Errorf("the run took %v", e.elapsed)
	}
	if n := len(asked) - len(urls); n != len(urls) {
		t.Errorf("%d requests in the second hour, not one to each of %d servers", n, len(urls))
	}
	changed := map[string]bool{}
	for _, line := range difference(hashes, w.query("SELECT url, body_hash FROM feeds")) {
		changed[strings.Fields(line)[1]] = true
	}
	for i, m := range cases {
		m.check(t, w, urls[i], changed[urls[i]], e.elapsed)
	}
	for _, u := range good {
		same(t, "a good feed beside them", []string{u + ` | active | 0 | NULL | NULL | "v4" | 4`}, w.query(`
			SELECT url, status, consecutive_failures, last_error, last_warning, etag, (SELECT count(*) FROM items WHERE feed_id = f.id) FROM feeds f WHERE url = ?`, u))
	}
	w.sound()
	t.Logf("%d misbehaviours, %v", len(cases), e.elapsed)
}

// check compares what has become of the feed with what should have, after a run that took so long.
func (m misbehaviour) check(t *testing.T, w *world, url string, newHash bool, took time.Duration) {
	t.Helper()
	row := strings.Split(w.query(`
		SELECT status, consecutive_failures, last_error_kind, last_warning, etag, last_modified,
		       (SELECT count(*) FROM items WHERE feed_id = f.id),
		       CAST(round((julianday(next_fetch_at) - julianday(last_attempt_at)) * 86400) AS INTEGER),
		       retry_after_until IS NOT NULL, coalesce(stopped_reason, '-'), coalesce(last_error, '-')
		FROM feeds f WHERE url = ?`, url)[0], " | ")
	fault := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s; the row: %q", m.name, fmt.Sprintf(format, args...), row)
	}
	status, failures := "active", "0"
	switch {
	case m.other == "stopped":
		status = "stopped"
	case m.kind != "" && m.other == "":
		failures = "1"
	}
	if row[0] != status || row[1] != failures || status == "stopped" && row[9] != "gone" {
		fault("status %s with %s failures, reason %s", row[0], row[1], row[9])
	}
	if want := orNull(m.kind); row[2] != want || (row[10] != "-") != (m.kind != "") {
		fault("error of kind %s, not %s", row[2], want)
	}
	if m.warning == "" && row[3] != "NULL" || !strings.Contains(row[3], m.warning) {
		fault("warning %q, not %q", row[3], m.warning)
	}
	etag, modified := `"old"`, "Sun, 01 Nov 2026 00:00:00 GMT"
	if m.fresh {
		etag, modified = `W/"new"`, "Mon, 02 Nov 2026 00:00:00 GMT"
	} else if m.other == "half" {
		etag = `W/"new"`
	}
	if row[4] != etag || row[5] != modified || newHash != m.fresh {
		fault("validators %s and %s, another body hash: %v", row[4], row[5], newHash)
	}
	if want := fmt.Sprint(max(m.items, 2)); row[6] != want {
		fault("%s items, not %s", row[6], want)
	}
	m.checkDue(row[7], row[8] == "1", took, fault)
}

func orNull(s string) string {
	if s == "" {
		return "NULL"
	}
	return s
}

// checkDue looks at when the feed is due again, in seconds after its fetch began.
func (m misbehaviour) checkDue(text string, quiet bool, took time.Duration, fault func(string, ...any)) {
	if m.other == "stopped" {
		return
	}
	due, err := time.ParseDuration(text + "s")
	least, most := 54*time.Minute, 66*time.Minute
	if m.due != 0 {
		least, most = m.due, m.due
	}
	if err != nil || due < least || due > most+took+time.Second {
		fault("due after %s, not %v", due, least)
	}
	if want := m.kind != "" && m.due != 0; quiet != want {
		fault("retry_after_until is set: %v", quiet)
	}
}
