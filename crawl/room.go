package crawl

import (
	"sync"

	"crawl/store"
)

const (
	// roomSize bounds the results that wait for their merge, in bytes: a hundred documents of 16 MiB would be too many for a small machine.
	roomSize = 64 << 20
	// mergeWeight is how many bytes are worth a merge of their own.
	mergeWeight = 16 << 20
)

// room is where results are from the end of their reading to their merge. Who finds no place there waits, and keeps the place
// in which documents are read, so that no further one becomes a result.
type room struct {
	mu     sync.Mutex
	change *sync.Cond
	taken  int64
}

func newRoom() *room {
	r := &room{}
	r.change = sync.NewCond(&r.mu)
	return r
}

// enter waits until there is place. The collector always makes some: only failures are ever held back from the merge, and they
// weigh nothing, for they hold nothing that a document brought.
func (r *room) enter(f *finished) {
	f.weight = weigh(&f.result)
	if f.weight > 0 {
		f.weight = min(f.weight+int64(len(f.data)), roomSize)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for f.weight > 0 && r.taken+f.weight > roomSize {
		r.change.Wait()
	}
	r.taken += f.weight
}

// leave gives a place back.
func (r *room) leave(weight int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= weight
	r.change.Broadcast()
}

// weigh estimates what a result holds in memory of its document, in bytes.
func weigh(r *store.Result) int64 {
	n := len(r.Document)
	for _, key := range r.Keys {
		n += len(key)
	}
	for i := range r.Items {
		it := &r.Items[i]
		n += len(it.Content) + len(it.Summary) + len(it.Title) + len(it.Author) + len(it.Key) + len(it.GUID) + len(it.URL) +
			len(it.CommentsURL) + len(it.ImageURL) + len(it.Language)
		for _, e := range it.Enclosures {
			n += len(e.URL) + len(e.Type)
		}
		for _, c := range it.Categories {
			n += len(c)
		}
	}
	return int64(n)
}
