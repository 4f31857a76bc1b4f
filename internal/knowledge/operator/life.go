package operator

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// Verify vouches for a claim: on the evidence, and on the person's word, with what
// was checked as its note. Again for one that is verified keeps it from decaying.
func (d *Desk) Verify(ctx context.Context, id, note string, evidence ...ken.Evidence) error {
	evidence = append(slices.Clone(evidence), d.word(note))
	return d.decide(ctx, id, func(c *ken.Claim) error {
		if c.Status == ken.StatusVerified {
			return d.s.Reinforce(ctx, c.ID, evidence, d.actor())
		}
		return d.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusVerified, Reason: note, Evidence: evidence, Actor: d.actor()})
	})
}

// Dispute contests a claim. The reason says what contradicts it: ErrInvalid without.
func (d *Desk) Dispute(ctx context.Context, id, reason string, evidence ...ken.Evidence) error {
	if reason = strings.TrimSpace(reason); reason == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "reason", Msg: "empty: a dispute needs a reason", Try: "Say what contradicts the claim."}
	}
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	return d.s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusDisputed, Reason: reason, Evidence: evidence, Actor: d.actor()})
}

// Supersede marks a claim as replaced by another, which is there already: see Replace
// for one that is not. Doing it again changes nothing.
func (d *Desk) Supersede(ctx context.Context, old, by, reason string) error {
	c, err := Living(ctx, d.s, old)
	if err != nil {
		return err
	}
	next, err := Living(ctx, d.s, by)
	if err != nil {
		return err
	}
	return d.s.SupersedeFor(ctx, c.ID, next.ID, reason, d.actor())
}

// Archive puts away a claim that was superseded or has expired; any other one is
// ErrRefused. The reason may be empty.
func (d *Desk) Archive(ctx context.Context, id, reason string) error {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	return d.s.Archive(ctx, c.ID, reason, d.actor())
}

// Forget erases a claim and what says the same; see middleware.Layer.Forget. The end
// of ctx does not stop it: a caller that goes away must not leave half of it behind.
// Forgotten is what went, also with an error. Of a claim that was forgotten before it goes
// on where that ended, and says again what went.
func (d *Desk) Forget(ctx context.Context, id, reason string) (middleware.Forgotten, error) {
	c, err := Living(ctx, d.s, id)
	if errors.Is(err, ken.ErrNotFound) {
		c.ID, err = id, nil
	}
	if err != nil {
		return middleware.Forgotten{}, err
	}
	return d.l.Forget(context.WithoutCancel(ctx), d.s.Owner(), c.ID, reason, d.actor())
}
