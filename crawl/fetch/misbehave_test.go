package fetch

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// document is what the servers of these tests mean to say.
var document = "<rss>" + strings.Repeat("<item><title>title &amp; text</title></item>\n", 100) + "</rss>"

// packed returns b in a coding.
func packed(coding string, b string) string {
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
	case "deflate":
		w, _ = flate.NewWriter(&out, 5)
	}
	io.WriteString(w, b)
	w.Close()
	return out.String()
}

// ok is an answer of 200 with these header lines and this body, whose length is given.
func ok(lines, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", lines, len(body), body)
}

// misbehaviour is one way in which a server answers, and what is to become of it.
type misbehaviour struct {
	name   string
	answer string               // what it sends
	then   func(net.Conn)       // what it does after that, before it closes
	kind   Kind                 // of the failure; "" for none
	says   string               // in the failure's text
	body   string               // what is read: a whole document, or how it begins if cut is set
	cut    Kind                 // what Truncated is about
	reset  bool                 // it closes by a reset
	check  func(*Response) bool // what else holds
}

const head200 = "HTTP/1.1 200 OK\r\n"

func hang(c net.Conn) { io.Copy(io.Discard, c) }

// endless writes s until the client has had enough.
func endless(s string) func(net.Conn) {
	return func(c net.Conn) {
		s := []byte(strings.Repeat(s, 1+4096/len(s)))
		for {
			if _, err := c.Write(s); err != nil {
				return
			}
		}
	}
}

// drip writes s again and again, slowly.
func drip(s string, every time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, s); err != nil {
				return
			}
			time.Sleep(every)
		}
	}
}

