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
	Claims   []string          `json:"forgotten"`          // ids, the requested one first
	Redacted []string          `json:"redacted,omitempty"` // ids of the episodes whose rest was written again
	Messages int               `json:"messages,omitempty"` // messages of journals
	Sessions []string          `json:"sessions,omitempty"` // the sessions of these messages
	Given    []forgotten.Given `json:"given,omitempty"`    // the turns whose models had the claim, oldest first, as far as receipts tell
	Looked   []string          `json:"looked,omitempty"`   // the places that were searched and are clean
	Files    []string          `json:"files,omitempty"`    // a person's own files that still say it, relative to the project
	Pending  string            `json:"pending,omitempty"`  // why it is not erased from every file yet; "" once it is
}

// Forget erases a claim for good, found by its id or a unique part of it, and everything that
// still says what it said:
//   - claims that were derived from it or say the same; of an episode that mentions it, the
//     rest is written again
//   - messages of journals that it came from or that repeat it, and all messages of a session
//     that was harvested
//   - injected texts and checkpoints
//   - receipts of the sessions in which it was said; other receipts keep the id and nothing
//     else
//   - marks of agents, and refused writes
//
// Sessions that go on, in whichever process, do not teach it again. At the end the files are
// rewritten, so that the text is gone from the disk.
//
// Forget belongs to the operator: nothing that an agent can reach calls it. It stops a running
// harvest, which is tried again later, and waits for harvests of other processes. If it returns
// an error, some text may be left, and Forgotten lists what was erased. The rest is erased in
// the background, when the store is opened next, or when Forget is called again with the same
// id. Called for a claim that was erased before, Forget returns what was erased. It returns
// ErrNotFound for an unknown id.
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
	if id != root.ID { // a part of an id must not match another claim once the intended one is gone
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
	resume, err := d.harvester.Pause(ctx)
	if err != nil {
		return Forgotten{}, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer resume()
	e := &erasure{l: l, s: s, sessions: d, matcher: harvest.NewClaimMatcher(&root), seq: s.Seq()}
	r, given, err := d.deletionScope(ctx, s, e.matcher, root)
	if err != nil {
		return Forgotten{}, err
	}
	switch err := e.begin(ctx, r, given, reason, actor); {
	case errors.Is(err, errInProgress):
		resume()
		return l.resumeForget(ctx, s, root.ID)
	case err != nil:
		return Forgotten{}, err
	}
	return e.run(ctx)
}

// findForgotten returns the record of a forgotten claim; nil if there is none.
func findForgotten(ctx context.Context, s store.Engine, id string) (rec *forgotten.Record, err error) {
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		rec, err = forgotten.Find(r, id)
		return err
	})
	return rec, err
}

// Forgotten returns the records of the claims that were forgotten, by their ids.
func (l Operator) Forgotten(ctx context.Context, owner string) (all []forgotten.Record, err error) {
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

// containsForgotten returns a function that recognizes the blocks of an owner's running
// conversations that have one of the claims, or the text. What the project's files say does not
// count.
func containsForgotten(owner string, ids []string, matcher *harvest.ClaimMatcher) func(*turnDecision) bool {
	return func(c *turnDecision) bool {
		if c.receipt.Owner != owner {
			return false
		}
		if c.restored && matcher != nil && matcher.MatchText(c.text) { // its items have no texts
			return true
		}
		return slices.ContainsFunc(c.receipt.Items, func(it ken.Item) bool {
			ofFiles := it.Kind == ken.KindDocument || it.Kind == budgeter.KindSymbol || it.Kind == budgeter.KindObjectives || isFileDecision(&it)
			return slices.Contains(ids, it.ID) || !ofFiles && matcher != nil && matcher.MatchText(it.Text)
		})
	}
}

// forgetSessions deletes the receipts of sessions in which it was said. Their signals can't be
// cleaned of it.
func forgetSessions(ctx context.Context, d *ownerSessions, sessions []string) error {
	for _, id := range sessions {
		if _, err := d.receipts.ForgetSession(ctx, id); err != nil {
			return fmt.Errorf("forget the receipts of session %s: %w", id, err)
		}
	}
	return nil
}

// forgetNotes removes deleted claims from receipts and from the attention queue.
func forgetNotes(ctx context.Context, s store.Engine, d *ownerSessions, matcher *harvest.ClaimMatcher, ids []string) error {
	_, err := d.receipts.Forget(ctx, receipt.Traces{Claims: ids, Text: matcher.MatchAny})
	_, marks := attention.Forget(ctx, s.Shelf(), attention.Traces{Claims: ids, Text: matcher.MatchAny})
	return errors.Join(err, marks)
}

// rewriteMemoryFile writes MEMORY.md again if it may list one of the deleted claims.
func (l *Layer) rewriteMemoryFile(ctx context.Context, owner string, gone []ken.Claim) error {
	if !l.inMemoryFile(owner, gone) {
		return nil
	}
	if _, err := l.Operator().SyncMemory(ctx, ""); err != nil {
		return fmt.Errorf("forgotten, but MEMORY.md may still tell of it: %w", err)
	}
	return nil
}
