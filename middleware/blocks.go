package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/session"
)

// turnDecision is the layer's decision for one turn: a block or no block. It is immutable.
type turnDecision struct {
	text       string
	itemHashes map[string]uint64   // by item id, hashOf of the item's text in the block
	ownClaims  []string            // ids of the items that can be forgotten in the turn owner's store
	shared     map[string][]string // the same for items of other owners, by owner
	receipt    ken.Receipt         // of a restored block it has only the fields of session.Block
	lastEvent  uint64              // the store's last event when the block was composed

	storedAt  place // the block's place; zero if later requests don't carry it
	restored  bool  // read from the store
	incognito bool  // the turn is incognito

	retrievedCount, memoryCount int // number of records that the retriever found, without recent sessions; memoryCount counts the pinned ones and playbooks among them
}

// placedBlock is a block at its place in a conversation: before, or in, the message at index.
type placedBlock struct {
	index int
	*turnDecision
}

// hashOf returns the FNV-1a hash of an item's text, which is the same in every process. Package
// hash/fnv would need a copy of the text.
func hashOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// place is the position of a block: in a session, after the messages that the fingerprint
// identifies.
type place struct {
	session string
	at      fingerprint
}

// blockCache keeps blocks in memory by their places. If a client drops or changes messages before a
// block, no later request has the fingerprint of the block's place, so the block is not sent again.
// When the cache is full, the least recently used blocks are dropped. The store still has the
// blocks of journaled sessions.
type blockCache struct {
	limit      int // number of blocks
	limitBytes int // their size in bytes, by turnDecision.size

	mu     sync.Mutex // guards the rest
	blocks lru.List[place, *turnDecision]
	bytes  int

	// absent and absentOlder hold places at which the store has no block. When absent is full, it
	// replaces absentOlder.
	absent, absentOlder map[place]bool
}

// maxAbsent is the maximum length of absent and of absentOlder.
const maxAbsent = 1 << 15

func (b *blockCache) get(p place) *turnDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, _ := b.blocks.Get(p)
	return d
}

// isKnown reports whether the cache knows the block of a place, or that the store has none there.
func (b *blockCache) isKnown(p place) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, there := b.blocks.Peek(p)
	return there || b.absent[p] || b.absentOlder[p]
}

// markAbsent records that the store has no block at a place.
func (b *blockCache) markAbsent(p place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.absent == nil || len(b.absent) >= maxAbsent {
		b.absent, b.absentOlder = map[place]bool{}, b.absent
	}
	b.absent[p] = true
}

// drop removes the blocks for which gone returns true.
func (b *blockCache) drop(gone func(*turnDecision) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, d := range b.blocks.All() {
		if gone(d) {
			b.blocks.Take(p)
			b.bytes -= d.size()
		}
	}
}

func (b *blockCache) count(has func(*turnDecision) bool) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.blocks.All() {
		if has(d) {
			n++
		}
	}
	return n
}

// put stores c at a place and replaces stale, which may be nil. If another request of the turn
// stored its block first, put keeps and returns that block.
func (b *blockCache) put(p place, c, stale *turnDecision) *turnDecision {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have, ok := b.blocks.Peek(p); ok && have != stale {
		return have
	}
	delete(b.absent, p)
	delete(b.absentOlder, p)
	if _, replaced := b.blocks.Put(p, c); replaced {
		b.bytes -= stale.size()
	}
	b.bytes += c.size()
	for b.blocks.Len() > 1 && (b.blocks.Len() > b.limit || b.bytes > b.limitBytes) {
		_, oldest := b.blocks.TakeOldest()
		b.bytes -= oldest.size()
	}
	return c
}

// Approximate sizes in bytes, without texts, as measured with a memory profile: of a decision, an
// item, a candidate, an entry of a map, and a Cut of the receipt.
const (
	decisionBytes  = 2048
	itemBytes      = 800
	candidateBytes = 240
	entryBytes     = 48
	cutBytes       = 112
)

// size returns the approximate bytes that the decision keeps in memory. The result never changes.
func (d *turnDecision) size() int {
	r := &d.receipt
	n := decisionBytes + len(d.text) + len(r.Signals.Question) + len(r.Signals.Subject) + cutBytes*len(r.Cut) + entryBytes*(len(d.itemHashes)+len(r.MS))
	for i := range r.Items {
		it := &r.Items[i]
		n += itemBytes + len(it.Text) + entryBytes*(len(it.Legs)+len(it.Signals))
	}
	if r.Ranking != nil {
		n += candidateBytes * len(r.Ranking.Candidates)
	}
	return n
}

