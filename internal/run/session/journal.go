package session

import (
	"container/list"
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Options configures a journal; the zero value works.
type Options struct {
	// Process names this process, so that another can tell that the sessions it
	// left behind have no one any more: a nonce, made anew at each start. Empty
	// means that no session is ever taken for left behind.
	Process string
	// Alive reports whether another process that keeps sessions on this shelf lives.
	// It is asked within transactions, and must not take long. Nil: this process is
	// the only one that lives.
	Alive func(process string) bool
	Now   func() time.Time // default time.Now

	// MaxMessageBytes bounds the text of an entry, and the arguments of each of its
	// tool calls; of a longer one the beginning and the end are kept. 0 and less mean
	// 16,384, and 256 is the least.
	MaxMessageBytes int

	// Annotate is called for each new entry before it is kept, outside of any
	// transaction, and may set e.Files; other changes to e are ignored. For a tool's
	// message, call is the one that it answers, as the journal keeps it; nil
	// otherwise, and when the journal has no such call. A panic costs the annotation,
	// not the entry. Nil annotates nothing.
	Annotate func(ctx context.Context, e *Entry, call *ken.ToolCall)

	Log *slog.Logger // default: nothing is logged
}

// Bounds of a message, in bytes.
const (
	defaultMessageBytes = 16 << 10
	minMessageBytes     = 256
)

// Bounds of what is remembered beside the shelf: sessions, and messages of them all,
// at some hundred bytes each. A session that was forgotten is read again.
const (
	maxMemos      = 1024
	maxRemembered = 256 << 10
)

// Journal keeps one owner's sessions on a shelf. It is safe for concurrent use;
// calls about one session wait for each other, those about different ones do not.
// Several journals on one shelf, as several processes have, do no harm.
type Journal struct {
	shelf store.Shelf
	o     Options
	seed  maphash.Seed
	texts texts // of injections

	mu     sync.Mutex // guards the rest
	memos  map[string]*list.Element
	used   *list.List // of *memo, the last used first
	held   int        // messages that they remember
	pruned time.Time  // when openings were looked through last
}

// NewJournal returns the journal on a shelf. It reads nothing.
func NewJournal(shelf store.Shelf, o Options) *Journal {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = defaultMessageBytes
	}
	o.MaxMessageBytes = max(o.MaxMessageBytes, minMessageBytes)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Journal{shelf: shelf, o: o, seed: maphash.MakeSeed(), texts: texts{seed: maphash.MakeSeed()}, memos: map[string]*list.Element{}, used: list.New()}
}

// now is the time without what can't be kept.
func (j *Journal) now() time.Time { return j.o.Now().Round(0).UTC() }

// memo returns what is remembered of a session, empty when it is nothing.
func (j *Journal) memo(id string) *memo {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[id]; ok {
		j.used.MoveToFront(el)
		return el.Value.(*memo)
	}
	m := newMemo(id, j.seed)
	j.memos[id] = j.used.PushFront(m)
	j.evict()
	return m
}

// evict forgets what was used least recently while there is too much. Whoever is at
// it goes on with what it has; should somebody else start anew meanwhile, the stamps
// tell one of the two to look again.
func (j *Journal) evict() {
	for j.used.Len() > maxMemos || j.held > maxRemembered && j.used.Len() > 1 {
		m := j.used.Remove(j.used.Back()).(*memo)
		delete(j.memos, m.id)
		j.held -= m.weight
	}
}

// weigh counts what is remembered of a session. The caller has just released it.
func (j *Journal) weigh(m *memo) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[m.id]; ok && el.Value.(*memo) == m {
		w := int(m.size.Load())
		j.held += w - m.weight
		m.weight = w
		j.evict()
	}
}

// drop forgets what is remembered of a session.
func (j *Journal) drop(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if el, ok := j.memos[id]; ok {
		j.used.Remove(el)
		delete(j.memos, id)
		j.held -= el.Value.(*memo).weight
	}
}
