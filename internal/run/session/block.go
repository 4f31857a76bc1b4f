package session

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Block is a block that the layer injected at one place of a conversation. It is kept so
// that every process sends the same bytes at that place, after a restart as well.
type Block struct {
	// Place names the place: letters and digits, at most 64, such as the hex of a
	// fingerprint of the messages before it.
	Place string    `json:"-"`
	Turn  string    `json:"turn"` // the id of the turn that it was composed for
	At    time.Time `json:"at"`
	// Text is the block, byte for byte; "" for a turn that was given none.
	Text  string      `json:"text,omitempty"`
	Items []BlockItem `json:"items,omitempty"`
	Event uint64      `json:"event,omitempty"` // the store's last event when it was composed
	Mode  ken.Mode    `json:"mode"`            // of the turn's retrieval
}

// BlockItem is one item of a Block.
type BlockItem struct {
	Owner  string     `json:"owner,omitempty"` // who shares it; "" is the session's own owner
	ID     string     `json:"id"`
	Kind   ken.Kind   `json:"kind"`
	Trust  ken.Trust  `json:"trust,omitzero"`
	Fallen ken.Status `json:"fallen,omitempty"` // as of ken.Item
	Hash   uint64     `json:"hash"`             // of the item's text; the caller chooses the function
	Stored bool       `json:"stored,omitempty"` // it is a claim of the store, and can be forgotten
	// Text is the item's text, for those whose text is looked for in answers: external
	// ones. "" for others; Block.Text has them all.
	Text string `json:"text,omitempty"`
}

// RetryWindow is the time for which a block stands against another one at the same place.
// A request that begins its turn again within it is a retry, and gets the same block.
// Later, the same words are a new question, and knowledge may have changed.
const RetryWindow = 5 * time.Minute

// Stands reports whether a request that begins its turn anew at a time is still to get the
// block. An empty one is never worth keeping.
//
// The clocks of two processes may differ: a block from far ahead does not stand either.
func (b *Block) Stands(at time.Time) bool {
	return b.Text != "" && at.Sub(b.At).Abs() < RetryWindow
}

// maxBlocks bounds the blocks that are kept of one part of a session: far more turns than
// a model's context holds. Later blocks live in their process's memory alone.
const maxBlocks = 4096

// scannedPlaces is the number of places from which on all blocks of a session are read
// at once, instead of one by one.
const scannedPlaces = 8

// Blocks returns the blocks that are kept of a session at some places, in no particular
// order. Places without one are left out. Errors: those of the shelf, and ErrCorrupt.
func (j *Journal) Blocks(ctx context.Context, id string, places []string) (out []Block, err error) {
	if checkID(id) != nil { // such a session has no journal
		return nil, nil
	}
	err = j.shelf.View(ctx, func(r store.ShelfReader) error {
		out = nil
		read := func(place, key string, b []byte) error {
			block := Block{Place: place}
			if err := decodeValue(key, b, &block); err != nil {
				return err
			}
			out = append(out, block)
			return nil
		}
		if len(places) < scannedPlaces {
			for _, place := range places {
				key := keyBlock(id, place)
				if b := r.Get(key); b != nil {
					if err := read(place, key, b); err != nil {
						return err
					}
				}
			}
			return nil
		}
		wanted := make(map[string]bool, len(places))
		for _, place := range places {
			wanted[place] = true
		}
		for key, b := range r.Scan(allBlocks(id)) {
			if place := key[len(allBlocks(id)):]; wanted[place] {
				if err := read(place, key, b); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// keepBlock keeps the block of a note, unless there is one at its place that still stands:
// that one is the note's standing block then. A block that tells what was forgotten, or whose items
// had to be cleaned, is not kept.
func (p *part) keepBlock(tx store.ShelfTx, rec *record, n *noting, gone *forgotten.Set) (changed bool, err error) {
	b := n.Block
	n.standing = nil
	if b == nil || rec == nil || len(b.Place) > 64 {
		return false, nil
	}
	key := keyBlock(rec.ID, b.Place)
	have := tx.Get(key)
	if have != nil {
		standing := &Block{Place: b.Place}
		if err := decodeValue(key, have, standing); err == nil && (standing.Turn == b.Turn || standing.Stands(b.At)) {
			if standing.Turn != b.Turn {
				n.standing = standing
			}
			return false, nil
		}
	}
	if rec.Blocks >= maxBlocks || n.altered || gone.Says(b.Text) {
		return false, nil
	}
	for i := range b.Items {
		if gone.Has(b.Items[i].ID) {
			return false, nil
		}
	}
	if have == nil {
		rec.Blocks++
	}
	return true, put(tx, key, b)
}

// holdsBlock reports whether a block holds something that must be forgotten.
func (t *Traces) holdsBlock(b *Block) bool {
	for i := range b.Items {
		for _, id := range t.Claims {
			if b.Items[i].ID == id {
				return true
			}
		}
	}
	return b.Text != "" && t.Text(b.Text)
}
