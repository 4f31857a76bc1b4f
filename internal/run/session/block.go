package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Block is a block that the layer injected at one place of a conversation. It is stored so
// that every process sends the same bytes at that place, also after a restart.
type Block struct {
	// Place identifies the place: at most 64 letters and digits, such as the hex of a
	// fingerprint of the messages before it.
	Place string    `json:"-"`
	Turn  string    `json:"turn"` // the id of the turn that it was composed for
	At    time.Time `json:"at"`
	// Text is the block, byte for byte; "" for a turn without a block.
	Text  string      `json:"text,omitempty"`
	Items []BlockItem `json:"items,omitempty"`
	Event uint64      `json:"event,omitempty"` // the store's last event when it was composed
	Mode  ken.Mode    `json:"mode"`            // of the turn's retrieval
}

// BlockItem is one item of a Block.
type BlockItem struct {
	Owner     string     `json:"owner,omitempty"` // who shares it; "" is the session's own owner
	ID        string     `json:"id"`
	Kind      ken.Kind   `json:"kind"`
	Trust     ken.Trust  `json:"trust,omitzero"`
	NewStatus ken.Status `json:"fallen,omitempty"` // see ken.Item
	Hash      uint64     `json:"hash"`             // hash of the item's text; the caller chooses the function
	Stored    bool       `json:"stored,omitempty"` // it is a claim of the store, and can be forgotten
	// Text is the item's text if answers are searched for it, which is so for external
	// items. "" for others; Block.Text has the text of all.
	Text string `json:"text,omitempty"`
}

// keptBlock is the stored form of a Block, with the positions of its injections.
type keptBlock struct {
	Block
	// Spans has a span in Text for each item: the item's words, which need not be stored a
	// second time as an Injection. A span is empty for an item without one. Spans is nil if
	// the injections are stored separately, as older versions do.
	Spans []span `json:"told,omitempty"`
}

// span is a part of a text: its start and its length, in bytes.
type span [2]int

// injections returns the injections that the block contains.
func (b *keptBlock) injections() (out []Injection) {
	for i, s := range b.Spans {
		if i < len(b.Items) && s[0] >= 0 && s[1] > 0 && s[1] <= len(b.Text)-s[0] {
			out = append(out, Injection{ID: b.Items[i].ID, Kind: b.Items[i].Kind, Text: b.Text[s[0] : s[0]+s[1]], At: b.At})
		}
	}
	return out
}

// locate sets Spans to where the block contains the injections, and returns the injections that
// it does not contain.
func (b *keptBlock) locate(injected []Injection) (rest []Injection) {
	if !utf8.ValidString(b.Text) { // JSON changes invalid UTF-8, and with it the positions
		return injected
	}
	b.Spans = make([]span, len(b.Items))
	from := 0 // mostly, they are in the order of the items
	for _, in := range injected {
		i := slices.IndexFunc(b.Items, func(it BlockItem) bool { return it.ID == in.ID && it.Kind == in.Kind })
		at := -1
		if i >= 0 && b.Spans[i] == (span{}) {
			if at = strings.Index(b.Text[from:], in.Text); at >= 0 {
				at += from
			} else {
				at = strings.Index(b.Text, in.Text)
			}
		}
		if at < 0 {
			rest = append(rest, in)
			continue
		}
		b.Spans[i] = span{at, len(in.Text)}
		from = at + len(in.Text)
	}
	return rest
}

// retryWindow is how long a block is reused at its place. A request that repeats its turn
// within this time is a retry, and gets the same block. Later, the same words are a new
// question, and knowledge may have changed.
const retryWindow = 5 * time.Minute

// Stands reports whether a request that begins its turn again at this time gets the block.
// It is false for an empty block.
//
// The clocks of two processes may differ, so it is also false for a block from far in the
// future.
func (b *Block) Stands(at time.Time) bool {
	return b.Text != "" && at.Sub(b.At).Abs() < retryWindow
}

// maxBlocks is the largest number of blocks stored for one part of a session: far more turns
// than a model's context holds. Later blocks stay in the memory of their process.
const maxBlocks = 4096

// scannedPlaces is the number of places from which Blocks scans all blocks of the session
// instead of reading them one by one.
const scannedPlaces = 8

