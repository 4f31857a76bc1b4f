package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Plan says what the policy would change now, and changes nothing. Rows come in
// the order of the rules, within one those longest overdue first. What could not be
// looked at is an error; there is no plan of the rest.
func Plan(ctx context.Context, d Deps, p Policy) ([]Change, error) {
	w := planner{d: d.withDefaults(), p: p, archiving: map[string]bool{}}
	w.now = w.d.Now()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{{"decisions", w.records}, {"superseded claims", w.superseded}, {"patterns", w.patterns}, {"tiers", w.decayed}, {"documents", w.orphans},
		{"graph", w.nodes}, {"expired claims", w.expired}, {"journals", w.journals}, {"jobs", w.jobs}, {"events", w.events}, {"state files", w.state}} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("look at the %s: %w", step.what, err)
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

	archiving map[string]bool // by id: what a rule has put on the list already
}

func (w *planner) add(c Change) {
	c.Count = max(c.Count, 1)
	w.out = append(w.out, c)
}

// superseded archives what was replaced long enough ago.
func (w *planner) superseded(ctx context.Context) error {
	limit, on := before(w.now, w.p.ArchiveSupersededDays)
	if !on {
		return nil
	}
	f := &ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded}, Structural: true, ClaimsOnly: true}
	for c, err := range w.d.Store.Scan(ctx, f, func(g store.Glance) bool { return !g.Archived }) {
		if err != nil {
			return err
		}
		if c.UpdatedAt.After(limit) { // nothing but its own supersession moves it
			continue
		}
		w.archiving[c.ID] = true
		why := "superseded " + ago(w.now, c.UpdatedAt)
		if c.SupersededBy != "" {
			why += " by " + c.SupersededBy
		}
		w.add(claimChange(ArchiveSuperseded, &c, string(c.Status), "archived", why, c.UpdatedAt.Add(days(w.p.ArchiveSupersededDays))))
	}
	return nil
}

// expired archives what is over, whatever its status; what is superseded as well
// goes by whichever rule is due first.
func (w *planner) expired(ctx context.Context) error {
	limit, on := before(w.now, w.p.ArchiveExpiredDays)
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
		w.add(claimChange(ArchiveExpired, &c, string(c.Status), "archived", "expired "+ago(w.now, c.ExpiresAt), c.ExpiresAt.Add(days(w.p.ArchiveExpiredDays))))
	}
	return nil
}

// patterns demotes approved patterns that no session has seen again. Candidates
// stay: their counts grow until somebody reviews them.
func (w *planner) patterns(ctx context.Context) error {
	limit, on := before(w.now, w.p.MemoryReinforceWindowDays)
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

// lastSeen is when a pattern was last seen in a session or approved by somebody.
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

// decayed counts what is Verified by its evidence, all of it too old by now.
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
	what := brief(c.Text)
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
	what := brief(c.Text)
	if c.Heading != "" {
		what = brief(c.Heading)
	}
	return Change{Rule: r, Kind: string(c.Kind), ID: c.ID, What: what, From: from, To: to, Why: why, Due: due, seen: c.UpdatedAt}
}

// brief is a text on one line, of at most 80 characters.
func brief(text string) string {
	const longest = 80
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return string(r)
}

func ago(now, then time.Time) string {
	switch n := int(now.Sub(then) / day); {
	case n < 1:
		return "today"
	case n == 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", n)
	}
}
