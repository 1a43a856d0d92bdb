package feed

// The limits of structure. gofeed recurses by depth, copies the namespaces in scope for every element and joins the text
// of one element piece by piece; a document beyond these would cost it minutes, gigabytes or the stack.
const (
	maxDepth      = 256
	maxElements   = 500_000
	maxPart       = maxElements / 8 // elements of one item, and of all that stands beside the items: each is parsed at once
	maxItems      = 20_000
	maxSpaces     = 64        // namespaces in scope
	maxSpaceWork  = 5_000_000 // sum over the elements of the namespaces in scope
	maxAttributes = 1_000     // of one element
	maxMembers    = 1_000     // of a JSON Feed beside its items
	maxPieces     = 5_000     // pieces of text of one element, broken up by children, comments or CDATA
	maxJoined     = 1 << 30   // sum over the pieces of the bytes of text before them in their element
	maxReferences = 1_000_000 // & in what gofeed is given: it looks for the end of each
	maxDateText   = 1 << 10   // bytes of an element that gofeed takes for a date
)

// span is a part of a document, from start up to end.
type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

// cost is what a part of a document adds to the sums that are limited.
type cost struct {
	elements int
	spaces   int // namespaces in scope, summed over the elements
}

// text is a long text of an item that gofeed need not see, for nothing is done with it but to decode its references: the
// content of a child without elements in it, or a JSON string with its quotes. Texts are most of what a feed weighs.
type text struct {
	span
	content bool // it is the item's content, else its summary
}

const minText = 128 // bytes from which on a text is kept from gofeed

// layout says where a well-formed feed has what.
type layout struct {
	root    span   // the start tag of the root
	channel span   // the start tag of the channel, if there is one
	body    span   // the channel's content
	head    []span // elements beside the items that have a lasting meaning
	items   []span
	costs   []cost // of the items
	total   cost   // of all
	texts   []text // long texts of the items, in order
	ttl     span   // content of the channel's ttl
	patches []int  // bytes of attribute names to overwrite, so that gofeed does not see them
	bases   bool   // there is an xml:base
	end     int    // behind the root's end tag, or where the document is cut off
	whole   int    // behind the last whole child of a container
	missing []byte // the end tags of the open containers, if the document is well-formed as far as it goes
}

// inChannel reports whether an item stands within the channel, not beside it.
func (l *layout) inChannel(item span) bool {
	return item.start >= l.body.start && item.end <= l.body.end
}

// tooLarge reports whether an item is not given to gofeed for the number of its elements.
func (l *layout) tooLarge(i int) bool { return l.costs[i].elements > maxPart }

// headTooLarge is tooLarge of what stands beside the items.
func (l *layout) headTooLarge() bool {
	n := l.total.elements
	for _, c := range l.costs {
		n -= c.elements
	}
	return n > maxPart
}

// seen is how many bytes of the document gofeed is given.
func (l *layout) seen() int {
	n := l.end
	for _, t := range l.texts {
		n -= t.end - t.start
	}
	return n
}

// order gives the numbers of the items that keep wants as gofeed gives them: those in the channel before those beside it.
func (l *layout) order(keep func(i int) bool) []int {
	numbers := make([]int, 0, len(l.items))
	for _, within := range []bool{true, false} {
		for i, it := range l.items {
			if keep(i) && l.inChannel(it) == within {
				numbers = append(numbers, i)
			}
		}
	}
	return numbers
}
