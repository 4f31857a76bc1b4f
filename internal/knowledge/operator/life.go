package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Learn writes a claim, which must have evidence and an actor. It returns the claim's id and
// the ids of claims whose value it replaces. A person's claim is always written, even if it
// repeats or contradicts another; see Repeat.
func (d *Desk) Learn(ctx context.Context, c ken.Claim) (id string, replaced []string, err error) {
	if c.CreatedAt.IsZero() {
		c.CreatedAt = d.l.Operator().Now()
	}
	known, err := consolidate.Similar(ctx, d.s, c)
	if err != nil {
		return "", nil, err
	}
	if a := consolidate.Plan(c, known); a.Own == "" && (a.Do == consolidate.Supersede && a.Relation == consolidate.Updates || a.Do == consolidate.Write && len(a.Amend) > 0) {
		res, err := consolidate.Apply(ctx, d.s, c, known)
		id, replaced = res.ID, slices.Concat(res.Superseded, res.Amended)
		if err == nil {
			err = matcher.WithdrawAll(ctx, d.s, res.Superseded, d.actor())
		}
		if err != nil {
			return id, replaced, err
		}
	} else if id, err = d.s.WriteClaim(ctx, c); err != nil {
		return id, nil, err
	}
	c.ID = id
	d.audit(session.EventLearn, &c, c.Status, c.Evidence...)
	return id, replaced, nil
}

// Refile changes what a claim is about and whether it is a rule; see edit.Editor.Refile.
func (d *Desk) Refile(ctx context.Context, id string, about []string, rule *bool) (ken.Claim, bool, error) {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return c, false, err
	}
	d.audit(session.EventAssign, &c, c.Status)
	return d.Editor().Refile(ctx, c, about, rule)
}

// audit writes the intended change to the event log.
func (d *Desk) audit(event string, c *ken.Claim, to ken.Status, evidence ...ken.Evidence) {
	d.l.Operator().Audit(d.s.Owner(), event, c, to, evidence, d.actor())
}

// Verify verifies a claim, with the given evidence and with the person as evidence. note says
// what was checked. Verifying a claim again restarts its decay.
func (d *Desk) Verify(ctx context.Context, id, note string, evidence ...ken.Evidence) error {
	evidence = append(slices.Clone(evidence), d.personEvidence(note))
	return d.decide(ctx, id, func(c *ken.Claim) error {
		d.audit(session.EventVerify, c, ken.StatusVerified, evidence...)
		if c.Status == ken.StatusVerified {
			return d.s.Reinforce(ctx, c.ID, evidence, d.actor())
		}
		return d.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusVerified, Reason: note, Evidence: evidence, Actor: d.actor()})
	})
}

// Dispute disputes a claim. The reason says what contradicts it; an empty one is ErrInvalid.
func (d *Desk) Dispute(ctx context.Context, id, reason string, evidence ...ken.Evidence) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "empty: a dispute needs a reason", Try: "Say what contradicts the claim."}
	}
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	d.audit(session.EventDispute, &c, ken.StatusDisputed, evidence...)
	if err := d.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusDisputed, Reason: reason, Evidence: evidence, Actor: d.actor()}); err != nil {
		return err
	}
	return matcher.Withdraw(ctx, d.s, &c, d.actor())
}

// Supersede marks a claim as replaced by another existing one. For a replacement that does
// not exist yet, see Replace. Doing it again changes nothing.
func (d *Desk) Supersede(ctx context.Context, old, by, reason string) error {
	c, next, err := d.two(ctx, old, by)
	if err != nil {
		return err
	}
	d.audit(session.EventSupersede, &c, ken.StatusSuperseded)
	if err := d.s.SupersedeFor(ctx, c.ID, next.ID, reason, d.actor()); err != nil {
		return err
	}
	return matcher.Withdraw(ctx, d.s, &c, d.actor())
}

// two returns two claims that are to be changed; see Living.
func (d *Desk) two(ctx context.Context, a, b string) (first, second ken.Claim, err error) {
	if first, err = Living(ctx, d.s, a); err == nil {
		second, err = Living(ctx, d.s, b)
	}
	return first, second, err
}

// Archive archives a claim that was superseded or has expired; any other one is ErrRefused.
// The reason may be empty.
func (d *Desk) Archive(ctx context.Context, id, reason string) error {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	return d.s.Archive(ctx, c.ID, reason, d.actor())
}

