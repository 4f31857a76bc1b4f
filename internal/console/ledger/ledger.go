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
	"github.com/kenlayer/ken/internal/lru"
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
	Turns  int              // number of newest turns kept of an owner; 0 or less means 20,000
	Owners int              // number of owners whose turns are kept, most recently used first; 0 or less means 8

	// Verify is how often a Catch checks for deleted turns; 0 or less means a minute.
	Verify time.Duration
	// Reread is how often it reads all receipts again, for changes of old ones; 0 or
	// less means an hour.
	Reread time.Duration
}

// Book is the source of receipts. receipt.Book implements it.
type Book interface {
	Get(ctx context.Context, turn string) (receipt.Record, error)
	List(ctx context.Context, q receipt.Query) (records []receipt.Record, next string, err error)
}

// Ledger holds the turns of some owners. It is safe for concurrent use. It starts no
// goroutine and needs no closing.
type Ledger struct {
	o Options

	mu     sync.Mutex // guards the fields below
	owners lru.List[string, *owner]
}

type owner struct {
	turn  chan struct{}   // a lock: whoever reads receipts holds its token; it guards asked
	asked map[string]bool // sessions already checked in this round

	mu       sync.RWMutex // guards the fields below
	turns    []*Turn      // newest first; not modified
	whole    time.Time    // when all receipts were last read; zero means never
	verified time.Time    // when all sessions were last checked
}

// New returns an empty ledger.
func New(o Options) *Ledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Turns = cmp.Or(max(o.Turns, 0), DefaultTurns)
	o.Owners = cmp.Or(max(o.Owners, 0), DefaultOwners)
	o.Verify = cmp.Or(max(o.Verify, 0), DefaultVerify)
	o.Reread = cmp.Or(max(o.Reread, 0), DefaultReread)
	return &Ledger{o: o}
}

// Drop removes an owner's turns, so that the next Catch reads all receipts. Call it
// after erasing receipts.
func (l *Ledger) Drop(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners.Take(name)
}

// owner returns the turns of an owner. If there is no room, it replaces those of the
// least recently used owner.
func (l *Ledger) owner(name string) *owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.owners.Get(name)
	if !ok {
		if l.owners.Len() >= l.o.Owners {
			l.owners.TakeOldest()
		}
		o = &owner{turn: make(chan struct{}, 1)}
		l.owners.Put(name, o)
	}
	return o
}

// turns returns the turns of an owner, newest first. The caller must not modify them.
func (l *Ledger) turns(name string) []*Turn {
	l.mu.Lock()
	o, ok := l.owners.Get(name)
	l.mu.Unlock()
	if !ok {
		return nil
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.turns
}

// Latest returns the id and the time of an owner's newest turn; false if there is none.
func (l *Ledger) Latest(owner string) (id string, at time.Time, ok bool) {
	turns := l.turns(owner)
	if len(turns) == 0 {
		return "", time.Time{}, false
	}
	return turns[0].ID, turns[0].At, true
}

// Oldest returns the time of an owner's oldest turn; false if there is none.
func (l *Ledger) Oldest(owner string) (at time.Time, ok bool) {
	turns := l.turns(owner)
	if len(turns) == 0 {
		return time.Time{}, false
	}
	return turns[len(turns)-1].At, true
}

// Match selects turns; an empty field matches all.
type Match struct {
	Session, Agent, Project, Model string
	Mode                           ken.Mode
	Key                            string    // name of the gateway's key of the request
	Until                          time.Time // turns before this time; zero means no limit
	NoBlock                        bool      // turns without a block

	// Before continues a list after the turn of this id. If the turn no longer exists,
	// the list is empty.
	Before string
}

func (m *Match) has(t *Turn) bool {
	return (m.Session == "" || m.Session == t.Session) && (m.Agent == "" || m.Agent == t.Agent) && (m.Project == "" || m.Project == t.Project) &&
		(m.Model == "" || m.Model == t.Model) && (m.Mode == "" || m.Mode == t.Mode) && (m.Key == "" || m.Key == t.Key) &&
		(m.Until.IsZero() || t.At.Before(m.Until)) && (!m.NoBlock || t.Chars == 0)
}

// Turns lists turns since a time, in the order in which their receipts were stored,
// newest first, and how many more there are. A zero since means no limit; a limit of 0
// or less means 50. The caller owns the list.
func (l *Ledger) Turns(owner string, since time.Time, limit int, m Match) (list []Turn, more int) {
	limit = cmp.Or(max(limit, 0), receipt.DefaultLimit)
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

// ShownIn lists the newest turns that had a claim among their items, and how many turns
// had it in all. A limit of 0 or less means 50.
func (l *Ledger) ShownIn(owner, claim string, limit int) (list []Turn, total int) {
	id, err := uuid.Parse(claim)
	if err != nil {
		return nil, 0
	}
	limit = cmp.Or(max(limit, 0), receipt.DefaultLimit)
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

// Turn is the summary of one turn.
type Turn struct {
	ID      string
	At      time.Time
	Session string
	Agent   string
	Project string
	Model   string
	Mode    ken.Mode
	Cause   string // why the mode is not the configured one; "" if it is
	Key     string // name of the gateway's key of the request; "" for none
	Policy  string // the policy that reduced what the turn received; "" for none
	Through uint64 // session.Entry.Seq of the request's last message; 0 if unknown

	Chars       int // code points of the block
	Tokens      int // tokens of the block
	Items       int
	Cut         int
	CutFor      ken.CutReason // the reason of the most cuts, of a turn without items; "" for none
	CachedBytes int64
	NewBytes    int64
	Degraded    int // stages that failed or were skipped
	Reused      bool
	Taint       int // tool calls that repeat the text of an external claim
	Helped      int // items that the answer used and the user did not correct
	Corrected   int // items that the user's next message corrects

	TotalMS float64
	Stages  []Stage // the other stages of the receipt, by name; not modified

	// Claims are the ids of its items, in order, as far as they are UUIDs. Not
	// modified.
	Claims []uuid.UUID
}

// Stage is how long a part of a turn took, in milliseconds of wall-clock time.
type Stage struct {
	Name string
	MS   float64
}

// total is the receipt's stage that includes all others.
const total = "total"

// turn converts a receipt. Repeated names share their memory.
func (n interned) turn(r *receipt.Record) *Turn {
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

// MostCut returns the reason of the most cuts; of several, the one that comes first.
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

// interned keeps one copy of each string.
type interned map[string]string

func (n interned) name(s string) string {
	if had, ok := n[s]; ok {
		return had
	}
	n[s] = s
	return s
}

// Agent summarises the turns of an agent.
type Agent struct {
	Name  string
	Turns int
	Last  time.Time // time of its newest turn
}

// Agents lists the agents of turns, the latest first. Turns without an agent are
// ignored.
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
