package lifecycle

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
)

// Decisions is what is needed of decision.Registry.
type Decisions interface {
	List() []decision.Record
	Find(name string) (decision.Record, error)
	Archive(ctx context.Context, name string) (decision.Record, error)
}

var _ Decisions = (*decision.Registry)(nil)

// kindRecord is a decision's file; a decision that is a claim has that kind itself.
const kindRecord = "record"

// records moves the files of superseded decisions to the archive beside them. When one
// was superseded, its file changed; no field says when, so its time is what counts.
func (w *planner) records(context.Context) error {
	limit, on := before(w.now, w.p.ArchiveDecisionsDays)
	if w.d.Decisions == nil || !on {
		return nil
	}
	for _, r := range w.d.Decisions.List() {
		if r.Archived || r.Status != decision.Superseded || r.ModTime.After(limit) {
			continue
		}
		why := "superseded"
		if len(r.SupersededBy) > 0 {
			why += " by " + brief(r.SupersededBy[0].Text)
		}
		w.add(Change{Rule: ArchiveDecisions, Kind: kindRecord, ID: r.Path, What: brief(r.Handle + ": " + r.Title.Text), From: string(r.Status), To: "archived",
			Why: why + "; last changed " + ago(w.now, r.ModTime), Due: r.ModTime.Add(days(w.p.ArchiveDecisionsDays)), hash: r.Hash})
	}
	return nil
}

// shelve archives a decision's file, if it is what the plan saw.
func (a *applier) shelve(ctx context.Context, c *Change) (bool, error) {
	if a.d.Decisions == nil {
		return false, nil
	}
	r, err := a.d.Decisions.Find(c.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound): // moved or deleted by somebody
		return false, nil
	case err != nil:
		return false, err
	case r.Archived:
		return true, nil
	case r.Path != c.ID || r.Status != decision.Superseded || !a.linked[c.ID] && r.Hash != c.hash:
		return false, nil
	}
	was := map[string]string{}
	for _, r := range a.d.Decisions.List() {
		was[r.Path] = r.Hash
	}
	if _, err = a.d.Decisions.Archive(ctx, r.Path); err != nil {
		return false, err
	}
	// Links in other records lead to the new place now: that is no change of theirs.
	for _, r := range a.d.Decisions.List() {
		if h, known := was[r.Path]; known && h != r.Hash {
			if a.linked == nil {
				a.linked = map[string]bool{}
			}
			a.linked[r.Path] = true
		}
	}
	return true, nil
}