// Forget erases a claim and the claims that say the same; see middleware.Layer.Forget. It
// does not stop when ctx ends, so that a caller who disconnects leaves nothing half erased.
// Forgotten lists what was erased, also with an error. For a claim that was forgotten before,
// it continues where that ended, and lists everything again.
func (d *Desk) Forget(ctx context.Context, id, reason string) (middleware.Forgotten, error) {
	c, err := Living(ctx, d.s, id)
	if errors.Is(err, ken.ErrNotFound) {
		c.ID, err = id, nil
	}
	if err != nil {
		return middleware.Forgotten{}, err
	}
	d.audit(session.EventForget, &c, "")
	return d.l.Forget(context.WithoutCancel(ctx), d.s.Owner(), c.ID, reason, d.actor())
}

// ForgetLearned erases everything that a session left, as the layer's ForgetLearned does. Like Forget, it
// does not stop when ctx ends, and continues what was begun before.
func (d *Desk) ForgetLearned(ctx context.Context, id, reason string) (middleware.Forgotten, error) {
	return d.l.Operator().ForgetLearned(context.WithoutCancel(ctx), d.s.Owner(), id, reason, d.actor())
}

// Replace corrects a claim: it writes a new claim with another text, supersedes the old one
// by it, and returns the new one's id. Both happen or neither, and a started replacement does
// not stop when ctx ends. The new claim keeps the entities and the scope of the old one. Its
// evidence is the person, since the old evidence was for another text. It is verified if the
// old one was. A claim in MEMORY.md is rewritten there as by Review; if only writing the file
// fails, the id is returned with the error. Errors: ErrInvalid for the same text; ErrRefused
// for a structural claim, and for one that was replaced already.
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

