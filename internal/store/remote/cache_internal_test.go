package remote

import (
	"testing"

	"github.com/kenlayer/ken/store"
)

// What a client knows of records stays within bounds, however it came to know it, also
// in a store that nobody writes to.
func TestTheCacheIsBounded(t *testing.T) {
	c := newCache()
	for from := store.Ref(0); from < 4*maxSeen; from += asideRows {
		rows, links := map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
		for ref := from; ref < from+asideRows; ref++ {
			rows[ref], links[ref] = seenRow{}, neighbourRow{flags: linkNone}
		}
		c.put(7, rows, links)
		if _, ok := c.row(from); !ok {
			t.Fatalf("what was just read of %d is not known", from)
		}
	}
	if most := maxSeen + asideRows; len(c.rows) > most || len(c.links) > most {
		t.Errorf("it knows %d rows and %d links, and should at most %d", len(c.rows), len(c.links), most)
	}
}
