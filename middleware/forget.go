package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// Forgotten is what Forget erased.
type Forgotten struct {
	Claims   []string          `json:"forgotten"`          // ids, the one that was asked for first
	Redacted []string          `json:"redacted,omitempty"` // ids of the episodes written anew without it
	Messages int               `json:"messages,omitempty"` // of journals
	Sessions []string          `json:"sessions,omitempty"` // whose messages these were
	Given    []forgotten.Given `json:"given,omitempty"`    // the turns whose models had been given it, oldest first, as far as receipts tell
	Looked   []string          `json:"looked,omitempty"`   // the places that were looked through, and are clean
	Files    []string          `json:"files,omitempty"`    // of the person's own, which still say it, relative to the project
	Pending  string            `json:"pending,omitempty"`  // why it is not erased from every file yet; "" once it is
}

// Forget erases a claim for good, found by its id or a unique part of it, and all
// that still says what it said: claims that were derived from it or say it again,
// the messages of journals that it came from or that repeat it (all messages of a
// session that was harvested), what of it was injected, checkpoints, the receipts of
// the sessions in which it was said, marks of agents and writes that were refused. In other receipts its id stays
// and nothing else. Of an episode that tells it, the rest is written anew. A session
// that goes on does not teach it again, in whichever process. Then the files are rewritten, so that the
// words are gone from the disk.
//
// It belongs to the operator: nothing that an agent can reach calls it. A harvest
// that runs is stopped and tried again afterwards; one that another process is at is
// waited for. An error may leave words behind, and says so; Forgotten is what went all
// the same. What is left is done by itself: in the background, when the store is opened
// next, or when Forget is called again with the same id, which also says again what went
// of a claim that is forgotten for good. Errors: ErrNotFound.
func (l *Layer) Forget(ctx context.Context, owner, id, reason string, actor ken.Actor) (Forgotten, error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return Forgotten{}, err
	}
	defer release()
	root, err := forgettableClaim(ctx, s, id)
	if errors.Is(err, ken.ErrNotFound) {
		rec, known := findForgotten(ctx, s, id)
		if known != nil || rec == nil {
			return Forgotten{}, errors.Join(known, err)
		}
		return l.resumeForget(ctx, s, rec.Claim)
	}
	if err != nil {
		return Forgotten{}, err
	}
	if id != root.ID { // a part of an id must not reach another claim once the one that was meant is gone
		rec, err := findForgotten(ctx, s, id)
		switch {
		case err != nil:
			return Forgotten{}, err
		case rec != nil && !slices.Contains(rec.IDs(), root.ID):
			return Forgotten{}, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: id + " is a part of the ids of " + root.ID + " and of " + rec.Claim + ", which was forgotten", Try: "Give the whole id."}
		case rec != nil && rec.Pending != nil:
			return l.resumeForget(ctx, s, rec.Claim)
		}
	}
	d := l.sessionsOf(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return Forgotten{}, err
	}
	let, err := d.harvester.Hold(ctx)
	if err != nil {
		return Forgotten{}, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer let()
	e := &erasure{l: l, s: s, sessions: d, traces: harvest.NewTraces(&root), seq: s.Seq()}
	r, given, err := d.deletionScope(ctx, s, e.traces, root)
	if err != nil {
		return Forgotten{}, err
	}
	switch err := e.begin(ctx, r, given, reason, actor); {
	case errors.Is(err, errInProgress):
		let()
		return l.resumeForget(ctx, s, root.ID)
	case err != nil:
		return Forgotten{}, err
	}
	return e.run(ctx)
}

// findForgotten is what is kept of a claim that was forgotten; nil for nothing.
func findForgotten(ctx context.Context, s store.Engine, id string) (rec *forgotten.Record, err error) {
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		rec, err = forgotten.Find(r, id)
		return err
	})
	return rec, err
}

// Forgotten are the records of the claims that were forgotten, by their ids.
func (l *Layer) Forgotten(ctx context.Context, owner string) (all []forgotten.Record, err error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		all, err = forgotten.All(r)
		return err
	})
	return all, err
}

// containsForgotten tells the blocks of an owner's running conversations that have one of the
// claims in them, or the words. What files of the project say is their business.
func containsForgotten(owner string, ids []string, traces *harvest.Traces) func(*turnDecision) bool {
	return func(c *turnDecision) bool {
		if c.receipt.Owner != owner {
			return false
		}
		if c.restored && traces != nil && traces.In(c.text) { // its items have no texts of their own
			return true
		}
		return slices.ContainsFunc(c.receipt.Items, func(it ken.Item) bool {
			ofFiles := it.Kind == ken.KindDocument || it.Kind == budgeter.KindSymbol || it.Kind == budgeter.KindObjectives || isFileDecision(&it)
			return slices.Contains(ids, it.ID) || !ofFiles && traces != nil && traces.In(it.Text)
		})
	}
}

// forgetSessions deletes the receipts of sessions in which it was said: what
// their signals hold of it can't be told from the rest.
func forgetSessions(ctx context.Context, d *ownerSessions, sessions []string) error {
	for _, id := range sessions {
		if _, err := d.receipts.ForgetSession(ctx, id); err != nil {
			return fmt.Errorf("forget the receipts of session %s: %w", id, err)
		}
	}
	return nil
}

// forgetNotes takes claims that are gone out of what is kept about them.
func forgetNotes(ctx context.Context, s store.Engine, d *ownerSessions, traces *harvest.Traces, ids []string) error {
	_, err := d.receipts.Forget(ctx, receipt.Traces{Claims: ids, Text: traces.Kept})
	_, marks := attention.Forget(ctx, s.Shelf(), attention.Traces{Claims: ids, Text: traces.Kept})
	return errors.Join(err, marks)
}

// renew writes MEMORY.md anew if it may have told of what went.
func (l *Layer) rewriteMemoryFile(ctx context.Context, owner string, gone []ken.Claim) error {
	if !l.inMemoryFile(owner, gone) {
		return nil
	}
	if _, err := l.SyncMemory(ctx, ""); err != nil {
		return fmt.Errorf("forgotten, but MEMORY.md may still tell of it: %w", err)
	}
	return nil
}