// placesOf returns the places at which a turn's block may be stored. One is in the turn's session.
// The other is in the session without its number: a conversation gets its number only with its
// first answer, if another conversation has the same beginning.
func placesOf(session string, at fingerprint) []place {
	if i := strings.LastIndexByte(session, '.'); i > 0 && wire.Guessed(session[:i]) {
		return []place{{session, at}, {session[:i], at}}
	}
	return []place{{session, at}}
}

// cachedBlock returns the block in memory at a fingerprint of a session; nil for none.
func (l *Layer) cachedBlock(session string, at fingerprint) *turnDecision {
	for _, p := range placesOf(session, at) {
		if c := l.blocks.get(p); c != nil {
			return c
		}
	}
	return nil
}

// findBlockInMemory is findBlock without reading the store.
func (l *Layer) findBlockInMemory(_ context.Context, t *ken.Turn, at fingerprint) *turnDecision {
	return l.cachedBlock(t.Session, at)
}

// restoreBlocks loads the conversation's earlier blocks that are not in memory. Earlier processes
// composed them, or other processes that serve the same conversation. After an error the
// conversation continues without them.
func (l *Layer) restoreBlocks(ctx context.Context, c *modelCall) error {
	t := c.turn
	if !l.cfg.Injection.Sticky || !l.usesSession(t) {
		return nil
	}
	unknown := map[string][]fingerprint{} // by session
	for i := c.up.firstSent; i <= c.last; i++ {
		if t.Messages[i].Role != "user" {
			continue
		}
		for _, p := range placesOf(t.Session, c.at.dialogue[i]) {
			if !l.blocks.isKnown(p) {
				unknown[p.session] = append(unknown[p.session], p.at)
			}
		}
	}
	for id, prints := range unknown {
		names := make([]string, len(prints))
		for i, at := range prints {
			names[i] = at.String()
		}
		blocks, err := l.Operator().Journal(t.Owner).Blocks(ctx, id, names)
		if err != nil {
			return err
		}
		found := make(map[string]*session.Block, len(blocks))
		for i := range blocks {
			found[blocks[i].Place] = &blocks[i]
		}
		for i, at := range prints {
			p := place{id, at}
			if b := found[names[i]]; b != nil {
				l.blocks.put(p, l.restoredDecision(t.Owner, id, b), nil)
			} else {
				l.blocks.markAbsent(p)
			}
		}
	}
	return nil
}

// restoredDecision returns the decision for a block that was read from the store.
func (l *Layer) restoredDecision(owner, id string, b *session.Block) *turnDecision {
	r := l.emptyReceipt(&ken.Turn{ID: b.Turn, Owner: owner, Session: id}, "")
	r.At, r.Block, r.Chars, r.Mode = b.At, b.Text, utf8.RuneCountInString(b.Text), b.Mode
	c := &turnDecision{text: b.Text, lastEvent: b.Event, restored: true, itemHashes: make(map[string]uint64, len(b.Items))}
	for i := range b.Items {
		in := &b.Items[i]
		it := ken.Item{ID: in.ID, Owner: in.Owner, Kind: in.Kind, Trust: in.Trust, NewStatus: in.NewStatus, Text: in.Text}
		c.itemHashes[in.ID] = in.Hash
		if in.Stored {
			c.addForgettable(it.Owner, it.ID)
		}
		r.Items = append(r.Items, it)
	}
	c.receipt = r
	return c
}

// addForgettable records that an item can be forgotten in the store of owner. "" means the turn's
// owner.
func (c *turnDecision) addForgettable(owner, id string) {
	if owner == "" {
		c.ownClaims = append(c.ownClaims, id)
		return
	}
	if c.shared == nil {
		c.shared = map[string][]string{}
	}
	c.shared[owner] = append(c.shared[owner], id)
}

func (c *turnDecision) canForget(it *ken.Item) bool {
	if it.Owner == "" {
		return slices.Contains(c.ownClaims, it.ID)
	}
	return slices.Contains(c.shared[it.Owner], it.ID)
}

