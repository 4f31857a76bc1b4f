package middleware

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// ClaimView is a claim as programs and people are shown it: with what is computed
// from its evidence.
type ClaimView struct {
	ken.Claim
	Tier  ken.Tier  `json:"tier"`
	Trust ken.Trust `json:"trust"`
}

// View computes what a claim's evidence makes of it now, decayed as the
// configuration says.
func (l *Layer) View(c ken.Claim) ClaimView {
	s := c.Support(nil)
	return ClaimView{Claim: c, Tier: s.At(l.now(), l.cfg.Knowledge.DecayDays), Trust: s.Trust}
}

// CameOf is View of the claims that came of a harvested session, as they are now. Those
// that were forgotten since are left out; of a session without an outcome, there is none.
func (l *Layer) CameOf(ctx context.Context, s store.Engine, info *session.Info) ([]ClaimView, error) {
	out := []ClaimView{}
	for _, id := range info.Outcome.Claims() {
		c, err := s.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l.View(c))
	}
	return out, nil
}
