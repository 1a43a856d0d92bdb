package feed

import (
	"bytes"
	"context"
	"slices"
)

// prepare makes the document one that the scanner accepts: characters, root, markup.
func (r *reader) prepare() error {
	text, ascii, warning := decode(r.d.Body, r.d.ContentType)
	r.warn(warning)
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	text, changed := scrub(text, ascii)
	if err := r.begin(text); err != nil {
		return err
	}
	if changed {
		r.warn("characters that XML does not allow were removed")
	}
	if r.format == typeJSON {
		return r.cutJSON()
	}
	if err := r.fixRoot(); err != nil {
		return err
	}
	lay, odd, err := cut(r.ctx, r.b, r.format, nil)
	if err == nil && odd != "" {
		r.repair(lay, odd)
		lay, odd, err = cut(r.ctx, r.b, r.format, nil)
	}
	switch {
	case err != nil:
		return err
	case odd != "" && !r.feed.Partial:
		return fail(KindParse, "broken markup that cannot be mended: %s", odd)
	case r.feed.Partial && len(lay.items) == 0:
		return fail(KindTruncated, "the document is cut off before the end of the first item")
	}
	r.lay = lay
	r.plain = samePart(r.d.Body, r.b)
	return nil
}

// begin finds the root of a text and goes there.
func (r *reader) begin(text []byte) error {
	format, start, err := findRoot(text)
	if err != nil && err.Kind == KindNotAFeed && isBinary(r.d.Body) {
		return fail(KindNotAFeed, "not a feed but binary data")
	}
	if err != nil {
		return err
	}
	if start > 0 && skipProlog(text) < start {
		r.warn("something before the feed was left out")
	}
	r.format, r.b = format, text[start:]
	r.feed.Type = format
	return nil
}

// samePart reports whether b is the end of body itself, not a copy.
func samePart(body, b []byte) bool {
	return len(b) > 0 && len(b) <= len(body) && &b[0] == &body[len(body)-len(b)]
}

// repair makes a document well-formed: what is so as far as it goes gets its missing end tags, all else is mended.
func (r *reader) repair(lay *layout, odd string) {
	end := lastEnd(r.b, elementName(r.b, 0))
	if lay.missing != nil && end <= lay.end {
		r.b = slices.Concat(r.b[:lay.whole], lay.missing)
		// A channel that was closed has all its items, but for those of RDF, which stand behind it.
		r.feed.Partial = end < 0 && (r.format != typeRSS || lay.body.end == 0)
	} else {
		r.b, r.feed.Partial = mend(r.ctx, r.b, r.format)
	}
	if r.feed.Partial {
		r.warn("the document is cut off")
	} else {
		r.warn("broken markup was mended: " + odd)
	}
}

func (r *reader) cutJSON() error {
	lay, odd, err := cutJSON(r.ctx, r.b, nil)
	if err != nil {
		return err
	}
	if !isJSONFeed(r.b, lay) {
		return fail(KindNotAFeed, "not a feed but a JSON document without the version of a JSON Feed")
	}
	if odd != "" {
		if len(lay.items) == 0 {
			return fail(KindTruncated, "the document is cut off before the end of the first item")
		}
		r.feed.Partial = true
		r.warn("the document is cut off")
	}
	r.lay = lay
	r.plain = samePart(r.d.Body, r.b)
	return nil
}

// isJSONFeed reports whether a JSON document says of itself that it is one, by the address that its version is (JSON Feed
// 1.1, "Top-level"); any version will do if there are items.
func isJSONFeed(b []byte, lay *layout) bool {
	for _, m := range lay.head {
		key, version, _ := bytes.Cut(m.of(b), []byte(":"))
		if string(bytes.TrimSpace(key)) == `"version"` {
			return bytes.Contains(version, []byte("jsonfeed.org")) || len(lay.items) > 0
		}
	}
	return false
}
