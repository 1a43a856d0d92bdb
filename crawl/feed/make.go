package feed

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// prepareItems finds what the items of a document have in common: the address that links are relative to. That is
// xml:base, else for RSS the channel's link, else the document's own address.
func (r *reader) prepareItems() {
	r.links, r.spare = resolver{}, false
	r.author = author(r.src.authors)
	r.siteBase = r.d.URL
	if r.format == typeJSON {
		return
	}
	r.rootBase = r.tagBase(r.d.URL, r.lay.root)
	r.siteBase = r.tagBase(r.rootBase, r.lay.channel)
	r.channelBase = r.siteBase
	if link := strings.TrimSpace(r.src.link); r.format != typeAtom && r.siteBase == r.d.URL && isHTTP(link) {
		r.rootBase, r.channelBase = link, link
	}
}

// tagBase is the base within an element, by the xml:base of its start tag.
func (r *reader) tagBase(base string, tag span) string {
	if !r.lay.bases {
		return base
	}
	return r.xmlBase(base, tag.of(r.b))
}

func (r *reader) xmlBase(base string, tag []byte) string {
	found := false // a second one is an error, and would be work
	eachAttribute(tag, func(name, value []byte) {
		if string(name) == "xml:base" && !found {
			base, found = r.links.joinBase(base, unescape(value)), true
		}
	})
	return base
}

// item makes number i of the document's items of what gofeed read.
func (r *reader) item(i int, e *entry) *Item {
	e.summary, e.content = r.restore(e.summary), r.restore(e.content)
	r.longTexts(i, e)
	base := r.base(i, e)
	it := &Item{
		GUID:        clip(clean(strings.TrimSpace(e.id)), maxGUID),
		Title:       plainText(clean(e.title), e.titleMode, maxTitle),
		Author:      author(e.authors),
		Summary:     clean(e.summary),
		Content:     clean(e.content),
		CommentsURL: r.links.resolve(base, e.comments),
		ImageURL:    r.links.resolve(base, e.image),
		Language:    plainText(clean(e.language), plain, maxName),
		Duration:    duration(e.duration),
		PublishedAt: firstDate(e.published),
		UpdatedAt:   firstDate(e.updated),
		Categories:  r.categories(e.categories),
	}
	if len(e.authors) == 0 {
		it.Author = r.author
	}
	r.spare = r.spare || e.spare
	linkBase := base
	if e.base != "" {
		linkBase = e.base
	}
	it.URL = r.links.absolute(linkBase, e.link)
	if it.URL == "" && e.link == "" && e.idIsLink && isHTTP(it.GUID) {
		it.URL = r.links.resolve(base, it.GUID)
	}
	for _, enc := range e.enclosures {
		if enc.URL = r.links.absolute(base, enc.URL); enc.URL != "" {
			enc.Type = plainText(clean(enc.Type), plain, maxName)
			it.Enclosures = append(it.Enclosures, enc)
		}
	}
	it.Hash = it.hash()
	return it
}

// longTexts gives an item the texts that were kept from gofeed.
func (r *reader) longTexts(i int, e *entry) {
	it, texts := r.lay.items[i], r.lay.texts
	n, _ := slices.BinarySearchFunc(texts, it.start, func(t text, start int) int { return t.start - start })
	for ; n < len(texts) && texts[n].start < it.end; n++ {
		s := ""
		if raw := texts[n].of(r.b); r.format != typeJSON {
			s = unescape(raw)
		} else if v, ok := decodeJSON(raw); ok {
			s = v.(string)
		}
		if s == "" {
			continue
		}
		if texts[n].content {
			e.content = s
		} else {
			e.summary = s
		}
	}
}

// base reads from the bytes of an item what gofeed does not give (rdf:about, an id as it was written, the type of a
// title, a language) and finds the address that its links are relative to.
func (r *reader) base(i int, e *entry) string {
	if r.format == typeJSON {
		return r.d.URL
	}
	whole := r.lay.items[i]
	raw := whole.of(r.b)
	tag := raw[:tagClose(raw, 0)]
	base := r.rootBase
	if r.lay.inChannel(whole) {
		base = r.channelBase
	}
	base = r.tagBase(base, span{whole.start, whole.start + len(tag)})
	switch {
	case r.format == typeRDF:
		eachAttribute(tag, func(name, value []byte) {
			if n := string(local(name)); n == "about" && e.id == "" {
				e.id = unescape(value)
			}
		})
		e.id = cmp.Or(e.id, e.link) // RSS 0.9 has no rdf:about, and 1.0 wants it to be the link
	case r.format == typeAtom:
		r.atomDetails(e, raw, tag)
	}
	if e.inline {
		eachChild(raw, func(c child) {
			if n := local(c.name); equalFold(n, "body") || equalFold(n, "div") {
				e.content = cmp.Or(e.content, string(bytes.TrimSpace(c.content)))
			}
		})
	}
	if r.lay.bases && bytes.Contains(raw, []byte(":base")) {
		eachChild(raw, func(c child) {
			if string(local(c.name)) == "link" && bytes.Contains(c.tag, []byte(":base")) && e.base == "" {
				e.base = r.xmlBase(base, c.tag)
			}
		})
	}
	return base
}