// correct replaces a claim by one with another text. The returned id is valid unless there is
// an error.
func (d *Desk) correct(ctx context.Context, old *ken.Claim, text, reason string) (string, error) {
	switch {
	case old.Status == ken.StatusSuperseded: // checked before another claim is written
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
	d.audit(session.EventLearn, &ken.Claim{}, ken.StatusObserved, d.personEvidence(reason))
	d.audit(session.EventSupersede, old, ken.StatusSuperseded)
	s := &replacementStore{Engine: d.s, reason: reason, actor: d.actor()}
	if InMemory(old.Kind) {
		return memoryfile.Edit(ctx, s, old, text, true, d.o.Name, d.o.Now())
	}
	id, err := s.WriteClaim(ctx, d.corrected(old, text, reason))
	if err == nil {
		err = s.Supersede(ctx, old.ID, id)
	}
	if err == nil {
		err = matcher.Withdraw(ctx, d.s, old, d.actor())
	}
	return id, err
}

// corrected returns the claim with another text. Its key is derived from the old claim and
// the text, so that the same correction twice is one claim.
func (d *Desk) corrected(old *ken.Claim, text, reason string) ken.Claim {
	sum := sha256.Sum256([]byte(old.ID + "\x00" + text))
	c := ken.Claim{Kind: old.Kind, Key: "correction:" + hex.EncodeToString(sum[:16]), Heading: old.Heading, Text: text,
		Evidence: []ken.Evidence{d.personEvidence(reason)}, Status: ken.StatusObserved, Confidence: 1, Importance: max(old.Importance, 0.5),
		Scope: old.Scope, Project: old.Project, Domain: old.Domain, Tags: old.Tags,
		Entities: old.Entities, Aspect: old.Aspect, Constraint: old.Constraint,
		ExpiresAt: old.ExpiresAt, Actor: d.actor(), SourceType: "correction"}
	if old.Status == ken.StatusVerified {
		c.Status = ken.StatusVerified
	}
	if old.AssignedBy != ken.AssignedByRules { // rules read the new text again
		c.AssignedBy = old.AssignedBy
	}
	return c
}

// replacementStore is the store for one replacement. If the supersession fails in the end, it
// erases the claim that it wrote. That happens to the slower of two people who replace a
// claim by different texts.
type replacementStore struct {
	store.Engine
	reason string
	actor  ken.Actor
	wrote  bool
}

// WriteClaim implements ken.Store.
func (r *replacementStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	out := r.Import(ctx, []store.Incoming{{Claim: c}})[0]
	r.wrote = out.Changed
	return out.ID, out.Err
}

// Supersede implements ken.Store.
func (r *replacementStore) Supersede(ctx context.Context, old, next string) error {
	err := r.SupersedeFor(ctx, old, next, r.reason, r.actor)
	if err == nil || !r.wrote {
		return err
	}
	if now, failed := r.Get(ctx, old); failed == nil && now.SupersededBy == next { // somebody else wrote the same text, or the write succeeded after all
		return nil
	}
	if _, undo := r.Forget(ctx, next, "what it was to replace could not be replaced", r.actor); undo != nil && !errors.Is(undo, ken.ErrNotFound) {
		return errors.Join(err, undo)
	}
	return err
}

// Vouch verifies a claim in any status. A hypothesis can't be verified directly, so it is
// approved first.
func (d *Desk) Vouch(ctx context.Context, id, note string, evidence ...ken.Evidence) error {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	if c.Status == ken.StatusHypothesis {
		if err := d.Approve(ctx, c.ID); err != nil {
			return err
		}
	}
	return d.Verify(ctx, c.ID, note, evidence...)
}

// Resolution names what a decision on a contradiction does to the claim that was not chosen.
type Resolution string

// The resolutions.
const (
	// Replaced means superseded by the other claim, permanently.
	Replaced Resolution = "replaced"
	// Contested means disputed; it may be verified later.
	Contested Resolution = "contested"
)

// ResolveContradiction verifies the claim id, and marks the other one, against, as replaced by
// it or contested. With an error, the claim may be verified already; calling it again completes
// the change. Errors: ErrInvalid for an unknown resolution, and if both claims are the same.
func (d *Desk) ResolveContradiction(ctx context.Context, id, against string, how Resolution) error {
	c, other, err := d.two(ctx, id, against)
	if err != nil {
		return err
	}
	if c.ID == other.ID {
		return &ken.Error{Code: ken.CodeInvalid, Field: "against", Msg: "a claim can't be replaced or contested by itself", Try: "Name the two claims."}
	}
	const note = "chosen in a contradiction"
	switch how {
	case Replaced:
		if err := d.Vouch(ctx, c.ID, note); err != nil {
			return err
		}
		return d.Supersede(ctx, other.ID, c.ID, "contradicted by the claim that was chosen")
	case Contested:
		// The dispute comes first: the queue takes a verification after it as a decision
		// about the two.
		if other.Status != ken.StatusDisputed {
			if err := d.Dispute(ctx, other.ID, attention.ContradictionReason(c.ID, "")); err != nil {
				return err
			}
		}
		if err := d.Vouch(ctx, c.ID, note); err != nil {
			return err
		}
		return d.dismissAnswered(ctx, c.ID, other.ID)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "fate", Msg: "unknown resolution " + string(how), Try: "Use replaced or contested."}
}

// dismissAnswered dismisses items of the queue that ask what the person has just decided:
// whether a claim that was verified once is rightly disputed, and which of the two is right,
// if the right one was verified before.
func (d *Desk) dismissAnswered(ctx context.Context, id, against string) error {
	items, _, err := d.Attention(ctx, false)
	if err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		pair := it.Event == attention.Contradicts && slices.Contains(it.Claims, id) && slices.Contains(it.Claims, against)
		if pair || it.Event == attention.Disputed && slices.Equal(it.Claims, []string{against}) {
			if err := d.Dismiss(ctx, it.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Restore undoes a supersession. A claim can't leave that status, so the old claim's content
// becomes a new claim. It supersedes the replacement, has the old claim's evidence and the
// person as evidence, and is verified. Restore returns the new claim's id; with an error,
// too, if the claim was written. Errors: ErrRefused for a claim that was not replaced, and
// for those that Replace refuses.
func (d *Desk) Restore(ctx context.Context, id, note string) (string, error) {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return "", err
	}
	if c.Status != ken.StatusSuperseded {
		return "", &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + c.ID + " was not replaced", Try: "Verify it, if it holds."}
	}
	now, err := d.Replace(ctx, c.SupersededBy, c.Text, cmp.Or(strings.TrimSpace(note), "restored"))
	if err != nil {
		return now, err
	}
	return now, d.Vouch(ctx, now, note, c.Evidence...)
}
