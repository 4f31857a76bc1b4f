package lifecycle

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Rule is which part of the policy a change follows from.
type Rule string

// Rules, in the order in which a plan lists them.
const (
	ArchiveDecisions  Rule = "archive decisions"
	ArchiveSuperseded Rule = "archive superseded"
	DemotePatterns    Rule = "demote patterns"
	DecayConfidence   Rule = "decay confidence"
	PruneOrphans      Rule = "prune orphans"
	ArchiveExpired    Rule = "archive expired"
	DeleteEphemeral   Rule = "delete ephemeral"
)

// Change is one row of a plan.
type Change struct {
	Rule Rule   `json:"rule"`
	Kind string `json:"kind"`         // a claim's kind, or record, file, graph, nodes, journal, session, job, events, state
	ID   string `json:"id,omitempty"` // of the claim, session or job; the path of a file: of a state file from .ken
	What string `json:"what"`         // in words, on one line
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why"`

	Due   time.Time `json:"due"`   // since when; zero is unknown
	Count int       `json:"count"` // how many things the row stands for

	// Computed marks a row that only says how something counts by now. Apply has
	// nothing to do for it, and a plan made after it has it again.
	Computed bool `json:"computed,omitempty"`

	seen   time.Time     // a claim's UpdatedAt when the plan was made, or the time of a state file
	size   int64         // of a state file
	hash   string        // of a decision's file
	grace  time.Duration // of journals
	before time.Time     // of sessions and files
}

// Deps is what is looked after. Every field but Store may be left out, and then
// nothing of its sort is looked at.
type Deps struct {
	Store     Store
	Documents Documents
	Journal   Journal
	Queue     Queue
	EventsDir string // the folder of the event files; "" is none
	Decisions Decisions
	Graph     Graph
	KenDir    string // the project's .ken folder, whose state may be marked ephemeral; "" is none

	Now   func() time.Time // default time.Now
	Actor ken.Actor        // who does it, for the history; default system gc
}

// Store is what is needed of the claims' store. The stores on disk and in memory
// are one.
type Store interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
	Get(ctx context.Context, id string) (ken.Claim, error)
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
	Transition(ctx context.Context, t ken.Transition) error
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error

	// Refs and Row walk over what is known of each record without reading it.
	Refs() int
	Row(ref store.Ref) (store.Row, bool)
}

// Documents is what is left of files that are gone; the store on disk has it.
type Documents interface {
	Orphans(ctx context.Context) ([]string, error)
	PruneOrphans(ctx context.Context, paths []string) (int, error)
}

// Journal is what is needed of session.Journal.
type Journal interface {
	List(ctx context.Context) ([]session.Info, error)
	Sweep(ctx context.Context, grace time.Duration) (int, error)
	Prune(ctx context.Context, before time.Time) (int, error)
}

// Queue is what is needed of jobs.Queue.
type Queue interface {
	List(ctx context.Context, states ...jobs.State) ([]jobs.Job, error)
	Remove(ctx context.Context, id string) error
}

var (
	_ Journal = (*session.Journal)(nil)
	_ Queue   = (*jobs.Queue)(nil)
)

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Actor == (ken.Actor{}) {
		d.Actor = ken.Actor{Type: "system", ID: "gc"}
	}
	return d
}

// order is by rule, then what is longest overdue, then by id.
func order(a, b Change) int {
	return cmp.Or(cmp.Compare(rank[a.Rule], rank[b.Rule]), a.Due.Compare(b.Due), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

var rank = map[Rule]int{ArchiveDecisions: 0, ArchiveSuperseded: 1, DemotePatterns: 2, DecayConfidence: 3, PruneOrphans: 4, ArchiveExpired: 5, DeleteEphemeral: 6}
