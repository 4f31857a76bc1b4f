package ledger

import (
	"cmp"
	"context"
	"maps"
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
	Key                            string    // the gateway's key that asked, by its name
	Until                          time.Time // turns before it; zero is no end
	NoBlock                        bool      // turns that were given nothing

	// Before goes on behind a turn, by its id: none of those that a list has down to it.
	// A turn that is gone has nothing behind it.
	Before string
}

func (m *Match) has(t *Turn) bool {
	return (m.Session == "" || m.Session == t.Session) && (m.Agent == "" || m.Agent == t.Agent) && (m.Project == "" || m.Project == t.Project) &&
		(m.Model == "" || m.Model == t.Model) && (m.Mode == "" || m.Mode == t.Mode) && (m.Key == "" || m.Key == t.Key) &&
		(m.Until.IsZero() || t.At.Before(m.Until)) && (!m.NoBlock || t.Chars == 0)
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

// Turn is what is kept of one turn: its receipt in numbers.
type Turn struct {
	ID      string
	At      time.Time
	Session string
	Agent   string
	Project string
	Model   string
	Mode    ken.Mode
	Cause   string // why the mode is not the one configured; "" when it is
	Key     string // the gateway's key that asked, by its name; "" for none
	Policy  string // what decided that the turn gets less than others; "" for nothing
	Through uint64 // the message that the request ended with, as the journal counts; 0 when it has none

	Chars       int // code points of the block
	Tokens      int // of the block
	Items       int
	Cut         int
	CutFor      ken.CutReason // the reason that cut the most, of a turn without items; "" for none
	CachedBytes int64
	NewBytes    int64
	Degraded    int // stages that failed or were left out
	Reused      bool
	Taint       int // tool calls that repeat an external claim
	Helped      int // items that the answer used, and that stood
	Corrected   int // items that the person's next message says are wrong

	TotalMS float64
	Stages  []Stage // the others of the receipt, by name; not to be changed

	// Claims are the ids of its items, in their order, those that are UUIDs; not to be
	// changed.
	Claims []uuid.UUID
}

// Stage is how long a part of a turn took, in milliseconds of wall-clock time.
type Stage struct {
	Name string
	MS   float64
}

// total is the stage of a receipt that holds all others.
const total = "total"

// turn reads one from its receipt. Names that come again share their memory.
func (n *interned) turn(r *receipt.Record) *Turn {
	t := &Turn{ID: r.Turn, At: r.At, Session: n.name(r.Session), Agent: n.name(r.Agent), Project: n.name(r.Project), Model: n.name(r.Model),
		Mode: ken.Mode(n.name(string(r.Mode))), Cause: n.name(r.Cause), Key: n.name(r.Key), Policy: n.name(r.Policy), Through: r.Through, Chars: r.Chars, Tokens: r.Tokens, Items: len(r.Items), Cut: len(r.Cut),
		CachedBytes: r.CachedBytes, NewBytes: r.NewBytes, Degraded: len(r.Degraded), Reused: r.Reused, Taint: len(r.Taint), TotalMS: r.MS[total]}
	for _, name := range slices.Sorted(maps.Keys(r.MS)) {
		if name != total {
			t.Stages = append(t.Stages, Stage{n.name(name), r.MS[name]})
		}
	}
	for _, u := range r.Used {
		if u.Helped() {
			t.Helped++
		}
		if u.Corrected {
			t.Corrected++
		}
	}
	if len(r.Items) == 0 {
		t.CutFor = MostCut(r.Cut)
	}
	for i := range r.Items {
		if id, err := uuid.Parse(r.Items[i].ID); err == nil {
			t.Claims = append(t.Claims, id)
		}
	}
	return t
}

// MostCut is the reason of the most cuts; of several, the one that comes first.
func MostCut(cuts []ken.Cut) (most ken.CutReason) {
	n := map[ken.CutReason]int{}
	for _, c := range cuts {
		n[c.Reason]++
	}
	for _, c := range cuts {
		if n[c.Reason] > n[most] {
			most = c.Reason
		}
	}
	return most
}

// interned keeps one copy of each text.
type interned map[string]string

func (n *interned) name(s string) string {
	if s == "" {
		return ""
	}
	if *n == nil {
		*n = interned{}
	}
	if had, ok := (*n)[s]; ok {
		return had
	}
	(*n)[s] = s
	return s
}

// Agent is who asked for turns.
type Agent struct {
	Name  string
	Turns int
	Last  time.Time // when the newest was
}

// Agents lists who asked for turns, who asked last first. Turns without an agent count
// for nobody.
func (l *Ledger) Agents(owner string) (list []Agent) {
	at := map[string]int{}
	for _, t := range l.turns(owner) {
		if t.Agent == "" {
			continue
		}
		i, ok := at[t.Agent]
		if !ok {
			i = len(list)
			at[t.Agent] = i
			list = append(list, Agent{Name: t.Agent})
		}
		a := &list[i]
		if a.Turns++; t.At.After(a.Last) {
			a.Last = t.At
		}
	}
	slices.SortFunc(list, func(a, b Agent) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name)) })
	return list
}