var misbehaviours = []misbehaviour{
	// Framing of bodies.
	{name: "as it should be", answer: ok("", document), body: document},
	{name: "without a length", answer: head200 + "\r\n" + document, body: document},
	{name: "chunked", answer: head200 + "Transfer-Encoding: chunked\r\n\r\n4\r\n<rss\r\n2;x=y\r\n/>\r\n0\r\nX-Trailer: 1\r\n\r\n", body: "<rss/>"},
	{name: "HTTP/1.0", answer: "HTTP/1.0 200 OK\r\n\r\n" + document, body: document},
	{name: "lines end in LF alone", answer: "HTTP/1.1 200 OK\nContent-Length: 6\n\n<rss/>", body: "<rss/>"},
	{name: "100 first", answer: "HTTP/1.1 100 Continue\r\n\r\n" + ok("", document), body: document},
	{name: "103 with a Location first", answer: "HTTP/1.1 103 Early Hints\r\nLocation: /x\r\n\r\n" + ok("", document), body: document},
	{name: "more than its length", answer: ok("", "<rss/>") + "garbage", body: "<rss/>"},
	{name: "length and chunked", answer: head200 + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<rss/>\r\n0\r\n\r\n", body: "<rss/>"},
	{name: "shorter than its length", answer: head200 + "Content-Length: 9000\r\n\r\n<rss><item/>", body: "<rss><item/>", cut: KindTruncated},
	{name: "nothing of its length", answer: head200 + "Content-Length: 9000\r\n\r\n", kind: KindTruncated},
	{name: "chunked and cut off", answer: head200 + "Transfer-Encoding: chunked\r\n\r\nb\r\n<rss><item/", body: "<rss><item/", cut: KindTruncated},
	{name: "chunked without its end", answer: head200 + "Transfer-Encoding: chunked\r\n\r\n6\r\n<rss/>\r\n", body: "<rss/>", cut: KindTruncated},
	{name: "a chunk size that is none", answer: head200 + "Transfer-Encoding: chunked\r\n\r\n6\r\n<rss/>\r\nxyz\r\n", body: "<rss/>", cut: KindTruncated},
	{name: "a chunk size without end", answer: head200 + "Transfer-Encoding: chunked\r\n\r\n6\r\n<rss/>\r\nfffffffffffffffffff\r\n", body: "<rss/>", cut: KindTruncated},
	{name: "reset in the body", answer: head200 + "Content-Length: 9000\r\n\r\n<rss><item/>", reset: true, body: "<rss><item/>", cut: KindTruncated},
	{name: "the body stops", answer: head200 + "Content-Length: 9000\r\n\r\n<rss><item/>", then: hang, body: "<rss><item/>", cut: KindTimeout},
	{name: "the body never begins", answer: head200 + "Content-Length: 9000\r\n\r\n", then: hang, kind: KindTimeout},
	{name: "the body drips", answer: head200 + "\r\n", then: drip("<i/>", 20*time.Millisecond), body: "<i/>", cut: KindTimeout},
	{name: "the body never ends", answer: head200 + "\r\n", then: endless("<i/>"), body: "<i/>", cut: KindTooLarge},
	{name: "a length over the limit", answer: head200 + "Content-Length: 99999999999\r\n\r\n", then: endless("<i/>"), body: "<i/>", cut: KindTooLarge},
	{name: "chunked without end", answer: head200 + "Transfer-Encoding: chunked\r\n\r\n", then: endless("4\r\n<i/>\r\n"), body: "<i/>", cut: KindTooLarge},
	{name: "an enormous chunk", answer: head200 + "Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\n", then: endless("<i/>"), body: "<i/>", cut: KindTooLarge},

	// Codings.
	{name: "gzip", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", document)), body: document},
	{name: "x-gzip", answer: ok("Content-Encoding: X-GZIP\r\n", packed("gzip", document)), body: document},
	{name: "br", answer: ok("Content-Encoding: br\r\n", packed("br", document)), body: document},
	{name: "zstd", answer: ok("Content-Encoding: zstd\r\n", packed("zstd", document)), body: document},
	{name: "deflate as it is defined", answer: ok("Content-Encoding: deflate\r\n", packed("zlib", document)), body: document},
	{name: "deflate as some send it", answer: ok("Content-Encoding: deflate\r\n", packed("deflate", document)), body: document},
	{name: "plain called gzip", answer: ok("Content-Encoding: gzip\r\n", document), body: document},
	{name: "plain called br", answer: ok("Content-Encoding: br\r\n", document), body: document},
	{name: "plain called zstd", answer: ok("Content-Encoding: zstd\r\n", document), body: document},
	{name: "plain called deflate", answer: ok("Content-Encoding: deflate\r\n", document), body: document},
	{name: "plain called br, after a line break", answer: ok("Content-Encoding: br\r\n", "\n<rss/>"), body: "\n<rss/>"},
	{name: "JSON called br", answer: ok("Content-Encoding: br\r\n", ` {"version": "x"}`), body: ` {"version": "x"}`},
	{name: "UTF-16 called br", answer: ok("Content-Encoding: br\r\n", "\xff\xfe<\x00r\x00"), body: "\xff\xfe<\x00r\x00"},
	{name: "gzip not called so", answer: ok("", packed("gzip", document)), body: document},
	{name: "zstd not called so", answer: ok("", packed("zstd", document)), body: document},
	{name: "gzip called br", answer: ok("Content-Encoding: br\r\n", packed("gzip", document)), body: document},
	{name: "gzip called utf-8", answer: ok("Content-Encoding: utf-8\r\n", packed("gzip", document)), body: document},
	{name: "plain called utf-8", answer: ok("Content-Encoding: utf-8\r\n", document), body: document},
	{name: "plain called none", answer: ok("Content-Encoding: none\r\n", document), body: document},
	{name: "gzip twice, called once", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", packed("gzip", document))), body: document},
	{name: "gzip twice, called twice", answer: ok("Content-Encoding: gzip, gzip\r\n", packed("gzip", packed("gzip", document))), body: document},
	{name: "br, then gzip", answer: ok("Content-Encoding: br\r\nContent-Encoding: gzip\r\n", packed("gzip", packed("br", document))), body: document},
	{name: "gzip in two members", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", document[:99])+packed("gzip", document[99:])), body: document},
	{name: "zeros after gzip", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", document)+"\x00\x00\x00"), body: document},
	{name: "gzip cut off", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", document)[:70]), body: "<rss><item>", cut: KindTruncated},
	{name: "br cut off", answer: ok("Content-Encoding: br\r\n", packed("br", document)[:40]), body: "<rss>", cut: KindTruncated},
	{name: "gzip without its last byte", answer: ok("", cutEnd(packed("gzip", document), 1)), body: document, cut: KindTruncated},
	{name: "gzip cut off by the transfer too", answer: head200 + "Content-Length: 9000\r\n\r\n" + packed("gzip", document)[:70], body: "<rss><item>", cut: KindTruncated},
	{name: "gzip with a wrong checksum", answer: ok("", cutEnd(packed("gzip", document), 8)+"00000000"), body: document, cut: KindTruncated},
	{name: "gzip that is only a beginning", answer: ok("Content-Encoding: gzip\r\n", "\x1f\x8b\x08\x00"), kind: KindTruncated},
	{name: "gzip of nothing", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", "")), kind: KindEmpty},
	{name: "a gzip bomb", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", strings.Repeat("<i/>", 1<<20))), body: "<i/>", cut: KindTooLarge},
	{name: "a br bomb", answer: ok("Content-Encoding: br\r\n", packed("br", strings.Repeat("<i/>", 1<<20))), body: "<i/>", cut: KindTooLarge},
	{name: "a zstd bomb", answer: ok("Content-Encoding: zstd\r\n", packed("zstd", strings.Repeat("<i/>", 1<<20))), body: "<i/>", cut: KindTooLarge},
	{name: "a bomb in a bomb", answer: ok("Content-Encoding: gzip\r\n", packed("gzip", packed("gzip", strings.Repeat("<i/>", 2<<20)))), body: "<i/>", cut: KindTooLarge},
	{name: "a bomb of empty members", answer: ok("", packed("gzip", strings.Repeat(packed("gzip", ""), 1<<17))), kind: KindTooLarge},
	{name: "zstd with a window of 8 MiB", answer: ok("", "\x28\xb5\x2f\xfd\x00\x68\x31\x00\x00<rss/>"), body: "<rss/>"},
	{name: "zstd with a window of 32 MiB", answer: ok("", "\x28\xb5\x2f\xfd\x00\x78\x31\x00\x00<rss/>"), kind: KindTruncated},

	// Heads.
	{name: "a status without reason", answer: "HTTP/1.1 200\r\n\r\n" + document, body: document},
	{name: "a reason with escapes", answer: "HTTP/1.1 404 \x1b[2Jsecret\r\n\r\n", kind: KindHTTP},
	{name: "a header of 11 MB", answer: head200 + "X-A: " + strings.Repeat("a", 11<<20) + "\r\n\r\n" + document, kind: KindMalformed},
	{name: "a header of 300 KB in lines", answer: head200 + strings.Repeat("X-A: aaaaaaaaaaaaaaaaaaaa\r\n", 12<<10) + "\r\n" + document, kind: KindMalformed},
	{name: "a header of 200 KB", answer: ok(strings.Repeat("X-A: aaaaaaaaaaaaaaaaaaaa\r\n", 7<<10), document), body: document},
	{name: "a header without end", answer: head200, then: endless("X-A: a\r\n"), kind: KindMalformed},
	{name: "100 without end", then: endless("HTTP/1.1 100 Continue\r\n\r\n"), kind: KindMalformed},
	{name: "103 without end", then: endless("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"), kind: KindMalformed},
	{name: "two lengths", answer: head200 + "Content-Length: 6\r\nContent-Length: 7\r\n\r\n<rss/>", kind: KindMalformed},
	{name: "two lengths that agree", answer: head200 + "Content-Length: 6\r\nContent-Length: 6\r\n\r\n<rss/>", body: "<rss/>"},
	{name: "a negative length", answer: head200 + "Content-Length: -6\r\n\r\n<rss/>", kind: KindMalformed},
	{name: "a length that is none", answer: head200 + "Content-Length: six\r\n\r\n<rss/>", kind: KindMalformed},
	{name: "an unknown transfer coding", answer: head200 + "Transfer-Encoding: gzip\r\n\r\n<rss/>", kind: KindMalformed},
	{name: "HTTP/0.9", answer: document, kind: KindMalformed},
	{name: "HTTP/0.9 that repeats the request", answer: "<rss>GET /secret</rss>\r\n\r\n", kind: KindMalformed},
	{name: "HTTP/2 in the clear", answer: "HTTP/2 200 OK\r\n\r\n" + document, kind: KindMalformed},
	{name: "HTTP/3.14", answer: "HTTP/3.14 200 OK\r\n\r\n" + document, kind: KindMalformed},
	{name: "a status of two digits", answer: "HTTP/1.1 20 OK\r\n\r\n" + document, kind: KindMalformed},
	{name: "a status that is none", answer: "HTTP/1.1 abc OK\r\n\r\n" + document, kind: KindMalformed},
	{name: "status 600", answer: "HTTP/1.1 600 What\r\n\r\n" + document, kind: KindHTTP},
	{name: "status 999", answer: "HTTP/1.1 999 Request denied\r\n\r\n" + document, kind: KindHTTP},
	{name: "status 000", answer: "HTTP/1.1 000 x\r\n\r\n" + document, kind: KindHTTP},
	{name: "a line without colon", answer: head200 + "no colon here\r\n\r\n" + document, kind: KindMalformed},
	{name: "a space in a name", answer: head200 + "X A: 1\r\n\r\n" + document, body: document},
	{name: "a control character in a value", answer: head200 + "X-A: a\x00b\r\n\r\n" + document, kind: KindMalformed},
	{name: "an empty line first", answer: "\r\n" + ok("", document), kind: KindMalformed},
	{name: "binary noise", answer: "\x16\x03\x01\x00\x05\x00\x00\x00\x00\x00\r\n\r\n", kind: KindMalformed},
	{name: "SMTP", answer: "220 mail.example ESMTP\r\n", kind: KindMalformed},
	{name: "SSH", answer: "SSH-2.0-OpenSSH_9.6\r\n", kind: KindMalformed},
	{name: "nothing at all", kind: KindConnect},
	{name: "a reset", reset: true, kind: KindConnect},
	{name: "half a status line", answer: "HTTP/1.1 20", kind: KindMalformed},
	{name: "half a header", answer: head200 + "Content-Le", kind: KindMalformed},
	{name: "silence", then: hang, kind: KindTimeout, says: "no answer within 1.5s"},
	{name: "a header that drips", answer: head200, then: drip("X-A: a\r\n", 20*time.Millisecond), kind: KindTimeout, says: "no answer within 1.5s"},

	// Statuses.
	{name: "203", answer: "HTTP/1.1 203 x\r\n\r\n" + document, body: document},
	{name: "226", answer: "HTTP/1.1 226 IM Used\r\n\r\n" + document, body: document},
	{name: "200, empty", answer: ok("", ""), kind: KindEmpty},
	{name: "200, empty without length", answer: head200 + "\r\n", kind: KindEmpty},
	{name: "201", answer: "HTTP/1.1 201 x\r\n\r\n" + document, kind: KindHTTP},
	{name: "202", answer: "HTTP/1.1 202 x\r\n\r\n" + document, kind: KindHTTP},
	{name: "204", answer: "HTTP/1.1 204 x\r\n\r\n", kind: KindEmpty},
	{name: "205", answer: "HTTP/1.1 205 x\r\n\r\n", kind: KindEmpty},
	{name: "206 unasked", answer: "HTTP/1.1 206 x\r\nContent-Range: bytes 0-5/6\r\n\r\n<rss/>", kind: KindHTTP},
	{name: "101 unasked", answer: "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", then: hang, kind: KindHTTP},
	{name: "304 unasked", answer: "HTTP/1.1 304 x\r\nETag: \"a\"\r\n\r\n", kind: KindHTTP},
	{name: "401", answer: "HTTP/1.1 401 x\r\n\r\n", kind: KindRefused},
	{name: "403", answer: "HTTP/1.1 403 x\r\nServer: nginx\r\nContent-Type: text/html\r\n\r\n", kind: KindRefused, check: noBot},
	{name: "403, a challenge", answer: "HTTP/1.1 403 x\r\nCF-Mitigated: challenge\r\n\r\n", kind: KindRefused, check: bot},
	{name: "403, Cloudflare with HTML", answer: "HTTP/1.1 403 x\r\nServer: cloudflare\r\nContent-Type: text/html\r\n\r\n", kind: KindRefused, check: bot},
	{name: "403, Cloudflare with XML", answer: "HTTP/1.1 403 x\r\nServer: cloudflare\r\nContent-Type: text/xml\r\n\r\n", kind: KindRefused, check: noBot},
	{name: "503, a challenge", answer: "HTTP/1.1 503 x\r\nCF-Mitigated: challenge\r\n\r\n", kind: KindHTTP, check: bot},
	{name: "404", answer: "HTTP/1.1 404 x\r\nETag: \"a\"\r\nContent-Length: 1000000\r\n\r\n", then: hang, kind: KindHTTP},
	{name: "410", answer: "HTTP/1.1 410 x\r\n\r\n", kind: KindHTTP},
	{name: "418", answer: "HTTP/1.1 418 x\r\n\r\n", kind: KindHTTP},
	{name: "429", answer: "HTTP/1.1 429 x\r\nRetry-After: 120\r\n\r\n", kind: KindHTTP, check: waits(2 * time.Minute)},
	{name: "429 for a year", answer: "HTTP/1.1 429 x\r\nRetry-After: 31536000\r\n\r\n", kind: KindHTTP, check: waits(maxRetryAfter)},
	{name: "503 for an hour", answer: "HTTP/1.1 503 x\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\nRetry-After: Sun, 01 Mar 2026 13:00:00 +0000\r\n\r\n", kind: KindHTTP, check: waits(time.Hour)},
	{name: "404 for a minute", answer: "HTTP/1.1 404 x\r\nRetry-After: 60\r\n\r\n", kind: KindHTTP, check: waits(time.Minute)},
	{name: "500", answer: "HTTP/1.1 500 x\r\n\r\n", then: endless("x"), kind: KindHTTP, check: waits(0)},
}

func bot(r *Response) bool   { return r.BotCheck && strings.Contains(r.Failure().Error(), "bot check") }
func noBot(r *Response) bool { return !r.BotCheck }

func waits(d time.Duration) func(*Response) bool {
	return func(r *Response) bool { return r.RetryAfter == d && r.RetryAfterCapped == (d == maxRetryAfter) }
}

func cutEnd(s string, n int) string { return s[:len(s)-n] }

// TestMisbehavingServer goes through all misbehaviours, side by side on one client as in a run; those that time out on others, which are
// short of the patience that a busy machine may need for the rest. A GET stays within its limits and gives what the table says, and each
// sends one request.
func TestMisbehavingServer(t *testing.T) {
	authority := newAuthority(t)
	client := func(timeout, window time.Duration) *Client {
		c := newClient(t, func(o *Options) { o.MaxBody, o.Timeout, o.HeaderTimeout = 1<<20, time.Minute, timeout })
		c.slow = rate{bytes: 10 << 10, window: window}
		c.tlsConfig = func(config *tls.Config) { config.RootCAs = authority.pool }
		return c
	}
	patient, noHeader, noBody := client(time.Hour, time.Hour), client(1500*time.Millisecond, time.Hour), client(time.Hour, time.Second)
	server := serverConfig(authority.issue(t, "127.0.0.1", time.Now().Add(time.Hour)))
	t.Run("all", func(t *testing.T) {
		for _, m := range misbehaviours {
			c := patient
			switch {
			case strings.HasPrefix(m.says, "no answer"):
				c = noHeader
			case m.kind == KindTimeout || m.cut == KindTimeout:
				c = noBody
			}
			t.Run(m.name, func(t *testing.T) { t.Parallel(); m.run(t, c, nil) })
			t.Run(m.name+", over TLS", func(t *testing.T) { t.Parallel(); m.run(t, c, server) })
		}
	})
	for _, c := range []*Client{patient, noHeader, noBody} {
		if !c.memory.unused(newMemory(c.o.MaxMemory, c.o.MaxBody)) {
			t.Errorf("memory was lost: %+v", c.memory)
		}
	}
}

// run has it answer over HTTP, or with a config over HTTPS, which another part of the client speaks.
func (m misbehaviour) run(t *testing.T, c *Client, config *tls.Config) {
	s := newRawServer(t, config, func(c net.Conn, _ string) {
		io.WriteString(c, m.answer)
		if m.then != nil {
			m.then(c)
		}
		if m.reset {
			time.Sleep(20 * time.Millisecond) // what was written would be lost with the connection
			if secure, ok := c.(*tls.Conn); ok {
				c = secure.NetConn()
			}
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
	r, err := c.Get(t.Context(), Request{URL: s.URL + "/path-secret?secret"})
	defer r.Release()
	e := outcome(t, r, err)
	s.close()
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
	if m.kind != "" {
		if e == nil || e.Kind != m.kind || !strings.Contains(e.Error(), m.says) {
			t.Fatalf("failure %v of %s, want kind %s and %q", e, r, m.kind, m.says)
		}
		if !strings.HasPrefix(e.Error(), s.URL+": ") || strings.Contains(e.Error(), "secret") || !printable(e.Error()) || !e.AllowedNet || e.Requests != 1 {
			t.Errorf("error %q, allowed net %v", e, e.AllowedNet)
		}
		if m.check != nil && !m.check(r) {
			t.Errorf("%+v", r)
		}
		return
	}
	if e != nil {
		t.Fatalf("failure: %v", e)
	}
	if m.cut == "" && string(r.Body) != m.body || m.cut != "" && !strings.HasPrefix(string(r.Body), m.body) {
		t.Errorf("body %.60q (%d bytes), want %.60q (%d)", r.Body, len(r.Body), m.body, len(m.body))
	}
	if r.TruncatedKind != m.cut || (r.Truncated != "") != (m.cut != "") {
		t.Errorf("truncated: %s %q, want %s", r.TruncatedKind, r.Truncated, m.cut)
	}
	// Over TLS chunk sizes count as well, by the connection's own bound.
	if over := int64(len(r.Body)) - c.o.MaxBody; m.cut == KindTooLarge && (over > 0 || over < 0 && config == nil) {
		t.Errorf("a body over the limit has %d bytes, not the limit", len(r.Body))
	}
}
