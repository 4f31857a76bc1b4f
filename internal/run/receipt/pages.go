package receipt

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/kenlayer/ken/store"
)

// pages is which receipts there may be. Some of them may be gone: those of
// forgotten sessions.
type pages struct {
	First uint64    `json:"first"` // the oldest; above Last when there is none
	Last  uint64    `json:"last"`  // the newest, never given out again
	At    time.Time `json:"at"`    // of the oldest, or before it
}

// maxSpan bounds the numbers that can be in use, so that a note that went bad does
// not have anybody look for receipts without end.
const maxSpan = 1 << 24

// readPages reads the numbers, or finds them again when the note of them can't be
// read: the entries say the same.
func readPages(r store.ShelfReader) pages {
	b := r.Get(keyBook)
	if b == nil {
		return pages{First: 1}
	}
	var p pages
	if json.Unmarshal(b, &p) == nil && p.First > 0 && p.Last+1-p.First <= maxSpan {
		return p
	}
	p = pages{First: 1}
	for key := range r.Scan(prefixEntry) {
		if n, err := strconv.ParseUint(key[len(prefixEntry):], 16, 64); err == nil {
			if p.Last == 0 {
				p.First = n
			}
			p.Last = n
		}
	}
	return p
}

func (p *pages) write(tx store.ShelfTx) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return tx.Put(keyBook, b)
}
