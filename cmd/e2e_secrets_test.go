package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// What is planted in addresses and settings. Each begins with a word that no message has.
const (
	secretPath     = "PLANTEDpath7261"
	secretQuery    = "PLANTEDquery9054"
	secretUser     = "PLANTEDuser3117"
	secretPassword = "PLANTEDpassword5580"
	secretHeader   = "PLANTEDheader6402"
)

var planted = regexp.MustCompile(`(?i)PLANTED(path|query|user|password|header)\d*`)

// printed is what one command printed, and whether it may show URLs.
type printed struct {
	what, text string
	urls       bool
}

// wantNoSecret fails the test if a text has what was planted. URLs, where they may be shown, have no user and no password.
func (p printed) wantNoSecret(t testing.TB) {
	t.Helper()
	for _, found := range planted.FindAllString(p.text, -1) {
		if found == secretPath || found == secretQuery {
			if p.urls {
				continue
			}
		}
		at := strings.Index(p.text, found)
		t.Errorf("%s shows %s: …%s…", p.what, found, p.text[max(0, at-150):min(len(p.text), at+100)])
		return
	}
}

// secretWeb is hosts that go wrong in every way that has a message, at addresses with secrets.
func secretWeb(b *web) (urls []string) {
	plain := func(root string) string { return root + "/" + secretPath + "/feed?key=" + secretQuery }
	add := func(url string) {
		urls = append(urls, strings.Replace(url, "://", "://"+secretUser+":"+secretPassword+"@", 1))
	}
	page := func(a reply) { add(b.page(plain(b.host()), always(a)).url) }
	echo := "/" + secretPath + "/feed?key=" + secretQuery
	for _, status := range []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden, http.StatusGone, http.StatusInternalServerError, http.StatusNotModified, http.StatusNoContent} {
		page(reply{status: status})
	}
	page(reply{status: http.StatusTooManyRequests, header: map[string]string{"Retry-After": "99999999"}})
	page(reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "600"}})
	page(reply{header: map[string]string{"Content-Type": "text/html"}, body: "<html><head><title>Nothing at " + echo + "</title></head></html>"})
	page(reply{body: `<error xmlns="` + echo + `"><` + secretPath + `/></error>`})
	page(reply{body: `{"error":"` + echo + `"}`})
	page(reply{body: `<rss version="2.0"><channel><item><title>` + echo})
	page(reply{body: `<rss version="2.0"><channel><title>t</title><item><title>a</titel><guid>` + echo + `</guid></item><item><title>` + echo + `</title></item></channel></rss>`})
	for _, to := range []string{
		echo, plain("http://10.0.0.1"), "file:///" + secretPath, "http://[" + secretPath, "http://h:x/" + secretPath, secretPath + ":opaque", "http:///" + secretPath,
		plain("http://" + secretUser + ":" + secretPassword + "@127.0.0.1:1"), plain("ftp://127.0.0.1"),
	} {
		page(reply{status: http.StatusMovedPermanently, header: map[string]string{"Location": to}})
	}
	for _, answer := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n", "GET " + echo + " HTTP/1.1\r\n\r\n", "HTTP/1.1 200 " + echo + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<rss version='2.0'><channel>", "HTTP/1.1 404 " + echo + "\r\n\r\n", "HTTP/1.1 200 OK\r\n" + echo + "\r\n\r\n",
	} {
		add(strings.Replace(b.raw(func(c net.Conn, _ int) { fmt.Fprint(c, answer) }), feedPath, echo, 1))
	}
	add(strings.Replace(b.raw(func(c net.Conn, _ int) { c.Read(make([]byte, 1)) }), feedPath, echo, 1))
	add(strings.Replace(plain(b.host()), "http:", "https:", 1)) // what answers there does not speak TLS
	refused := b.listen()
	add(plain("http://" + refused.Addr().String()))
	refused.Close()
	add(b.page(plain(b.host()), func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 3)) }).url)
	return urls
}

