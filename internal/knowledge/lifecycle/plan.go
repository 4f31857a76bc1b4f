package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Plan lists what the policy would change now, without changing anything. Changes are in
// the order of the rules, and within a rule the longest overdue first. If something can't
// be read, Plan returns an error and no changes.
func Plan(ctx context.Context, d Deps, p Policy) ([]Change, error) {
	w := planner{d: d.withDefaults(), p: p, archiving: map[string]bool{}}
	w.now = w.d.Now()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{{"decisions", w.records}, {"superseded claims", w.superseded}, {"patterns", w.patterns}, {"tiers", w.decayed}, {"documents", w.orphans},
		{"graph", w.nodes}, {"expired claims", w.expired}, {"journals", w.journals}, {"jobs", w.jobs}, {"events", w.events}, {"state files", w.state}} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("inspect the %s: %w", step.what, err)
		}
	}
	slices.SortStableFunc(w.out, order)
	return w.out, nil
}

type planner struct {
	d   Deps
	p   Policy
	now time.Time
	out []Change

	archiving map[string]bool // ids of claims that a rule already archives
}

func (w *planner) add(c Change) {
	c.Count = max(c.Count, 1)
	w.out = append(w.out, c)
}

// superseded plans to archive claims that were superseded long enough ago.
func (w *planner) superseded(ctx context.Context) error {
	limit, on := cutoff(w.now, w.p.ArchiveSupersededDays)
	if !on {
		return nil
	}
	f := &ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded}, Structural: true, ClaimsOnly: true}
	for c, err := range w.d.Store.Scan(ctx, f, func(g store.Glance) bool { return !g.Archived }) {
		if err != nil {
			return err
		}
		if c.UpdatedAt.After(limit) { // only its supersession changes this time
			continue
		}
		w.archiving[c.ID] = true
		why := "superseded " + sinceText(w.now, c.UpdatedAt)
		if c.SupersededBy != "" {
			why += " by " + c.SupersededBy
		}
		w.add(claimChange(ArchiveSuperseded, &c, string(c.Status), "archived", why, c.UpdatedAt.Add(days(w.p.ArchiveSupersededDays))))
	}
	return nil
}

// expired plans to archive expired claims of any status. For a claim that is also
// superseded, the rule that is due first counts.
func (w *planner) expired(ctx context.Context) error {
	limit, on := cutoff(w.now, w.p.ArchiveExpiredDays)
	if !on {
		return nil
	}
	f := &ken.Filter{Statuses: ken.Statuses(), Structural: true, ClaimsOnly: true}
	for c, err := range w.d.Store.Scan(ctx, f, func(g store.Glance) bool { return g.Expires && !g.Archived }) {
		if err != nil {
			return err
		}
		if c.ExpiresAt.After(limit) || w.archiving[c.ID] {
			continue
		}
		w.add(claimChange(ArchiveExpired, &c, string(c.Status), "archived", "expired "+sinceText(w.now, c.ExpiresAt), c.ExpiresAt.Add(days(w.p.ArchiveExpiredDays))))
	}
	return nil
}

// patterns plans to demote approved patterns that no session has seen again. Candidates are
// not demoted: their counts grow until somebody reviews them.
func (w *planner) patterns(ctx context.Context) error {
	limit, on := cutoff(w.now, w.p.MemoryReinforceWindowDays)
	if !on {
		return nil
	}
	f := &ken.Filter{Statuses: []ken.Status{ken.StatusObserved, ken.StatusVerified}, Kinds: []ken.Kind{ken.KindPattern}, ClaimsOnly: true}
	for c, err := range w.d.Store.Scan(ctx, f, func(g store.Glance) bool { return !g.Archived }) {
		if err != nil {
			return err
		}
		last, err := lastSeen(ctx, w.d.Store, &c)
		if err != nil {
			return err
		}
		if last.After(limit) {
			continue
		}
		w.add(claimChange(DemotePatterns, &c, string(c.Status), string(ken.StatusHypothesis), "not seen again since "+last.Format(time.DateOnly),
			last.Add(days(w.p.MemoryReinforceWindowDays))))
	}
	return nil
}

// lastSeen returns when a pattern was last seen in a session or approved by a person.
func lastSeen(ctx context.Context, s Store, c *ken.Claim) (time.Time, error) {
	last := c.CreatedAt
	if c.ReinforcedAt.After(last) {
		last = c.ReinforcedAt
	}
	events, err := s.History(ctx, c.ID)
	if err != nil {
		return last, err
	}
	for _, e := range events {
		if e.Type == ken.EventTransitioned && e.To == c.Status && e.At.After(last) {
			last = e.At
		}
	}
	return last, nil
}

// decayed counts claims that are Verified by evidence that is all too old by now.
func (w *planner) decayed(ctx context.Context) error {
	if w.p.ConfidenceDecayDays <= 0 {
		return nil
	}
	count, oldest := 0, store.Row{}
	for ref := range w.d.Store.Refs() {
		row, ok := w.d.Store.Row(store.Ref(ref))
		if !ok || row.Facts.Kind == ken.KindDocument || row.Support.Tier != ken.Verified ||
			row.Support.At(w.now, w.p.ConfidenceDecayDays) == ken.Verified || row.Facts.Status == ken.StatusSuperseded {
			continue
		}
		if count++; count == 1 || row.Support.NewestAt.Before(oldest.Support.NewestAt) {
			oldest = row
		}
	}
	if count == 0 {
		return nil
	}
	c, err := w.d.Store.Get(ctx, oldest.ID)
	if err != nil {
		return err
	}
	what := oneLine(c.Text)
	if count > 1 {
		what = fmt.Sprintf("%d claims, the oldest: %s", count, what)
	}
	w.add(Change{Rule: DecayConfidence, Kind: "claim", ID: oldest.ID, What: what, From: ken.Verified.String(), To: ken.Inferred.String(), Computed: true, Count: count,
		Why: "no new evidence since " + oldest.Support.NewestAt.Format(time.DateOnly) + "; nothing is written, the tier is computed",
		Due: oldest.Support.NewestAt.Add(days(w.p.ConfidenceDecayDays))})
	return nil
}

