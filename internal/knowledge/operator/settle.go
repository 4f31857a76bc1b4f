package operator

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// Vouch verifies a claim wherever it stands: a hypothesis, which can't be verified at
// once, is approved first.
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

// Fate is what becomes of the claim that a contradiction is decided against.
type Fate string

// Fates.
const (
	// Replaced is superseded by the one that stands, for good.
	Replaced Fate = "replaced"
	// Contested is disputed, and may be found right later.
	Contested Fate = "contested"
)

// Stand settles a contradiction: the claim is vouched for, and the other one is
// replaced by it or contested. With an error the claim may be verified already, and
// doing it again goes on from there. ErrInvalid for another fate, and for a claim
// against itself.
func (d *Desk) Stand(ctx context.Context, id, against string, fate Fate) error {
	c, err := Living(ctx, d.s, id)
	if err != nil {
		return err
	}
	other, err := Living(ctx, d.s, against)
	if err != nil {
		return err
	}
	if c.ID == other.ID {
		return &ken.Error{Code: ken.CodeInvalid, Field: "against", Msg: "a claim can't stand against itself", Try: "Name the two claims."}
	}
	const note = "stands in a contradiction"
	switch fate {
	case Replaced:
		if err := d.Vouch(ctx, c.ID, note); err != nil {
			return err
		}
		return d.Supersede(ctx, other.ID, c.ID, "contradicted by the one that stands")
	case Contested:
		// The dispute comes first: what is verified after it is what the queue takes for a
		// decision about the two.
		if other.Status != ken.StatusDisputed {
			if err := d.Dispute(ctx, other.ID, attention.ContradictionReason(c.ID, "")); err != nil {
				return err
			}
		}
		if err := d.Vouch(ctx, c.ID, note); err != nil {
			return err
		}
		return d.keepDisputed(ctx, c.ID, other.ID)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "fate", Msg: "unknown fate " + string(fate), Try: "Use replaced or contested."}
}

// keepDisputed dismisses what the queue would ask again of a person who has just
// answered: whether a claim that was verified once is rightly disputed, and which of
// the two stands, where the one that does was verified before.
func (d *Desk) keepDisputed(ctx context.Context, id, against string) error {
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

// Restore undoes a supersession. Nothing leaves that status, so what the old claim
// says becomes a claim again, which supersedes the one that had replaced it, rests on
// the old one's evidence and on the person's word, and is verified. It returns that
// claim's id, also with an error once there is one. ErrRefused for a claim that
// nothing has replaced, and for what Replace refuses.
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
