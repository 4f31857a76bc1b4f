package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
)

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

	Chars       int // code points of the block
	Tokens      int // of the block
	Items       int
	Cut         int
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
		Mode: ken.Mode(n.name(string(r.Mode))), Cause: n.name(r.Cause), Chars: r.Chars, Tokens: r.Tokens, Items: len(r.Items), Cut: len(r.Cut),
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
	for i := range r.Items {
		if id, err := uuid.Parse(r.Items[i].ID); err == nil {
			t.Claims = append(t.Claims, id)
		}
	}
	return t
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
