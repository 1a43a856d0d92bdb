package feed

import (
	"context"
	"errors"
	"reflect"
	"testing"
)

// A document cut off at any byte gives the items that were complete, each as it is in the whole document, and no other;
// and it is an error only where there was none. What it leaves in memory is right for the whole document.
func TestTruncationAtEveryByte(t *testing.T) {
	for _, name := range []string{"rss.xml", "atom.xml", "rdf.xml", "feed.json", "koi8.xml"} {
		d := sample(t, name)
		whole := mustRead(t, d)
		ends := itemEnds(t, d)
		if len(ends) != len(whole.Items) {
			t.Fatalf("%s: %d ends of %d items", name, len(ends), len(whole.Items))
		}
		for n := range len(d.Body) {
			cut := d
			cut.Body = d.Body[:n:n]
			complete := 0
			for complete < len(ends) && ends[complete] <= n {
				complete++
			}
			f, err := Read(context.Background(), cut)
			if err != nil {
				var e *Error
				if complete > 0 || !errors.As(err, &e) {
					t.Errorf("%s cut at %d, with %d items: %v", name, n, complete, err)
				}
				continue
			}
			if len(f.Items) != complete || complete > 0 && !reflect.DeepEqual(f.Items, whole.Items[:complete]) {
				t.Fatalf("%s cut at %d: got %+v, want the first %d of %+v", name, n, f.Items, complete, whole.Items)
			}
			if complete < len(ends) && !f.Partial {
				t.Errorf("%s cut at %d: not marked as partial", name, n)
			}
			if n%7 == 0 {
				rest := d
				rest.Memory, rest.Rule = f.Memory, f.Rule
				if got := mustRead(t, rest); !reflect.DeepEqual(got.Keys, whole.Keys) || len(got.Items) < len(ends)-complete {
					t.Errorf("%s after a cut at %d: got %v", name, n, got.Keys)
				}
			}
		}
	}
}

// itemEnds gives the offset behind each item in the body, whose characters may take fewer bytes than in UTF-8.
func itemEnds(t *testing.T, d Document) []int {
	t.Helper()
	format := mustRead(t, d).Type
	end := map[string]string{typeRSS: "</item>", typeRDF: "</item>", typeAtom: "</entry>", typeJSON: "}"}[format]
	var ends []int
	if format == typeJSON {
		lay, _, _ := cutJSON(context.Background(), d.Body, nil)
		for _, it := range lay.items {
			ends = append(ends, it.end)
		}
		return ends
	}
	_, start, _ := findRoot(d.Body)
	lay, odd, err := cut(context.Background(), d.Body[start:], format, nil)
	if odd != "" || err != nil {
		t.Fatal(odd, err)
	}
	for _, it := range lay.items {
		if got := start + it.end; string(d.Body[got-len(end):got]) == end {
			ends = append(ends, got)
		}
	}
	return ends
}
