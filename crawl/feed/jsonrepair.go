package feed

import (
	"bytes"
	"encoding/json"
	"slices"
)

// repairJSON rewrites the members of a JSON Feed so that one of the wrong type does not cost the whole feed (its parser
// refuses everything for one number where it expects text): numbers and booleans become text where text belongs, and what
// cannot be made to fit is left out. Items that are no JSON at all are marked as lost.
func (r *reader) repairJSON(lost []bool) {
	var out []byte
	lay := *r.lay
	lay.head, lay.texts, lay.items = nil, nil, make([]span, len(r.lay.items))
	for _, m := range r.lay.head {
		if r.ctx.Err() != nil {
			return
		}
		object := slices.Concat([]byte("{"), m.of(r.b), []byte("}"))
		if fitted := refit(object, feedShapes); len(fitted) > 2 {
			start := len(out)
			out = append(out, fitted[1:len(fitted)-1]...)
			lay.head = append(lay.head, span{start, len(out)})
		}
	}
	for i, it := range r.lay.items {
		if r.ctx.Err() != nil {
			return
		}
		start := len(out)
		if !lost[i] {
			fitted := refit(it.of(r.b), itemShapes)
			lost[i] = fitted == nil
			out = append(out, fitted...)
		}
		lay.items[i] = span{start, len(out)}
	}
	r.b, r.lay = out, &lay
	r.warn("members of the wrong type were made to fit or left out")
}

// refit gives an object anew whose members fit; nil if it is none.
func refit(raw []byte, shapes map[string]func(any) any) []byte {
	v, ok := decodeJSON(raw)
	if !ok {
		return nil
	}
	object := fit(v, shapes)
	if object == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it would make a text up to six times as long
	if enc.Encode(object) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decodeJSON keeps numbers as they are written. Line breaks and tabs within strings, which JSON does not allow, are
// taken for blanks.
func decodeJSON(raw []byte) (any, bool) {
	for range 2 {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) == nil {
			return v, true
		}
		raw = bytes.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, raw)
	}
	return nil, false
}

// The members that are not text, by the shape they must have.
var (
	feedShapes       = map[string]func(any) any{"author": fitAuthor, "authors": fitAuthors, "expired": keep, "items": keep}
	itemShapes       = map[string]func(any) any{"id": keep, "author": fitAuthor, "authors": fitAuthors, "tags": fitTags, "attachments": fitAttachments}
	attachmentShapes = map[string]func(any) any{"size_in_bytes": keep, "duration_in_seconds": keep}
)

func keep(v any) any           { return v }
func fitAttachment(v any) any  { return fit(v, attachmentShapes) }
func fitAttachments(v any) any { return fitList(v, fitAttachment) }
func fitAuthors(v any) any     { return fitList(v, fitAuthor) }
func fitTags(v any) any        { return fitList(v, fitText) }

// fit gives an object whose members have the shapes named, and are text otherwise.
func fit(v any, shapes map[string]func(any) any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for name, member := range object {
		shape := shapes[name]
		if shape == nil {
			shape = fitText
		}
		if fitted := shape(member); fitted != nil {
			object[name] = fitted
		} else {
			delete(object, name)
		}
	}
	return object
}

func fitList(v any, each func(any) any) any {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []any
	for _, x := range list {
		if fitted := each(x); fitted != nil {
			out = append(out, fitted)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// fitAuthor takes a bare name for an author of that name.
func fitAuthor(v any) any {
	if name, ok := v.(string); ok {
		return map[string]any{"name": name}
	}
	return fit(v, nil)
}

func fitText(v any) any {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		if x {
			return "true"
		}
	}
	return nil
}
