package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/attention"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/receipt"
	"github.com/kenlayer/ken/store"
)

// Forgotten is what Forget erased.
type Forgotten struct {
	Claims   []string `json:"forgotten"`          // ids, the one that was asked for first
	Redacted []string `json:"redacted,omitempty"` // ids of the episodes written anew without it
	Messages int      `json:"messages,omitempty"` // of journals
	Sessions []string `json:"sessions,omitempty"` // whose messages these were
}

// Forget erases a claim for good, found by its id or a unique part of it, and all
// that still says what it said: claims that were derived from it or say it again,
// the messages of journals that it came from or that repeat it (all messages of a
// session that was harvested), what of it was injected, checkpoints, the receipts of
// the sessions in which it was said, marks of agents and writes that were refused. In other receipts its id stays
// and nothing else. Of an episode that tells it, the rest is written anew. A session
// that goes on does not teach it again. Then the files are rewritten, so that the
// words are gone from the disk.
//
// It belongs to the operator: nothing that an agent can reach calls it. A harvest
// that runs is stopped and tried again afterwards; one that another process is at is
// waited for. An error may leave words behind,
// and says so; Forgotten is what went all the same. Errors: ErrNotFound.
func (l *Layer) Forget(ctx context.Context, owner, id, reason string, actor ken.Actor) (Forgotten, error) {
	var out Forgotten
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return out, err
	}
	defer release()
	root, err := forgettable(ctx, s, id)
	if err != nil {
		return out, err
	}
	d := l.desk(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return out, err
	}
	let, err := d.harvester.Hold(ctx)
	if err != nil {
		return out, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer let()
	traces := harvest.NewTraces(&root)
	r, err := reachOf(ctx, s, traces, root)
	if err != nil {
		return out, err
	}
	before, err := l.atWork(ctx, d, "")
	if err != nil {
		return out, err
	}
	// Journals first: should this end half-way, the claim is still there to be
	// forgotten again.
	gone, err := d.journal.Expunge(ctx, r.inJournals())
	out.Messages, out.Sessions = gone.Messages, gone.Sessions
	if err := errors.Join(err, forgetSessions(ctx, d, gone.Sessions)); err != nil {
		return out, err
	}
	l.recovered.forget(s.Owner())
	l.lineage.forget(s.Owner())
	l.heeds.drop(s.Owner()) // what waits to be judged has the words of claims
	// A harvest of another process may have read the messages before they went, and have
	// ended since.
	waited, err := l.othersHarvests(ctx, d, "")
	if err == nil && (waited || len(before) > 0) {
		r, err = reachOf(ctx, s, traces, root)
	}
	if err != nil {
		return out, fmt.Errorf("wait for harvests of other processes: %w", err)
	}
	failed := l.erase(ctx, s, r, reason, actor, &out)
	ids := append(r.ids(), out.Claims...)
	l.blocks.drop(carrying(s.Owner(), ids, traces))
	return out, errors.Join(failed, forgetNotes(ctx, s, d, traces, ids), l.forgetUse(ctx, s.Owner(), ids), l.renew(ctx, s.Owner(), r.claims))
}

// carrying tells the blocks of an owner's running conversations that have one of the
// claims in them, or the words. What files of the project say is their business.
func carrying(owner string, ids []string, traces *harvest.Traces) func(*composed) bool {
	return func(c *composed) bool {
		return c.receipt.Owner == owner && slices.ContainsFunc(c.receipt.Items, func(it ken.Item) bool {
			ofFiles := it.Kind == ken.KindDocument || it.Kind == budgeter.KindSymbol || it.Kind == budgeter.KindObjectives || projected(&it)
			return slices.Contains(ids, it.ID) || !ofFiles && traces != nil && traces.In(it.Text)
		})
	}
}

// forgetSessions deletes the receipts of sessions in which it was said: what
// their signals hold of it can't be told from the rest.
func forgetSessions(ctx context.Context, d *desk, sessions []string) error {
	for _, id := range sessions {
		if _, err := d.receipts.ForgetSession(ctx, id); err != nil {
			return fmt.Errorf("forget the receipts of session %s: %w", id, err)
		}
	}
	return nil
}

// forgetNotes takes claims that are gone out of what is kept about them.
func forgetNotes(ctx context.Context, s store.Engine, d *desk, traces *harvest.Traces, ids []string) error {
	_, err := d.receipts.Forget(ctx, receipt.Traces{Claims: ids, Text: traces.In})
	_, marks := attention.Forget(ctx, s.Shelf(), attention.Traces{Claims: ids, Text: traces.In})
	return errors.Join(err, marks)
}

// erase forgets claims, and writes those anew that are something without it.
func (l *Layer) erase(ctx context.Context, s store.Engine, r *reach, reason string, actor ken.Actor, out *Forgotten) error {
	claims := append([]ken.Claim{r.root}, r.others...)
	for i := range claims {
		c := &claims[i]
		why := reason
		if i > 0 {
			why = "it says what " + claims[0].ID + " said"
		}
		gone, err := s.Forget(ctx, c.ID, why, actor)
		for _, id := range gone {
			if !slices.Contains(out.Claims, id) {
				out.Claims = append(out.Claims, id)
			}
		}
		if err != nil && !errors.Is(err, ken.ErrNotFound) { // it went with another
			return err
		}
		if i == 0 || c.Kind != ken.KindEpisode {
			continue
		}
		if rest, ok := r.traces.Without(c); ok {
			id, err := s.WriteClaim(ctx, rest)
			if err != nil {
				return fmt.Errorf("write the rest of an episode: %w", err)
			}
			out.Redacted = append(out.Redacted, id)
		}
	}
	return nil
}

// renew writes MEMORY.md anew if it may have told of what went.
func (l *Layer) renew(ctx context.Context, owner string, gone []ken.Claim) error {
	if !l.listsAny(owner, gone) {
		return nil
	}
	if _, err := l.SyncMemory(ctx, ""); err != nil {
		return fmt.Errorf("forgotten, but MEMORY.md may still tell of it: %w", err)
	}
	return nil
}
