package middleware

import (
	"context"
	"math"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
)

// withCode adds what the code says to the candidates for the block, which are those that
// were found. The best card stands beside the best of what was found, the second beside
// the second, and the decisions behind the cards, so that neither pushes the other out.
// A piece of a file that a decision speaks for is left out: it says the same.
func (l *Layer) withCode(ctx context.Context, st *State, cands []budgeter.Candidate) []budgeter.Candidate {
	c := &st.code
	if len(c.cards)+len(c.decisions) == 0 {
		return cands
	}
	var ranked []float64
	for i := range cands {
		if it := &cands[i]; !it.Memory && !it.Item.Constraint {
			ranked = append(ranked, it.Item.Fused)
		}
	}
	fused := func(i int) float64 {
		switch n := len(ranked); {
		case n == 0:
			return 1 / float64(i+1)
		case i < n:
			return math.Nextafter(ranked[i], math.Inf(1))
		default:
			return ranked[n-1] / float64(i-n+2)
		}
	}
	found := map[string]bool{} // by path of the decision
	cands = l.spokenFor(ctx, st, cands, found)
	rank := 0
	for i := range c.cards {
		c.cards[i].Item.Fused = fused(rank)
		cands = append(cands, c.cards[i])
		rank++
	}
	for i := range c.decisions {
		g := &c.decisions[i]
		support := g.claim.Support(nil)
		d := g.candidate(rank+1, found[g.path], support.At(l.now(), l.cfg.Knowledge.DecayDays))
		d.Item.Fused = fused(rank)
		cands = append(cands, d)
		rank++
	}
	return cands
}

// spokenFor leaves out the pieces of files that a decision speaks for, and notes which
// these are.
func (l *Layer) spokenFor(ctx context.Context, st *State, cands []budgeter.Candidate, found map[string]bool) []budgeter.Candidate {
	if len(st.code.decisions) == 0 {
		return cands
	}
	by := map[string]string{}
	for i := range st.code.decisions {
		by[st.code.decisions[i].path] = st.code.decisions[i].claim.ID
	}
	kept := cands[:0]
	for _, c := range cands {
		if c.Item.Kind == ken.KindDocument && c.Load != nil {
			claim, err := c.Load(ctx)
			path := claim.Source
			if at := strings.LastIndexByte(path, ':'); at >= 0 {
				path = path[:at]
			}
			if id := by[path]; err == nil && id != "" {
				found[path] = true
				st.Receipt.Cut = append(st.Receipt.Cut, ken.Cut{ID: c.Item.ID, Reason: ken.CutDuplicate, Detail: id})
				continue
			}
		}
		kept = append(kept, c)
	}
	return kept
}