// A token planted in path, query, user, password or header is in no log, message, reason, status or hook; list, items and export show URLs
// but never a user or password.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	urls := secretWeb(b)
	told := filepath.Join(t.TempDir(), "hook")
	proxy := "http://" + secretUser + ":" + secretPassword + "@127.0.0.1:9"
	w := newWorld(t, nil, "CRAWL_TIMEOUT=1500ms", "CRAWL_MAX_FAILURES=2", "CRAWL_HOOK=(env; cat) >> "+told)
	var all []printed
	note := func(e ending, urls bool) ending {
		all = append(all, printed{"crawl " + e.args + ", standard output", e.stdout, urls}, printed{"crawl " + e.args + ", standard error", e.stderr, false})
		return e
	}
	first := urls[len(urls)-1]
	before := runAt(0).Add(-time.Hour)
	w.follows(urls...)
	clean := strings.Replace(first, secretUser+":"+secretPassword+"@", "", 1)
	e := w.run(before, "set", clean, "--header", "X-Key: "+secretHeader, "-vv")
	e.args = "set"
	note(e.want(0), false)

	for n, args := range [][]string{{"run", "-vv"}, {"run", "-vv", "--log-format", "json"}, {"run", "-v"}, {"half-check", "-vv"}, {"run", "--failed", "-vv"}} {
		note(b.visit(w, runAt(3*n), args...), false)
	}
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"status", "--check"}, {"category", "list"}, {"version"}, {"crontab"}, {"config"}, {"config", "--json"}} {
		note(w.run(runAt(16), args...), false)
	}
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"list", "--stopped"}, {"list", "--failing"}, {"items"}, {"items", "--jsonl"}, {"items", "--json"}, {"items", "--csv"},
		{"items", "--atom"}, {"items", "--rss"}, {"items", "--after", "0", "--jsonl"}, {"export"}, {"run", "--dry-run"}, {"run", "--dry-run", "--json"},
	} {
		note(w.run(runAt(16), args...), true)
	}
	secretive := w.with("CRAWL_PROXY=" + proxy)
	for _, args := range [][]string{{"config"}, {"config", "--json"}, {"config", "-vv"}} {
		e := secretive.run(runAt(16), args...).want(0)
		e.stdout = strings.ReplaceAll(e.stdout, secretUser, "") // a proxy's user may be shown to its owner
		note(e, false)
	}
	note(secretive.run(runAt(16), "check", first, "-vv"), true)
	for _, p := range append(all, w.typed(urls)...) {
		p.wantNoSecret(t)
	}

	for _, column := range []string{"last_error", "last_warning", "stopped_reason", "title", "redirect_url"} {
		text := strings.Join(w.query("SELECT id, last_error_kind, "+column+" FROM feeds WHERE "+column+" IS NOT NULL"), "\n")
		printed{"feeds." + column, text, column == "redirect_url"}.wantNoSecret(t)
	}
	printed{"fetches.error", strings.Join(w.query("SELECT feed_id, error FROM fetches WHERE error IS NOT NULL"), "\n"), false}.wantNoSecret(t)
	hook, err := os.ReadFile(told)
	if err != nil || !strings.Contains(string(hook), "CRAWL_SEQ=") {
		t.Fatalf("the hook: %v: %s", err, hook)
	}
	printed{"the hook", string(hook), false}.wantNoSecret(t)
	if n := w.number("SELECT count(*) FROM feeds WHERE last_error IS NOT NULL"); n < 25 {
		t.Fatalf("only %d feeds have an error to look at", n)
	}
}

