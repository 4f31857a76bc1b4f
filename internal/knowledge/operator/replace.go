package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/store"
)

// Replace corrects a claim: it writes one with another text, supersedes the old one
// by it, and returns the new one's id. Both happen or none, and the end of ctx stops
// nothing that has begun. Of the old claim stays what it is about and where it
// applies; what it rests on was for other words, so that the new one rests on the
// person's word. It is verified if the old one was. A claim of MEMORY.md is rewritten
// as by Review; with an error of writing the file comes the id. ErrInvalid for the
// same text; ErrRefused for a part of the structure, and for a claim that was replaced
// already.
func (d *Desk) Replace(ctx context.Context, id, text, reason string) (string, error) {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return "", err
	}
	listed := InMemory(c.Kind)
	if listed {
		if err := d.SyncMemory(ctx); err != nil {
			return "", err
		}
	}
	var next string
	err = d.decide(ctx, c.ID, func(c *ken.Claim) (err error) {
		next, err = d.correct(ctx, c, text, reason)
		return err
	})
	if err != nil {
		return "", err
	}
	if listed {
		err = d.SyncMemory(context.WithoutCancel(ctx))
	}
	return next, err
}

// correct replaces a claim by one with another text, whose id is good unless there is
// an error.
func (d *Desk) correct(ctx context.Context, old *ken.Claim, text, reason string) (string, error) {
	switch {
	case old.Status == ken.StatusSuperseded: // before another claim is written
		return "", &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + old.ID + " was replaced by " + old.SupersededBy,
			Try: "Edit that one."}
	case old.Kind.Structural():
		return "", &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "a claim of kind " + string(old.Kind) + " is part of the structure itself",
			Try: "Change the entity that it is about."}
	case sameText(text, old.Text):
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "the text is the same", Try: "Verify the claim, if it holds."}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	s := &replacing{Engine: d.s, reason: reason, actor: d.actor()}
	if InMemory(old.Kind) {
		return memoryfile.Edit(ctx, s, old, text, true, d.o.Name, d.o.Now())
	}
	id, err := s.WriteClaim(ctx, d.corrected(old, text, reason))
	if err == nil {
		err = s.Supersede(ctx, old.ID, id)
	}
	return id, err
}

// corrected is a claim with another text. Its key is made of what it replaces and of
// the text, so that the same correction twice is one claim.
func (d *Desk) corrected(old *ken.Claim, text, reason string) ken.Claim {
	sum := sha256.Sum256([]byte(old.ID + "\x00" + text))
	c := ken.Claim{Kind: old.Kind, Key: "correction:" + hex.EncodeToString(sum[:16]), Heading: old.Heading, Text: text,
		Evidence: []ken.Evidence{d.word(reason)}, Status: ken.StatusObserved, Confidence: 1, Importance: max(old.Importance, 0.5),
		Scope: old.Scope, Project: old.Project, Domain: old.Domain, Tags: old.Tags,
		Entities: old.Entities, Aspect: old.Aspect, Constraint: old.Constraint,
		ExpiresAt: old.ExpiresAt, Actor: d.actor(), SourceType: "correction"}
	if old.Status == ken.StatusVerified {
		c.Status = ken.StatusVerified
	}
	if old.AssignedBy != ken.AssignedByRules { // they read the new text
		c.AssignedBy = old.AssignedBy
	}
	return c
}

// replacing is the store of one replacement. What it wrote is erased again if it
// replaces nothing in the end, which is what happens to the slower one of two who
// replace a claim in different words.
type replacing struct {
	store.Engine
	reason string
	actor  ken.Actor
	wrote  bool
}

// WriteClaim implements ken.Store.
func (r *replacing) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	out := r.Import(ctx, []store.Incoming{{Claim: c}})[0]
	r.wrote = out.Changed
	return out.ID, out.Err
}

// Supersede implements ken.Store.
func (r *replacing) Supersede(ctx context.Context, old, next string) error {
	err := r.SupersedeFor(ctx, old, next, r.reason, r.actor)
	if err == nil || !r.wrote {
		return err
	}
	if now, failed := r.Get(ctx, old); failed == nil && now.SupersededBy == next { // by somebody who wrote the same, or by us after all
		return nil
	}
	if _, undo := r.Forget(ctx, next, "what it was to replace could not be replaced", r.actor); undo != nil && !errors.Is(undo, ken.ErrNotFound) {
		return errors.Join(err, undo)
	}
	return err
}
