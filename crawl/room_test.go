package crawl

import (
	"strings"
	"testing"
	"testing/synctest"

	"crawl/store"
)

// fat is a result whose item and line together weigh so many bytes.
func fat(weight int) *finished {
	text := strings.Repeat("x", weight/2)
	return &finished{result: store.Result{Items: []store.Item{{Content: text}}}, data: []byte(text)}
}

// Whatever of a document a result holds weighs, so that no feed fills the memory with what weighs nothing.
func TestResultsWeighWhatTheyHold(t *testing.T) {
	const size = 1 << 20
	text := strings.Repeat("x", size)
	for name, r := range map[string]store.Result{
		"document": {Document: []byte(text)}, "keys": {Keys: []string{text}}, "content": {Items: []store.Item{{Content: text}}},
		"guid": {Items: []store.Item{{GUID: text}}}, "key": {Items: []store.Item{{Key: text}}}, "comments": {Items: []store.Item{{CommentsURL: text}}},
		"image": {Items: []store.Item{{ImageURL: text}}}, "language": {Items: []store.Item{{Language: text}}},
		"category": {Items: []store.Item{{Categories: []string{text}}}}, "enclosure": {Items: []store.Item{{Enclosures: []store.Enclosure{{URL: text}}}}},
		"type": {Items: []store.Item{{Enclosures: []store.Enclosure{{Type: text}}}}},
	} {
		if got := weigh(&r); got != size {
			t.Errorf("%s: %d bytes weigh %d", name, size, got)
		}
	}
	if got := weigh(&store.Result{Error: text}); got != 0 {
		t.Errorf("a failure weighs %d", got)
	}
}

// Results wait outside a full room until the merge has made place; failures never wait.
func TestRoomBoundsTheResultsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		r.enter(fat(roomSize - 1000))
		inside := make(chan *finished, 3)
		for range 2 {
			go func() {
				f := fat(2000)
				r.enter(f)
				inside <- f
			}()
		}
		synctest.Wait()
		r.enter(&finished{result: store.Result{Error: "no answer"}, data: make([]byte, 5000)})
		if len(inside) != 0 {
			t.Fatalf("%d results entered a full room", len(inside))
		}
		r.leave(roomSize - 1000)
		synctest.Wait()
		if len(inside) != 2 {
			t.Fatalf("%d results entered the empty room", len(inside))
		}
		r.leave((<-inside).weight)
		r.leave((<-inside).weight)

		huge := fat(3 * roomSize)
		r.enter(huge) // alone
		if r.leave(huge.weight); r.taken != 0 {
			t.Fatalf("%d bytes are taken in the end", r.taken)
		}
	})
}