// typed gives what the program says of addresses that a person types, good and bad.
func (w *world) typed(urls []string) (all []printed) {
	w.t.Helper()
	bad := []string{
		"http://" + secretUser + ":" + secretPassword + "@10.0.0.1/" + secretPath + "?" + secretQuery,
		"ftp://" + secretUser + ":" + secretPassword + "@h.example/" + secretPath,
		secretUser + ":" + secretPassword + "@[h.example/" + secretPath,
		"http://" + secretUser + ":" + secretPassword + "@h.example:x/" + secretPath,
		"http://" + secretUser + ":%zz" + secretPassword + "@h.example/" + secretPath,
		"http://localhost:22/" + secretPath,
	}
	private := *w
	private.env = slices.DeleteFunc(slices.Clone(w.env), func(v string) bool { return strings.HasPrefix(v, "CRAWL_ALLOW_NET") })
	say := func(w *world, what string, args ...string) {
		e := w.run(runAt(16), args...)
		all = append(all, printed{what, e.stdout + e.stderr, false})
	}
	for _, address := range append(bad, urls[0], urls[9], urls[14]) {
		say(&private, "add", "add", address, "-vv")
		say(w, "add", "add", strings.Replace(address, secretPath, secretPath+"/other", 1), "-vv")
		say(&private, "set --url", "set", "1", "--url", address)
		say(&private, "check", "check", address)
		say(w, "stop", "stop", address+"/unknown")
		say(w, "resume", "resume", "1", "--url", address)
		say(w, "remove", "remove", address+"/unknown", "--yes")
		say(w, "run --feed", "run", "--feed", address+"/unknown")
	}
	list := filepath.Join(w.t.TempDir(), "bad.opml")
	text := "<opml><body>"
	for _, address := range bad {
		text += `<outline text="x" xmlUrl="` + strings.ReplaceAll(address, "&", "&amp;") + `"/>`
	}
	if err := os.WriteFile(list, []byte(text+"</body></opml>"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	say(w, "import", "import", list)
	say(w, "import --json", "import", list, "--json")
	say(w, "set --header", "set", "1", "--header", "Referer: "+secretHeader)
	say(w, "set --header", "set", "1", "--header", "X-A: "+secretHeader+"\n")
	say(w, "set --proxy", "set", "1", "--proxy", "gopher://"+secretUser+":"+secretPassword+"@h")
	say(w.with("CRAWL_PROXY=gopher://"+secretUser+":"+secretPassword+"@h"), "CRAWL_PROXY", "run")
	say(w.with("CRAWL_PROXY=http://"+secretUser+":"+secretPassword+"@h h"), "CRAWL_PROXY", "run")
	return all
}

// nasty is text with what must not reach a terminal: C0, DEL, C1, bidi controls, zero-width and other invisible characters.
const nasty = "A\x1b[31mB\x07C\x7fD\u009b2JE\u0085F\u202eG\u2066H\u200bI\u200dJ\ufeffK\u2028L\u00adM\u061cN\U000e0041O\u180eP"

// invisible finds such a character; line ends and the tabs and carriage returns of CSV and XML are none.
func invisible(text string, allowed string) string {
	for _, r := range text {
		if strings.ContainsRune("\n"+allowed, r) {
			continue
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// nastyWorld has feeds whose every text is nasty, one that is a page with such a title, and one in a nasty folder.
func nastyWorld(t *testing.T) (*web, *world) {
	b := newWeb(t)
	text, err := json.Marshal(map[string]any{
		"version": "https://jsonfeed.org/version/1.1", "title": nasty, "language": nasty, "home_page_url": "https://www.example.org/" + nasty,
		"items": []map[string]any{{
			"id": nasty, "title": nasty, "content_text": nasty, "summary": nasty, "tags": []string{nasty}, "url": "https://www.example.org/" + nasty,
			"authors":     []map[string]string{{"name": nasty}},
			"attachments": []map[string]string{{"url": "https://www.example.org/" + nasty, "mime_type": nasty}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := func(contentType, body string) string {
		return b.page(b.host()+feedPath, always(reply{header: map[string]string{"Content-Type": contentType, "ETag": `"` + "\u009b" + `"`}, body: body})).url
	}
	references := ""
	for _, r := range nasty {
		references += fmt.Sprintf("&#%d;", r)
	}
	urls := []string{
		page("application/feed+json", string(text)),
		page("application/rss+xml", `<rss version="2.0"><channel><title>`+references+`</title><item><title>`+references+`</title><author>`+references+
			`</author><guid>`+references+`</guid></item><item><title>x</titel><guid>`+references+`</guid></item></channel></rss>`),
		page("text/html", "<html><head><title>"+nasty+references+"</title></head></html>"),
	}
	list := filepath.Join(t.TempDir(), "nasty.opml")
	outlines := ""
	xmlText := strings.NewReplacer("\x1b", "", "\x07", "").Replace(nasty)
	for _, u := range urls[1:] {
		outlines += `<outline text="` + xmlText + `" xmlUrl="` + u + `"/>`
	}
	outlines += `<outline text="` + xmlText + `" xmlUrl="http://10.0.0.1/` + xmlText + `"/>`
	if err := os.WriteFile(list, []byte(`<opml><body><outline text="`+xmlText+`">`+outlines+`</outline></body></opml>`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	w.follows(urls[0])
	e := w.run(runAt(0).Add(-time.Hour), "import", list).want(1)
	if found := invisible(e.stderr+e.stdout, ""); found != "" || e.stderr == "" {
		t.Errorf("import prints %s: %q", found, e.stderr)
	}
	return b, w
}

// No control character, C1, bidi control or zero-width character of a feed reaches a table, a message, a log or a progress bar; JSON has them
// as escapes, CSV and XML have none that they cannot carry.
func TestFeedTextCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	b, w := nastyWorld(t)
	e := b.visit(w, runAt(0), "run", "-vv").want(0)
	if found := invisible(e.stderr, ""); found != "" || e.stderr == "" {
		t.Errorf("run -vv logs %s: %q", found, e.stderr)
	}
	e = b.visit(w, runAt(2), "run", "-vv", "--log-format", "json").want(0)
	if found := invisible(e.stderr, ""); found != "" || e.stderr == "" {
		t.Errorf("run logs %s in JSON: %q", found, e.stderr)
	}
	if n := w.number("SELECT count(*) FROM items"); n != 3 {
		t.Fatalf("%d items are stored", n)
	}
	json := w.query("SELECT url FROM feeds ORDER BY id")[0]
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"list", "--failing"}, {"status"}, {"status", "--json"}, {"category", "list"}, {"category", "list", "--json"},
		{"items"}, {"items", "--json"}, {"items", "--jsonl"}, {"items", "--after", "0"}, {"items", "--after", "0", "--jsonl"},
		{"check", json}, {"check", json, "--json"}, {"add", json}, {"add", json, "--json"}, {"run", "--dry-run"}, {"run", "--dry-run", "--json"},
	} {
		e := w.run(runAt(3), args...)
		if found := invisible(e.stdout+e.stderr, ""); found != "" || e.stdout == "" {
			t.Errorf("crawl %v prints %s: %q", args, found, e.stdout+e.stderr)
		}
	}
	for _, args := range [][]string{{"items", "--csv"}, {"items", "--atom"}, {"items", "--rss"}, {"export"}} {
		e := w.run(runAt(3), args...).want(0)
		for _, r := range e.stdout {
			if unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) {
				t.Errorf("crawl %v prints %U", args, r)
			}
		}
	}
	w.wantTitle(t)

	s, c := onTerminal(t, append(slices.Clone(w.env), "CRAWL_TEST_NOW="+runAt(5).Format(time.RFC3339)), "run", "--force")
	if code := s.end(c); code != 0 {
		t.Errorf("code %d", code)
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`).ReplaceAllString(s.String(), "") // the bars' own
	if found := invisible(escapes, "\r"); found != "" || strings.Contains(s.String(), "\x1b[31m") {
		t.Errorf("a terminal gets %s: %q", found, s.String())
	}
}

// wantTitle checks that JSON carries a title as it is stored, escaped.
func (w *world) wantTitle(t *testing.T) {
	t.Helper()
	e := w.run(runAt(3), "items", "--jsonl").want(0)
	var titles []string
	for line := range strings.Lines(e.stdout) {
		var item struct{ Title string }
		if err := json.Unmarshal([]byte(line), &item); err != nil {
			t.Fatal(err)
		}
		titles = append(titles, item.Title)
	}
	same(t, "titles in JSON", w.query("SELECT title FROM items"), titles)
	if !strings.Contains(strings.Join(titles, ""), "\u202e") || !strings.Contains(e.stdout, `\u202e`) {
		t.Fatalf("no title is nasty: %q", titles)
	}
}
