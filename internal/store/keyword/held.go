package keyword

import (
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// Bounds of what is held: a list longer than maxHeldList is read from the engine each
// time, and more than maxHeld postings, 6 MB of them, are never held at once.
const (
	maxHeldList = 1 << 14
	maxHeld     = 1 << 19
)

// held is what searches have read of one snapshot of the engine and the next ones will
// read again: the lists of words that are not very common, and which document is which
// record. To walk a list in memory costs a twentieth of what it costs to open it in
// each segment and to decode it.
//
// A snapshot never changes: every batch, merge and flush makes another one, for which
// another held begins. So nothing in here can be out of date; and it does not keep the
// snapshot, or its files, alive.
type held struct {
	of   weak.Pointer[scorch.IndexSnapshot]
	refs []atomic.Uint32 // by the document's number in the snapshot; the ref plus one, 0 is not known yet

	mu    sync.RWMutex // guards the rest
	lists map[string]*list
	size  int // of lists, in postings
}

// list is a word's documents in one snapshot, by their number in it. It never changes.
type list struct {
	count uint64 // as the engine says it
	docs  []posting
}

type posting struct {
	doc  uint32
	freq uint32
	norm float32 // as the engine has it: a float32
}

// heldOf is what is held of a snapshot; nil when it is none of the engine's usual ones.
func (x *Index) heldOf(r index.IndexReader) *held {
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil
	}
	of := weak.Make(snapshot)
	old := x.held.Load()
	if old != nil && old.of == of {
		return old
	}
	docs := 0
	for _, s := range snapshot.Segments() {
		docs += int(s.FullSize())
	}
	h := &held{of: of, refs: make([]atomic.Uint32, docs), lists: map[string]*list{}}
	x.held.CompareAndSwap(old, h) // one of those that begin together stays
	return h
}

// list is a term's; nil when it is not held. h may be nil.
func (h *held) list(term string) *list {
	if h == nil {
		return nil
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.lists[term]
}

// keep holds a list that was read to its end. When there are too many it starts anew,
// which for words, a few of them in most questions, does as well as keeping an order.
func (h *held) keep(term string, l *list) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lists[term] != nil {
		return
	}
	n := len(l.docs) + 16 // a word that nobody uses takes room too
	if h.size+n > maxHeld {
		clear(h.lists)
		h.size = 0
	}
	h.lists[strings.Clone(term)] = l // the term may be a part of a whole message
	h.size += n
}

// refOf is the ref of a document of the snapshot. h may be nil.
func (h *held) refOf(r index.IndexReader, doc uint64, id index.IndexInternalID) (uint32, error) {
	if h != nil && doc < uint64(len(h.refs)) {
		if ref := h.refs[doc].Load(); ref != 0 {
			return ref - 1, nil
		}
	}
	id.SetValue(doc)
	ref, err := refOf(r, id)
	if err == nil && h != nil && doc < uint64(len(h.refs)) {
		h.refs[doc].Store(ref + 1) // 0, not known, for the very last ref that there can be
	}
	return ref, err
}
