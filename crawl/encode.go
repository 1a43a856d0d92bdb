package crawl

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"crawl/store"
)

// encodeResult gives a result as its snapshot line carries it. Most results of an ordinary hour have nothing but the feed's row,
// and for these encoding/json takes ten times as long.
func encodeResult(r *store.Result) []byte {
	if len(r.Items) == 0 && len(r.Document) == 0 && len(r.Keys) == 0 {
		return encodeRow(r)
	}
	return encodeJSON(r)
}

// encodeJSON does not escape HTML: it would make content up to six times as long.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // no value of a result is without JSON
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// encodeRow encodes a result without its lists. What is empty is left out, which reads the same.
func encodeRow(r *store.Result) []byte {
	f := &r.Feed
	o := object(append(make([]byte, 0, 1024), '{'))
	o.text("outcome", r.Outcome)
	o.time("at", r.At)
	o.time("hour", r.Hour)
	if r.Ranked {
		o.name("ranked")
		o = append(o, "true"...)
	}
	o.number("status", int64(r.Status))
	o.number("bytes", r.Bytes)
	o.number("ms", r.Millis)
	o.text("error", r.Error)
	o.name("feed")
	o = append(o, '{')
	o.text("url", f.URL)
	o.text("title", f.Title)
	o.text("site_url", f.SiteURL)
	o.text("image_url", f.ImageURL)
	o.text("language", f.Language)
	o.text("schedule", f.Schedule)
	o.text("status", f.Status)
	o.text("stopped_reason", f.StoppedReason)
	o.number("failures", int64(f.ConsecutiveFailures))
	o.time("failed_hour", f.FailedHour)
	o.text("last_error", f.LastError)
	o.text("last_error_kind", f.LastErrorKind)
	o.time("last_error_at", f.LastErrorAt)
	o.text("last_warning", f.LastWarning)
	o.text("etag", f.ETag)
	o.text("last_modified", f.LastModified)
	o.text("validators_url", f.ValidatorsURL)
	o.number("body_hash", f.BodyHash)
	o.time("last_fetched_at", f.LastFetchedAt)
	o.time("last_success_at", f.LastSuccessAt)
	o.time("last_changed_at", f.LastChangedAt)
	o.time("next_fetch_at", f.NextFetchAt)
	o.time("retry_after_until", f.RetryAfterUntil)
	o.time("fetched_hour", f.FetchedHour)
	o.number("interval", int64(f.Interval))
	o.number("key_rule", int64(f.KeyRule))
	o.text("redirect_url", f.RedirectURL)
	o.number("redirect_seen", int64(f.RedirectSeen))
	o.time("redirect_since", f.RedirectSince)
	return append(o, "}}"...)
}

// object is a JSON object being written.
type object []byte

func (o *object) name(name string) {
	if (*o)[len(*o)-1] != '{' {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	if value == "" {
		return
	}
	o.name(name)
	begin := len(*o)
	*o = append(*o, '"')
	for i := range len(value) {
		switch c := value[i]; {
		case c < ' ' || c > '~':
			*o = append((*o)[:begin], encodeJSON(value)...)
			return
		case c == '"' || c == '\\':
			*o = append(*o, '\\', c)
		default:
			*o = append(*o, c)
		}
	}
	*o = append(*o, '"')
}

func (o *object) number(name string, value int64) {
	if value != 0 {
		o.name(name)
		*o = strconv.AppendInt(*o, value, 10)
	}
}

func (o *object) time(name string, value time.Time) {
	if !value.IsZero() {
		o.name(name)
		*o = append(value.AppendFormat(append(*o, '"'), time.RFC3339Nano), '"')
	}
}
