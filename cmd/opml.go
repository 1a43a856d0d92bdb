package cmd

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
)

// Limits on what a stranger's OPML may ask of us.
const (
	opmlMaxBytes = 32 << 20
	opmlMaxDepth = 100
	opmlMaxLines = 200_000
	opmlMaxText  = 4096 // bytes of one name or address
	opmlMaxPath  = 1024 // bytes of the names of nested folders together
)

// outline is one feed line of an OPML file.
type outline struct {
	line     int // in the file
	title    string
	url      string // "" : there was none
	siteURL  string
	category string // folders joined with " / "; "" outside any
}

// folderSeparator joins the names of nested folders.
const folderSeparator = " / "

// readOPML reads the feed lines of an OPML file in their order: every outline with an xmlUrl, and every other one that is no
// folder, not even an empty one. Entities, DOCTYPE and processing instructions mean nothing. Where XML ends before the file does, the error is errNotXML, and what
// was read before comes with it.
func readOPML(r io.Reader) ([]outline, error) {
	text, err := io.ReadAll(io.LimitReader(r, opmlMaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > opmlMaxBytes {
		return nil, fmt.Errorf("larger than %s", formatSize(opmlMaxBytes))
	}
	text, err = opmlText(text)
	if err != nil {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false // stray & in titles is common
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // it is UTF-8 by now
	o := opmlReader{decoder: d}
	err = o.read()
	if err != nil && !errors.Is(err, errNotXML) {
		return nil, err
	}
	return o.outlines, err
}

// errNotXML is the damage that keeps the rest of a file from being read.
var errNotXML = errors.New("not XML")

// opmlText turns a file of any encoding, named by its byte order mark or its XML declaration, into UTF-8 that XML can carry.
func opmlText(text []byte) ([]byte, error) {
	label := opmlCharset(string(text[:min(len(text), 1024)]))
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if label != "utf-8" {
		r, err := charset.NewReaderLabel(label, bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("unknown character set %q", label)
		}
		if text, err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("read as %s: %w", label, err)
		}
	}
	return []byte(withoutReferences(carried(strings.ToValidUTF8(string(text), "\ufffd")))), nil
}

// withoutReferences drops the references to characters that XML cannot carry, at which a decoder gives up.
func withoutReferences(text string) string {
	return characterReference.ReplaceAllStringFunc(text, func(reference string) string {
		digits, base := strings.TrimSuffix(reference[2:], ";"), 10
		if digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		if n, err := strconv.ParseInt(digits, base, 32); err != nil || carried(string(rune(n))) == "" {
			return ""
		}
		return reference
	})
}

var characterReference = regexp.MustCompile(`&#(x[0-9a-fA-F]+|[0-9]+);`)

// opmlCharset is the encoding of a file by its first bytes: a byte order mark, the form of the first character, the declaration.
func opmlCharset(head string) string {
	switch {
	case strings.HasPrefix(head, "\xef\xbb\xbf"):
		return "utf-8"
	case strings.HasPrefix(head, "\xfe\xff"), strings.HasPrefix(head, "\x00<"):
		return "utf-16be"
	case strings.HasPrefix(head, "\xff\xfe"), strings.HasPrefix(head, "<\x00"):
		return "utf-16le"
	}
	label := strings.ToLower(declaredCharset(head))
	if label == "" || strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "ucs") {
		return "utf-8" // a declaration that can be read as ASCII is not in UTF-16, whatever it says
	}
	return label
}

// declaredCharset is the encoding that an XML declaration names.
func declaredCharset(head string) string {
	declaration, _, found := strings.Cut(strings.TrimSpace(head), "?>")
	if !found || !strings.HasPrefix(declaration, "<?xml") {
		return ""
	}
	_, value, found := strings.Cut(declaration, "encoding")
	if value = strings.TrimLeft(value, " \t\r\n="); !found || value == "" {
		return ""
	}
	label, _, _ := strings.Cut(value[1:], value[:1])
	return label
}

// opmlReader walks through the elements.
type opmlReader struct {
	decoder  *xml.Decoder
	folders  []string // of each open outline, the category of what is in it
	depth    int      // open elements
	pending  *outline // an outline that lacks its xmlUrl: a folder all the same if another opens before it ends
	outlines []outline
}

func (o *opmlReader) read() error {
	for {
		token, err := o.decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && o.depth == 0 && o.folders != nil:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("not OPML: there is no element in it")
		case err != nil:
			return fmt.Errorf("%w: %w", errNotXML, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := o.start(t); err != nil {
				return err
			}
		case xml.EndElement:
			o.end(t)
		}
	}
}

func (o *opmlReader) start(e xml.StartElement) error {
	if o.folders == nil {
		if !strings.EqualFold(e.Name.Local, "opml") {
			return fmt.Errorf("not OPML: its root element is <%s>", cut(e.Name.Local, 40))
		}
		o.folders = []string{}
	}
	if o.depth++; o.depth > opmlMaxDepth {
		return fmt.Errorf("nested deeper than %d", opmlMaxDepth)
	}
	if !strings.EqualFold(e.Name.Local, "outline") {
		return nil
	}
	if len(o.outlines) >= opmlMaxLines {
		return fmt.Errorf("more than %d lines", opmlMaxLines)
	}
	o.pending = nil // it is a folder: an outline begins within it
	line, _ := o.decoder.InputPos()
	found, isFolder := newOutline(e, line, o.category())
	inside := found.category
	if found.url == "" {
		inside = joinFolders(inside, found.title)
	} else {
		o.outlines = append(o.outlines, found)
	}
	if found.url == "" && !isFolder {
		o.pending = &found
	}
	o.folders = append(o.folders, inside)
	return nil
}

func (o *opmlReader) end(e xml.EndElement) {
	o.depth--
	if !strings.EqualFold(e.Name.Local, "outline") || len(o.folders) == 0 {
		return
	}
	o.folders = o.folders[:len(o.folders)-1]
	if o.pending != nil { // nothing in it: a feed line that lacks its address
		o.outlines = append(o.outlines, *o.pending)
		o.pending = nil
	}
}

// category is the name of the place where the reader is.
func (o *opmlReader) category() string {
	if len(o.folders) == 0 {
		return ""
	}
	return o.folders[len(o.folders)-1]
}

// joinFolders is the category of a folder within another. One without a name is no level.
func joinFolders(outer, name string) string {
	if outer == "" || name == "" {
		return cut(outer+name, opmlMaxPath)
	}
	return strings.TrimSpace(cut(outer+folderSeparator+name, opmlMaxPath))
}

// newOutline reads the attributes; their case varies from program to program. What has no URL of any kind, and no type that asks for
// one, is a folder also when it is empty.
func newOutline(e xml.StartElement, line int, category string) (o outline, isFolder bool) {
	values := map[string]string{}
	for _, a := range e.Attr {
		if name := strings.ToLower(a.Name.Local); values[name] == "" {
			values[name] = clean(cut(a.Value, opmlMaxText))
		}
	}
	title := values["title"]
	if title == "" {
		title = values["text"]
	}
	o = outline{line: line, title: title, url: values["xmlurl"], siteURL: values["htmlurl"], category: category}
	kind := strings.ToLower(values["type"])
	return o, o.url+o.siteURL+values["url"] == "" && (kind == "" || kind == "folder")
}

// cut shortens text to so many bytes, at the end of a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