func (r *reader) atomDetails(e *entry, raw, tag []byte) {
	eachAttribute(tag, func(name, value []byte) {
		if string(name) == "xml:lang" && e.language == "" {
			e.language = unescape(value)
		}
	})
	prefix := tag[1 : 1+len(elementName(tag, 0))]
	prefix = prefix[:bytes.IndexByte(prefix, ':')+1]
	eachChild(raw, func(c child) {
		if !bytes.HasPrefix(c.name, prefix) || bytes.Count(c.name, []byte(":")) != bytes.Count(prefix, []byte(":")) {
			return
		}
		switch strings.ToLower(string(local(c.name))) {
		case "id":
			e.id = unescape(c.content)
		case "title":
			e.titleMode = atomMode(c)
		case "created": // Atom 0.3
			e.published = append(e.published, unescape(c.content))
		case "author":
			if name := unescape(c.content); name != "" && !hasElements(c.content) { // as in RSS
				e.authors = []string{name}
			}
		case "summary":
			e.summary = cmp.Or(inlineMarkup(c.content), e.summary)
		case "content":
			e.content = cmp.Or(inlineMarkup(c.content), e.content)
		}
	})
}

// atomMode says how a title is to be read: by its type (RFC 4287 3.1.1); Atom 0.3 has media types.
func atomMode(c child) mode {
	m := plain
	eachAttribute(c.tag, func(name, value []byte) {
		if v := strings.ToLower(string(value)); string(name) == "type" && strings.Contains(v, "html") {
			m = markup
		}
	})
	if m == plain && hasElements(c.content) {
		m = markup
	}
	return m
}

// hasElements reports whether the content of an element holds elements, as XHTML does.
func hasElements(content []byte) bool {
	for i := 0; ; {
		k := bytes.IndexByte(content[i:], '<')
		if k < 0 || i+k+1 >= len(content) {
			return false
		}
		i += k
		if nameStart[content[i+1]] {
			return true
		}
		if bytes.HasPrefix(content[i:], []byte("<![CDATA[")) {
			i += after(content[i:], 9, "]]>")
		} else {
			i++
		}
	}
}

// inlineMarkup is content that holds elements, as it stands, without the <div> that XHTML is wrapped in (RFC 4287
// 3.1.1.3); "" if it holds none.
func inlineMarkup(content []byte) string {
	if !hasElements(content) {
		return ""
	}
	content = bytes.TrimSpace(content)
	var only child
	children := 0
	eachChild(slices.Concat([]byte("<x>"), content, []byte("</x>")), func(c child) {
		only = c
		children++
	})
	if children == 1 && equalFold(local(only.name), "div") && content[0] == '<' && content[len(content)-1] == '>' {
		content = bytes.TrimSpace(only.content)
	}
	return string(content)
}

// restore undoes the patch of an xml:base, by whatever prefix, within content that gofeed read.
func (r *reader) restore(s string) string {
	if r.lay.bases {
		return strings.ReplaceAll(s, ":bas"+string(patch), ":base")
	}
	return s
}

func firstDate(list []string) time.Time {
	for _, s := range list {
		if t := parseDate(s); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// author joins the names. RSS wants an address with the name in parentheses: then it is the name.
func author(names []string) string {
	var out []string
	for _, n := range names[:min(len(names), maxNames)] {
		if _, inner, ok := strings.Cut(n, "<name>"); ok { // as in Atom
			n, _, _ = strings.Cut(inner, "<")
		}
		n = plainText(clean(n), guess, maxAuthor)
		if address, rest, ok := strings.Cut(n, " ("); ok && strings.Contains(address, "@") && strings.HasSuffix(rest, ")") {
			n = strings.TrimSuffix(rest, ")")
		}
		if n != "" {
			out = append(out, n)
		}
	}
	return clip(strings.Join(out, ", "), maxAuthor)
}

// categories makes each name plain text and gives it once.
func (r *reader) categories(list []string) []string {
	var out []string
	seen := make(map[string]bool, min(len(list), maxDetails))
	for _, c := range list {
		if c = plainText(clean(c), guess, maxName); c == "" || seen[c] {
			continue
		}
		if len(out) == maxDetails {
			r.spare = true
			break
		}
		seen[c] = true
		out = append(out, c)
	}
	return out
}

// duration reads seconds, mm:ss or hh:mm:ss.
func duration(s string) int {
	total := 0.0
	for _, part := range strings.SplitN(strings.TrimSpace(s), ":", 4) {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(n >= 0 && n < 1e7) {
			return 0
		}
		total = total*60 + n
	}
	if total > 1e8 {
		return 0
	}
	return int(total)
}