// Blocks returns the blocks of a session that are stored for these places, in no particular
// order. Places without a block are left out. Errors: those of the shelf, and ErrCorrupt.
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
		for key, b := range r.Scan(allBlocks(id)) {
			if place := key[len(allBlocks(id)):]; slices.Contains(places, place) {
				if err := read(place, key, b); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// keepBlock stores the block of a note. If another turn's block is stored at its place and
// still stands, it becomes n.standing instead. A block is not stored if it contains
// forgotten knowledge or if its items had to be cleaned. rest are the injections of the note
// that must be stored separately.
func (p *recordPart) keepBlock(tx store.ShelfTx, rec *record, n *pendingNote, gone *forgotten.Set) (kept bool, rest []Injection, err error) {
	b := n.Block
	n.standing = nil
	if b == nil || rec == nil || len(b.Place) > 64 {
		return false, n.injected, nil
	}
	key := keyBlock(rec.ID, b.Place)
	before, err := get[keptBlock](tx, key)
	switch {
	case err != nil: // it is replaced
		before = &keptBlock{}
	case before != nil && before.Turn == b.Turn:
		return false, n.injected, nil
	case before != nil && before.Stands(b.At):
		before.Place = b.Place
		n.standing = &before.Block
		return false, n.injected, nil
	}
	if rec.Blocks >= maxBlocks || n.altered || gone.Says(b.Text) || slices.ContainsFunc(b.Items, func(it BlockItem) bool { return gone.Has(it.ID) }) {
		return false, n.injected, nil
	}
	if before == nil {
		rec.Blocks++
	} else if err := keepInjections(tx, rec.ID, before.injections(), gone); err != nil { // the model has seen them
		return false, nil, err
	}
	k := keptBlock{Block: *b}
	rest = k.locate(n.injected)
	return true, rest, put(tx, key, &k)
}

// keepInjections stores the injections that no block of the session contains, each id and
// text once.
func keepInjections(tx store.ShelfTx, id string, injected []Injection, gone *forgotten.Set) error {
	for i := range injected {
		in := &injected[i]
		if gone.Has(in.ID) || gone.Says(in.Text) {
			continue
		}
		if key := keyInjected(id, in); tx.Get(key) == nil {
			if err := put(tx, key, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchesInjection reports whether an injection must be forgotten.
func (t *Traces) matchesInjection(in Injection) bool {
	return slices.Contains(t.Claims, in.ID) || t.Text(in.Text)
}

// matchesBlock reports whether a block holds something that must be forgotten.
func (t *Traces) matchesBlock(b *keptBlock) bool {
	return slices.ContainsFunc(b.Items, func(it BlockItem) bool { return slices.Contains(t.Claims, it.ID) }) ||
		b.Text != "" && t.Text(b.Text) || slices.ContainsFunc(b.injections(), t.matchesInjection)
}

// Opening tells conversations apart that begin with the same words, when only those words
// identify the session. Each conversation has a number: 0 for the first, whose session has
// the plain id. Later requests of a conversation are recognised by the model's first answer.
// It is not safe for concurrent use.
type Opening struct {
	At      time.Time         `json:"at"`      // the last change
	Last    int               `json:"last"`    // the highest number in use
	Replies map[string]*Reply `json:"replies"` // keyed by the fingerprints of the first answer
	// Answered says that conversation number Last was answered, so that the next one to
	// begin is a new one.
	Answered bool `json:"answered"`
}

// First holds two fingerprints of the model's first answer in a conversation.
type First struct {
	Exact string // of the whole answer; "" for an answer that can't be read
	Loose string // without what some clients change, such as the ids of calls
}

// Reply records a conversation that was answered.
type Reply struct {
	N int `json:"n"` // its number
	// On says that a request continued the conversation with this answer. Until then, its
	// client may still send the answer back in changed words.
	On bool `json:"on,omitempty"`
}

// maxReplies is the largest number of fingerprints kept for one Opening.
const maxReplies = 512

// Begin returns the number of a conversation that begins. A conversation that begins again
// before it was answered keeps its number.
func (o *Opening) Begin() int {
	if o.Answered {
		o.Last++
		o.Answered = false
	}
	return o.Last
}

// Answer records the first answer of conversation number n; "" is an answer that can't be
// read. It returns the conversation's number from now on. That is a new number if n was
// answered differently before.
func (o *Opening) Answer(n int, first First) int {
	o.Last, o.Answered = max(o.Last, n), true
	if first.Exact == "" {
		return n
	}
	if known := o.Replies[first.Exact]; known != nil {
		return known.N
	}
	return o.add(first, n)
}

// Continue returns the number of a conversation that continues after this first answer. Some
// clients shorten an answer, or leave its reasoning out. So an unknown answer is attributed
// to the conversation that was answered last and has not continued yet.
func (o *Opening) Continue(first First) int {
	n := -1
	if r := cmp.Or(o.Replies[first.Exact], o.Replies[first.Loose]); r != nil {
		n = r.N
	} else {
		for _, other := range o.Replies {
			if !other.On {
				n = max(n, other.N)
			}
		}
	}
	if n < 0 {
		n = o.add(first, o.Last)
	}
	o.GoOn(n, first)
	return n
}

// GoOn records that conversation number n continued after the answer.
func (o *Opening) GoOn(n int, first First) {
	o.Last, o.Answered = max(o.Last, n), true
	if o.Replies[first.Exact] == nil {
		o.keep(first, n)
	}
	for _, r := range o.Replies {
		r.On = r.On || r.N == n
	}
}

// Knows reports whether a conversation with this first answer has continued.
func (o *Opening) Knows(first First) bool {
	r := o.Replies[first.Exact]
	return r != nil && r.On
}

// Merge adds what another process stored: replies that are unknown here, and higher numbers.
// Where both know a reply, the stored number wins.
func (o *Opening) Merge(kept *Opening) {
	if kept.Last > o.Last || kept.Last == o.Last && kept.Answered {
		o.Last, o.Answered = kept.Last, kept.Answered
	}
	for first, r := range kept.Replies {
		if mine := o.Replies[first]; mine != nil {
			mine.N, mine.On = r.N, mine.On || r.On
		} else if len(o.Replies) < maxReplies {
			o.keep(First{Exact: first}, r.N)
			o.Replies[first].On = r.On
		}
	}
}

// add records a conversation by its first answer. Its number is n, or a new one if another
// conversation has n. It returns the number.
func (o *Opening) add(first First, n int) int {
	for _, other := range o.Replies {
		if other.N == n {
			o.Last++
			n = o.Last
			break
		}
	}
	o.keep(first, n)
	return n
}

func (o *Opening) keep(first First, n int) {
	if o.Replies == nil || len(o.Replies) >= maxReplies {
		o.Replies = map[string]*Reply{}
	}
	o.Replies[first.Exact] = &Reply{N: n}
	if first.Loose != "" && o.Replies[first.Loose] == nil { // the first conversation keeps a shared loose fingerprint
		o.Replies[first.Loose] = &Reply{N: n}
	}
}

// Opening returns the stored Opening of the conversations that begin alike, by the session
// id of the first of them. It is empty if nothing is stored. Errors: those of the shelf.
func (j *Journal) Opening(ctx context.Context, id string) (o Opening, err error) {
	err = j.shelf.View(ctx, func(r store.ShelfReader) error {
		o = openingOf(r, id)
		return nil
	})
	return o, err
}

// openingOf reads an Opening. If it can't be read, it returns an empty one: only the
// distinction of equal beginnings is lost.
func openingOf(r store.ShelfReader, id string) Opening {
	if o, err := get[Opening](r, keyOpening(id)); o != nil && err == nil {
		return *o
	}
	return Opening{}
}

// ChangeOpening applies a change to an opening, within the caller's transaction.
func (j *Journal) ChangeOpening(tx store.ShelfTx, id string, change func(*Opening)) error {
	if err := checkID(id); err != nil {
		return err
	}
	o := openingOf(tx, id)
	change(&o)
	o.At = j.now()
	return put(tx, keyOpening(id), &o)
}

// response stores the session that a response belongs to.
type response struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
}

func keyOfResponse(id string) string { return prefixResponse + hexOf(id)[len("sha256:"):] }

// KeepResponse stores, within the caller's transaction, which session a response belongs to,
// so that a request that names only the response continues that session.
func (j *Journal) KeepResponse(tx store.ShelfTx, id, session string) error {
	if err := checkID(session); err != nil {
		return err
	}
	return put(tx, keyOfResponse(id), response{session, j.now()})
}

// SessionOfResponse returns the session that a response belongs to, or "" if it is unknown.
// Errors: those of the shelf.
func (j *Journal) SessionOfResponse(ctx context.Context, id string) (session string, err error) {
	err = j.shelf.View(ctx, func(r store.ShelfReader) error {
		session = ""
		if kept, err := get[response](r, keyOfResponse(id)); kept != nil && err == nil {
			session = kept.Session
		}
		return nil
	})
	return session, err
}

// pruneOpenings deletes the openings and responses that were not used since before.
func (j *Journal) pruneOpenings(ctx context.Context, before time.Time) error {
	var old []string
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		old = nil
		for _, prefix := range []string{prefixOpening, prefixResponse} {
			for key, b := range r.Scan(prefix) {
				var kept struct{ At time.Time }
				if json.Unmarshal(b, &kept) != nil || kept.At.Before(before) {
					old = append(old, key)
				}
			}
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return err
	}
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error { return deleteAll(tx, old...) })
}
