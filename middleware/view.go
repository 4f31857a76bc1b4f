package middleware

import "github.com/kenlayer/ken"

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
