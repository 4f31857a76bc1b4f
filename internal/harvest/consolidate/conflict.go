package consolidate

import "github.com/kenlayer/ken"

// conflict decides among contradictions, updates and additions.
func (p *planner) conflict() Action {
	if p.new.Status == ken.StatusHypothesis {
		return Action{Do: Write}
	}
	var replace, fight, above []*candidate
	for i := range p.near {
		n := &p.near[i]
		if !stands(n.claim) && !(n.claim.Status == ken.StatusHypothesis && n.Relation == Refines) {
			continue
		}
		guard := p.protected(n.claim)
		switch {
		case n.Relation == Refines && guard == "" && !n.late, n.Relation == Updates && guard == "":
			replace = append(replace, n)
		case n.Relation == Contradicts && guard == "":
			fight = append(fight, n)
		case n.Relation == Updates, n.Relation == Contradicts:
			n.Why = guard + ": " + n.Why
			above = append(above, n)
		}
	}
	switch {
	case len(above) > 0:
		a := act(Dispute, above)
		a.IDs, a.Against = nil, a.IDs
		a.Reason = "against " + above[0].claim.ID + ", which " + above[0].Why
		return a
	case len(fight) > 0:
		return act(Dispute, fight)
	case len(replace) > 0:
		return act(Supersede, replace)
	}
	return Action{Do: Write}
}

// withConflict joins the replacement of a claim that says the same with what the
// new claim means for others, since both follow from its being written. A dispute
// comes first: what is disputed replaces nothing.
func withConflict(same, a Action) Action {
	switch {
	case same.Do != Supersede || a.Do == Write:
		return same
	case a.Do == Dispute:
		return a
	}
	same.IDs = append(same.IDs, a.IDs...)
	same.Reason += "; " + a.Reason
	return same
}

func act(do Do, near []*candidate) Action {
	a := Action{Do: do, Relation: near[0].Relation, Reason: string(near[0].Relation) + ": " + near[0].Why}
	for _, n := range near {
		a.IDs = append(a.IDs, n.claim.ID)
	}
	return a
}

// protected says why the new claim may not touch k by itself, "" if it may.
func (p *planner) protected(k *ken.Claim) string {
	switch {
	case k.Status == ken.StatusVerified:
		return "is verified"
	case k.Constraint && !p.new.Constraint:
		return "is a constraint"
	case k.Kind == ken.KindHot && p.new.Kind != ken.KindHot:
		return "is hot"
	case k.Support(nil).Trust > p.trust:
		return "has a more trusted speaker"
	case k.Confidence > p.new.Confidence+CloseConfidence:
		return "is more certain"
	}
	return ""
}
