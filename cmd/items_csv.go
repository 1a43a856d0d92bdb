package cmd

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"crawl/store"
)

// itemsCSV writes a head and one record an item (RFC 4180). What is unknown is empty; categories are joined by commas, enclosures
// are JSON. What a feed wrote cannot be a formula.
func itemsCSV(w io.Writer, rows iter.Seq2[store.ItemRow, error]) error {
	c := csv.NewWriter(w)
	err := c.Write([]string{"seq", "kind", "columns", "id", "feed_id", "feed_url", "key", "guid", "url", "title", "author",
		"published_at", "updated_at", "first_seen_at", "changed_at", "summary", "content", "categories", "enclosures", "feed_title"})
	for r, failed := range rows {
		if err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		err = c.Write(itemRecord(r))
	}
	c.Flush()
	if err == nil {
		err = c.Error()
	}
	return err
}

func itemRecord(r store.ItemRow) []string {
	enclosures := ""
	if len(r.Enclosures) > 0 {
		text, _ := json.Marshal(r.Enclosures) // strings and numbers: cannot fail
		enclosures = carried(string(text))
	}
	return []string{
		strconv.FormatInt(r.Seq, 10), r.Kind, strings.Join(r.Columns, ","), strconv.FormatInt(r.ID, 10),
		strconv.FormatInt(r.FeedID, 10), carried(r.FeedURL), noFormula(r.Key), noFormula(r.GUID), noFormula(r.URL), noFormula(r.Title), noFormula(r.Author),
		stamp(r.PublishedAt), stamp(r.UpdatedAt), stamp(r.FirstSeenAt), stamp(r.ChangedAt), noFormula(r.Summary), noFormula(r.Content),
		noFormula(strings.Join(r.Categories, ",")), enclosures, noFormula(r.FeedTitle),
	}
}

// noFormula is text as it can be carried, and keeps a spreadsheet from computing a stranger's text (OWASP, "CSV injection"), also one
// that begins with what is not seen or is written in full width.
func noFormula(text string) string {
	text = carried(text)
	seen := strings.TrimLeftFunc(text, func(r rune) bool { return r == ' ' || unicode.In(r, unicode.Cf) })
	if first, _ := utf8.DecodeRuneInString(seen); seen != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}
