package cmd

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"crawl/store"
)

// hostileRow is an item as a stranger could write it.
func hostileRow() store.ItemRow {
	at := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	return store.ItemRow{
		Seq: 7, Kind: "new", ID: 5, FeedID: 3, FeedURL: "https://feed.example/?a=1&b=2", FeedTitle: "=</source><script>\x1b News", FirstSeenAt: at, ChangedAt: at,
		Key: "k", Title: hostile + "</title><script>alert(1)</script>]]>", Author: "\x00\u202e\"<b>",
		URL: `https://x.example/"><script>`, PublishedAt: at,
		Summary: `<p onclick="x()">fine</p><script>alert(1)</script>` + "\x0b", Content: `<a href="javascript:alert(1)">x</a><b>bold</b>`,
		Categories: []string{"a,b", "<c>"}, Enclosures: []store.Enclosure{{URL: "https://x.example/a.mp3?x=1&y=2", Type: "audio/mpeg", Length: 3}},
	}
}

func rowsOf(rows ...store.ItemRow) iter.Seq2[store.ItemRow, error] {
	return func(yield func(store.ItemRow, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// What is exported as a feed is well-formed whatever an item holds, its HTML is safe, and removed items are not in it.
func TestItemsAsFeed(t *testing.T) {
	removed := store.ItemRow{Seq: 8, Kind: "removed", ID: 6, FeedID: 3}
	now := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	for name, write := range map[string]func(io.Writer, iter.Seq2[store.ItemRow, error], time.Time) error{"atom": itemsAtom, "rss": itemsRSS} {
		var out strings.Builder
		if err := write(&out, rowsOf(hostileRow(), removed), now); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(strings.NewReader(out.String()))
		text := ""
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, out.String())
			}
			if element, isStart := token.(xml.StartElement); isStart && element.Name.Local == "script" {
				t.Errorf("%s: a script element", name)
			}
			if chars, isText := token.(xml.CharData); isText {
				text += string(chars)
			}
		}
		for _, never := range []string{"onclick", "javascript:", "item:6", "\x1b", "\u009b"} {
			if strings.Contains(out.String(), never) || strings.Contains(text, never) {
				t.Errorf("%s has %q:\n%s", name, never, out.String())
			}
		}
		for _, must := range []string{"<p>fine</p>", "urn:crawl:item:5"} {
			if !strings.Contains(text, must) {
				t.Errorf("%s lacks %q:\n%s", name, must, out.String())
			}
		}
	}
}

func TestItemsAsCSV(t *testing.T) {
	var out strings.Builder
	if err := itemsCSV(&out, rowsOf(hostileRow())); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(records) != 2 || len(records[0]) != len(records[1]) {
		t.Fatalf("%d records, error %v in\n%s", len(records), err, out.String())
	}
	if strings.ContainsAny(out.String(), "\x00\x0b\x1b\u009b") {
		t.Errorf("control characters in %+q", out.String())
	}
	for i, want := range map[int]string{0: "7", 11: "2026-11-02T08:00:00Z", 12: "", 17: "a,b,<c>", 18: `[{"url":"https://x.example/a.mp3?x=1\u0026y=2","type":"audio/mpeg","length":3}]`, 19: "'=</source><script> News"} {
		if records[1][i] != want {
			t.Errorf("%s is %q, want %q", records[0][i], records[1][i], want)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		in   string
		want time.Time
		bad  bool
	}{
		{"", time.Time{}, false},
		{"24h", now.Add(-24 * time.Hour), false},
		{"2026-11-30T11:30:00+01:00", now, false},
		{"2026-11-30", now.Truncate(24 * time.Hour), false},
		{"yesterday", time.Time{}, true},
		{"-1h", time.Time{}, true},
	} {
		if got, err := sinceWhen(test.in, now); !got.Equal(test.want) || (err != nil) != test.bad {
			t.Errorf("since %q is %v, error %v, want %v", test.in, got, err, test.want)
		}
	}
}

// A spreadsheet does not compute what a feed wrote; what is ours stays as it is.
func TestCSVHasNoFormulas(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "＝1+1": "'＝1+1", "\u200b=1+1": "'\u200b=1+1", " =1+1": "' =1+1", "\u200b": "\u200b", "+49": "'+49", "-x": "'-x", "@x": "'@x", "\tx": "'\tx", "\r=x": "'\r=x", "\x00=x": "'=x", "a=b": "a=b", "": "", "é": "é",
	} {
		row := store.ItemRow{Seq: 1, Kind: "new", Title: in}
		if got := itemRecord(row); got[9] != want || got[0] != "1" {
			t.Errorf("%q is %q, want %q", in, got[9], want)
		}
	}
}
