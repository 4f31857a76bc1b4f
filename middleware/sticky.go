package middleware

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/kenlayer/ken"
)

// fingerprint names a conversation up to and including one message. Two
// requests that begin with the same messages have the same prints that far.
type fingerprint [16]byte

// seed is what a fingerprint starts from: whose conversation it is, and what it
// may see, so that a block never comes up where its items may not be seen.
func seed(t *ken.Turn) string {
	s := t.Owner + "\x00" + t.Session + "\x00" + t.Weight.String()
	if t.Scopes != nil { // nil sees every scope, an empty list none
		s += "\x00"
	}
	for _, scope := range t.Scopes {
		s += "\x00" + scope.String()
	}
	return s
}

// prints returns the fingerprint after each message, and each message's size in
// bytes as far as the layer sees it.
func prints(seed string, msgs []ken.Message) ([]fingerprint, []int64) {
	out := make([]fingerprint, len(msgs))
	sizes := make([]int64, len(msgs))
	h := sha256.New()
	prev := sha256.Sum256([]byte(seed))
	for i := range msgs {
		h.Reset()
		h.Write(prev[:])
		sizes[i] = digest(h, &msgs[i])
		h.Sum(prev[:0])
		copy(out[i][:], prev[:])
	}
	return out, sizes
}

// digestPart is how much of a long text is fed at once, in bytes.
const digestPart = 32 << 10

// digest feeds a message to h, each field led by its length, so that no two
// messages feed the same bytes.
func digest(h hash.Hash, m *ken.Message) (n int64) {
	var size [8]byte
	var part []byte
	field := func(s string) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		n += int64(len(s))
		if len(s) > digestPart { // a copy of it all would be another request's worth of memory
			if part == nil {
				part = make([]byte, digestPart)
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
		// The same said otherwise: clients turn a string into a part to mark it for the
		// provider's cache, and back when the mark moves on.
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

// composed is what the layer decided for one turn: a block, or that there is
// none. It is never changed.
type composed struct {
	text    string
	held    map[string]string // id → text, of the items in it
	claims  []string          // ids of the items that can be forgotten
	receipt ken.Receipt
	seq     uint64 // the store's last event at that time

	incognito bool // by a turn that leaves nothing behind

	retrieved, memory int // what the retriever found, recent sessions apart; of it pinned and playbooks
}

// memory remembers what was composed, by the fingerprint of the conversation up
// to and including the turn's user message. When a client drops or changes
// messages before a block, the fingerprint no longer comes up, and the block
// goes with them. The least recently used turns are forgotten.
type memory struct {
	limit int

	mu   sync.Mutex // guards the rest
	at   map[fingerprint]*list.Element
	used *list.List // of remembered
}

type remembered struct {
	key fingerprint
	c   *composed
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, at: map[fingerprint]*list.Element{}, used: list.New()}
}

func (m *memory) get(p fingerprint) *composed {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, ok := m.at[p]
	if !ok {
		return nil
	}
	m.used.MoveToFront(el)
	return el.Value.(remembered).c
}

// drop forgets every turn of which gone says so, and returns how many there were.
func (m *memory) drop(gone func(*composed) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, el := range m.at {
		if gone(el.Value.(remembered).c) {
			m.used.Remove(el)
			delete(m.at, p)
			n++
		}
	}
	return n
}

// count is how many turns it remembers of which has says so.
func (m *memory) count(has func(*composed) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, el := range m.at {
		if has(el.Value.(remembered).c) {
			n++
		}
	}
	return n
}

// put remembers c in place of stale, which may be nil. When another request of
// the same turn was faster, that one's block counts, and is returned.
func (m *memory) put(p fingerprint, c, stale *composed) *composed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if el, ok := m.at[p]; ok {
		if have := el.Value.(remembered).c; have != stale {
			return have
		}
		m.used.Remove(el)
	}
	m.at[p] = m.used.PushFront(remembered{p, c})
	if m.used.Len() > m.limit {
		last := m.used.Back()
		m.used.Remove(last)
		delete(m.at, last.Value.(remembered).key)
	}
	return c
}
