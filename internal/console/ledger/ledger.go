package ledger

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// Defaults of Options.
const (
	DefaultTurns  = 20_000
	DefaultOwners = 8
	DefaultVerify = time.Minute
	DefaultReread = time.Hour
)

// Options configures a ledger; the zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	Turns  int              // kept of an owner, the newest; 0 and less is 20,000
	Owners int              // whose turns are kept, those used last; 0 and less is 8

	// Verify is after how long a Catch looks again for turns that are gone; 0 and less
	// is a minute.
	Verify time.Duration
	// Reread is after how long it reads all receipts again, for what was changed in old
	// ones; 0 and less is an hour.
	Reread time.Duration
}

// Book is what turns are read from. A receipt.Book is one.
type Book interface {
	Get(ctx context.Context, turn string) (receipt.Record, error)
	List(ctx context.Context, q receipt.Query) (records []receipt.Record, next string, err error)
}

// Ledger keeps the turns of some owners. One serves all; it is safe for concurrent
// use. It starts no goroutine.
type Ledger struct {
	o Options

	mu     sync.Mutex // guards what follows
	owners map[string]*owner
	clock  uint64 // counts uses
}

// owner is what is kept of one.
type owner struct {
	used  uint64          // guarded by Ledger.mu
	turn  chan struct{}   // whoever reads receipts has it, and what is in the next line
	asked map[string]bool // sessions of which it is known in this round whether they are there

	mu       sync.RWMutex // guards what follows
	turns    []*Turn      // newest first; nothing is changed once it is here
	whole    time.Time    // when all receipts were read; zero is never
	verified time.Time    // when all sessions had been looked for
}

// New returns a ledger that has read nothing.
func New(o Options) *Ledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Turns <= 0 {
		o.Turns = DefaultTurns
	}
	if o.Owners <= 0 {
		o.Owners = DefaultOwners
	}
	if o.Verify <= 0 {
		o.Verify = DefaultVerify
	}
	if o.Reread <= 0 {
		o.Reread = DefaultReread
	}
	return &Ledger{o: o, owners: map[string]*owner{}}
}

// Drop forgets what is kept of an owner, so that the next Catch reads all receipts
// that there are: for whoever has just erased some.
func (l *Ledger) Drop(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owners, name)
}

// owner returns whose turns they are, in place of those that were used least lately
// if there is no room.
func (l *Ledger) owner(name string) *owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.owners[name]
	if o == nil {
		if len(l.owners) >= l.o.Owners {
			oldest, first := "", true
			for n, other := range l.owners {
				if first || other.used < l.owners[oldest].used {
					oldest, first = n, false
				}
			}
			delete(l.owners, oldest)
		}
		o = &owner{turn: make(chan struct{}, 1)}
		l.owners[name] = o
	}
	l.clock++
	o.used = l.clock
	return o
}

// turns are those of an owner, newest first; not to be changed.
func (l *Ledger) turns(name string) []*Turn {
	l.mu.Lock()
	o := l.owners[name]
	if o != nil {
		l.clock++
		o.used = l.clock
	}
	l.mu.Unlock()
	if o == nil {
		return nil
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.turns
}

// Latest returns the newest turn of an owner and when it was; false while there is
// none.
func (l *Ledger) Latest(owner string) (id string, at time.Time, ok bool) {
	turns := l.turns(owner)
	if len(turns) == 0 {
		return "", time.Time{}, false
	}
	return turns[0].ID, turns[0].At, true
}

// Oldest returns when the oldest turn that is kept of an owner was; false while there
// is none.
func (l *Ledger) Oldest(owner string) (at time.Time, ok bool) {
	turns := l.turns(owner)
	if len(turns) == 0 {
		return time.Time{}, false
	}
	return turns[len(turns)-1].At, true
}

// Match says which turns are meant; an empty field means all.
type Match struct {
	Session, Agent, Project, Model string
	Mode                           ken.Mode

	// Before goes on behind a turn, by its id: none of those that a list has down to it.
	// A turn that is gone has nothing behind it.
	Before string
}

func (m *Match) has(t *Turn) bool {
	return (m.Session == "" || m.Session == t.Session) && (m.Agent == "" || m.Agent == t.Agent) && (m.Project == "" || m.Project == t.Project) &&
		(m.Model == "" || m.Model == t.Model) && (m.Mode == "" || m.Mode == t.Mode)
}

// Turns lists turns since a moment, in the order in which their receipts were kept,
// newest first, and how many more there are. A zero since is the beginning; a limit of
// 0 and less is 50. The list is the caller's.
func (l *Ledger) Turns(owner string, since time.Time, limit int, m Match) (list []Turn, more int) {
	if limit <= 0 {
		limit = receipt.DefaultLimit
	}
	turns := l.turns(owner)
	if m.Before != "" {
		at := slices.IndexFunc(turns, func(t *Turn) bool { return t.ID == m.Before })
		if at < 0 {
			return nil, 0
		}
		turns = turns[at+1:]
	}
	for _, t := range turns {
		switch {
		case t.At.Before(since) || !m.has(t):
		case len(list) < limit:
			list = append(list, *t)
		default:
			more++
		}
	}
	return list, more
}

// ShownIn lists the newest turns that had a claim among their items, and how many had
// it in all. A limit of 0 and less is 50.
func (l *Ledger) ShownIn(owner, claim string, limit int) (list []Turn, total int) {
	id, err := uuid.Parse(claim)
	if err != nil {
		return nil, 0
	}
	if limit <= 0 {
		limit = receipt.DefaultLimit
	}
	for _, t := range l.turns(owner) {
		if !slices.Contains(t.Claims, id) {
			continue
		}
		if total++; len(list) < limit {
			list = append(list, *t)
		}
	}
	return list, total
}
