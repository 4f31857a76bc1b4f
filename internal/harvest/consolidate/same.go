package consolidate

import (
	"slices"

	"github.com/kenlayer/ken"
)

// same decides about a claim that a standing one says already: the best one, if
// there are several.
func (p *planner) same() (Action, bool) {
	best, rejected := -1, p.rejected() >= 0
	for i := range p.near {
		n := &p.near[i]
		says := n.Relation == Same || n.Relation == Restates
		guess := n.claim.Status == ken.StatusHypothesis
		if !says || !stands(n.claim) && !guess || guess && (rejected || p.new.Status != ken.StatusHypothesis && p.betterThan(n) == "") {
			continue
		}
		if best < 0 || rank(n.claim) > rank(p.near[best].claim) {
			best = i
		}
	}
	if best < 0 {
		return Action{}, false
	}
	n := &p.near[best]
	if p.new.Status == ken.StatusHypothesis && n.claim.Status != ken.StatusHypothesis {
		return p.skip(best, Weaker), true
	}
	if better := p.betterThan(n); better != "" {
		return Action{Do: Supersede, IDs: []string{n.claim.ID}, Reason: better, Relation: n.Relation}, true
	}
	evidence, reason := p.lacks(n.claim)
	if len(evidence) == 0 {
		return p.skip(best, reason), true
	}
	return Action{Do: Reinforce, IDs: []string{n.claim.ID}, Reason: string(n.Relation) + ": " + n.Why, Relation: n.Relation, Evidence: evidence}, true
}

// betterThan says why the new claim should replace one that says no more than it
// does, "" if it should not.
func (p *planner) betterThan(n *candidate) string {
	if n.richer || n.late || p.protected(n.claim) != "" {
		return ""
	}
	switch {
	case n.claim.Status == ken.StatusHypothesis && p.new.Status != ken.StatusHypothesis:
		return "was a hypothesis, and is " + string(p.new.Status) + " now"
	case p.trust > n.claim.Support(nil).Trust:
		return "said again by a more trusted speaker: " + p.trust.String()
	}
	return ""
}

// lacks returns the evidence that would strengthen k, and why there is none.
func (p *planner) lacks(k *ken.Claim) (add []ken.Evidence, reason string) {
	reason = Known
	again := heard(k, p.new)
	trust := k.Support(nil).Trust
	for _, e := range p.new.Evidence {
		has := slices.ContainsFunc(k.Evidence, func(h ken.Evidence) bool { return h.Kind == e.Kind && h.Reference() == e.Reference() })
		switch {
		case has, again && !e.Hard() && !e.Backed():
		case !e.Speaker().AtLeast(trust):
			reason = Weaker
		default:
			add = append(add, e)
		}
	}
	return add, reason
}