func (w *planner) orphans(ctx context.Context) error {
	if w.d.Documents == nil {
		return nil
	}
	paths, err := w.d.Documents.Orphans(ctx)
	for _, path := range paths {
		w.add(Change{Rule: PruneOrphans, Kind: "file", ID: path, What: path, From: "remembered", To: "forgotten", Why: "the file is gone and no claim cites it"})
	}
	return err
}

func claimChange(r Rule, c *ken.Claim, from, to, why string, due time.Time) Change {
	what := oneLine(c.Text)
	if c.Heading != "" {
		what = oneLine(c.Heading)
	}
	return Change{Rule: r, Kind: string(c.Kind), ID: c.ID, What: what, From: from, To: to, Why: why, Due: due, seen: c.UpdatedAt}
}

// oneLine returns a text on one line, at most 80 characters long.
func oneLine(text string) string {
	const longest = 80
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return string(r)
}

func sinceText(now, then time.Time) string {
	switch n := int(now.Sub(then) / day); {
	case n < 1:
		return "today"
	case n == 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", n)
	}
}

// Rule is the part of the policy that a change follows from.
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
	Kind string `json:"kind"`         // kind of a claim, or record, file, graph, nodes, journal, session, job, events, state
	ID   string `json:"id,omitempty"` // id of the claim, session or job, or path of the file; for a state file relative to .ken
	What string `json:"what"`         // description on one line
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why"`

	Due   time.Time `json:"due"`   // when it became due; zero if unknown
	Count int       `json:"count"` // number of things in this row

	// Computed marks a row that only reports a computed state. Apply does nothing for it,
	// and later plans contain it again.
	Computed bool `json:"computed,omitempty"`

	seen   time.Time     // UpdatedAt of a claim at the time of the plan, or modification time of a state file
	size   int64         // size of a state file
	hash   string        // hash of a decision's file
	grace  time.Duration // for journals
	before time.Time     // for sessions and files
}

// Deps are the stores that the policy applies to. All fields except Store are optional; an
// unset one is skipped.
type Deps struct {
	Store     Store
	Documents Documents
	Journal   *session.Journal
	Queue     *jobs.Queue
	EventsDir string // folder of the event files; "" means none
	Decisions *decision.Registry
	Graph     Graph
	KenDir    string // the project's .ken folder, whose state may be marked ephemeral; "" means none

	Now   func() time.Time // default time.Now
	Actor ken.Actor        // recorded in the history; default system gc
}

// Store is the part of the claim store that this package needs. The stores on disk and in
// memory implement it.
type Store interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
	Get(ctx context.Context, id string) (ken.Claim, error)
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
	Transition(ctx context.Context, t ken.Transition) error
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error

	// Refs and Row list the properties of each record without reading it.
	Refs() int
	Row(ref store.Ref) (store.Row, bool)
}

// Documents finds and removes index entries of deleted files; the store on disk implements
// it.
type Documents interface {
	Orphans(ctx context.Context) ([]string, error)
	PruneOrphans(ctx context.Context, paths []string) (int, error)
}

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Actor == (ken.Actor{}) {
		d.Actor = ken.Actor{Type: "system", ID: "gc"}
	}
	return d
}

// order sorts by rule, then the longest overdue first, then by id.
func order(a, b Change) int {
	return cmp.Or(cmp.Compare(rank[a.Rule], rank[b.Rule]), a.Due.Compare(b.Due), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

var rank = map[Rule]int{ArchiveDecisions: 0, ArchiveSuperseded: 1, DemotePatterns: 2, DecayConfidence: 3, PruneOrphans: 4, ArchiveExpired: 5, DeleteEphemeral: 6}

// Graph is the graph of the project's code; codebase.Codebase implements it.
type Graph interface {
	// Prune lists what is in the graph although its files were deleted; with apply, it
	// removes it.
	Prune(ctx context.Context, apply bool) (codegraph.Pruned, error)
	// Save writes the graph.
	Save() error
}

// Kinds of what is removed from the graph.
const (
	kindGraph = "graph" // a file or a decision
	kindNodes = "nodes" // nodes that exist only because of such files or decisions
)

func (w *planner) nodes(ctx context.Context) error {
	if w.d.Graph == nil {
		return nil
	}
	p, err := w.d.Graph.Prune(ctx, false)
	if err != nil {
		return err
	}
	add := func(ids []string, why string) {
		for _, id := range ids {
			w.add(Change{Rule: PruneOrphans, Kind: kindGraph, ID: id, What: id, From: "in the graph", To: "forgotten", Why: why})
		}
	}
	add(p.Files, "the file is gone")
	add(p.Decisions, "its file is gone")
	if n := len(p.Nodes) + len(p.External); n > 0 {
		w.add(Change{Rule: PruneOrphans, Kind: kindNodes, ID: "graph", What: fmt.Sprintf("%d nodes", n), From: "in the graph", To: "forgotten",
			Why: "nothing else declares or uses them", Count: n})
	}
	return nil
}

// prune removes everything in one step. The first such change does it, and the others share
// its outcome.
func (a *applier) prune(ctx context.Context) (bool, error) {
	if a.d.Graph == nil {
		return false, nil
	}
	return a.once(kindGraph, func() error {
		_, err := a.d.Graph.Prune(ctx, true)
		if err == nil {
			err = a.d.Graph.Save()
		}
		return err
	})
}