// storedBlock returns the block in the form that the store keeps; nil if it is not to be stored.
func (c *turnDecision) storedBlock() *session.Block {
	if c.storedAt == (place{}) || c.incognito || c.restored || c.receipt.Reused {
		return nil
	}
	b := &session.Block{Place: c.storedAt.at.String(), Turn: c.receipt.Turn, At: c.receipt.At, Text: c.text, Event: c.lastEvent, Mode: c.receipt.Mode}
	for i := range c.receipt.Items {
		it := &c.receipt.Items[i]
		in := session.BlockItem{ID: it.ID, Owner: it.Owner, Kind: it.Kind, Trust: it.Trust, NewStatus: it.NewStatus, Hash: c.itemHashes[it.ID], Stored: c.canForget(it)}
		if isExternal(it) {
			in.Text = it.Text
		}
		b.Items = append(b.Items, in)
	}
	return b
}

// isReusable reports whether a repeated first request of the turn may get this block.
func (c *turnDecision) isReusable(now time.Time) bool {
	b := session.Block{At: c.receipt.At, Text: c.text}
	return b.Stands(now)
}

// adoptBlock replaces this process's block by the one that another process stored first.
func (l *Layer) adoptBlock(owner, id string, mine *turnDecision, standing *session.Block) {
	l.blocks.put(mine.storedAt, l.restoredDecision(owner, id, standing), mine)
}

// fingerprint identifies a conversation up to and including one message. Requests that begin with
// the same messages have the same fingerprints for these messages.
type fingerprint [16]byte

func (f fingerprint) String() string { return hex.EncodeToString(f[:]) }

// fingerprints are the fingerprints of a conversation after each of its messages.
type fingerprints struct {
	full []fingerprint // of all messages
	// dialogue leaves out instructions: clients write the time, the branch or the open files into
	// them, which change while the dialogue does not.
	dialogue []fingerprint
	sizes    []int64 // of each message, in bytes, as far as the layer reads it
}

// visibility returns the limits of what a turn may see, as text. Each fingerprint includes them, so
// that a block is never sent in a turn that may not see its items.
func visibility(t *ken.Turn) string {
	s := t.Owner + "\x00" + t.Weight.String()
	if t.Scopes != nil { // nil sees every scope, an empty list none
		s += "\x00"
	}
	for _, scope := range t.Scopes {
		s += "\x00" + scope.String()
	}
	return s
}

// fingerprintsOf returns the fingerprints of a turn's messages. It reads each message once.
func fingerprintsOf(t *ken.Turn) fingerprints {
	n := len(t.Messages)
	both := make([]fingerprint, 2*n)
	p := fingerprints{full: both[:n:n], dialogue: both[n:], sizes: make([]int64, n)}
	of, chain := sha256.New(), sha256.New()
	whole := sha256.Sum256([]byte(visibility(t)))
	said := whole
	var sum [sha256.Size]byte
	add := func(to *[sha256.Size]byte) {
		chain.Reset()
		chain.Write(to[:])
		chain.Write(sum[:])
		chain.Sum(to[:0])
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		of.Reset()
		p.sizes[i] = hashMessage(of, m)
		of.Sum(sum[:0])
		add(&whole)
		if m.Role != "system" && m.Role != "developer" {
			add(&said)
		}
		copy(p.full[i][:], whole[:])
		copy(p.dialogue[i][:], said[:])
	}
	if t.Session == "" { // without a session, only the instructions distinguish two programs
		p.dialogue = p.full
	}
	return p
}

// hashChunk is the maximum number of bytes that are hashed at once.
const hashChunk = 32 << 10

// hashMessage writes a message to h and returns its size. It writes the length before each field,
// so that different messages never write the same bytes.
func hashMessage(h hash.Hash, m *ken.Message) (n int64) {
	var size [8]byte
	var part []byte
	field := func(s string) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		n += int64(len(s))
		if len(s) > hashChunk { // copying it at once would double the memory of a long request
			if part == nil {
				part = make([]byte, hashChunk)
			}
			for len(s) > len(part) {
				h.Write(part[:copy(part, s)])
				s = s[len(part):]
			}
		}
		h.Write([]byte(s))
	}
	field(m.Role)
	field(m.Name)
	field(m.ToolCallID)
	switch {
	case len(m.Parts) == 0:
		field(m.Text)
	case len(m.Parts) == 1 && m.Parts[0].Type == "text":
		// Clients turn a string into a part to mark it for the provider's cache, and back when the
		// mark moves to a later message. Both forms must have the same fingerprint.
		field(m.Parts[0].Text)
	default:
		for _, p := range m.Parts {
			field(p.Type)
			field(p.Text)
			field(p.Ref)
		}
	}
	for _, c := range m.ToolCalls {
		field(c.ID)
		field(c.Name)
		field(c.Arguments)
	}
	return n
}
