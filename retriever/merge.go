package retriever

import (
	"slices"

	"github.com/kenlayer/ken"
)

// Merge adds to a result what another owner's store has for the same turn. Rules come
// first and memory second, each of them the own ones first. Knowledge is merged by its
// score, as far as the stores have evidence that they bear on the turn at all; the own
// comes first where both are equal, topK are kept, and the others are cut. The focus, the
// mode and the learned order stay those of the own store.
func (out *Result) Merge(owner string, other *Result, topK int) {
	for i := range other.Candidates {
		other.Candidates[i].Owner = owner
	}
	mine, theirs := out.parts(), other.parts()
	knowledge, rest := out.byEvidence(mine[2], theirs[2], other.Evidence, topK)
	for i := range rest {
		out.Cut = append(out.Cut, ken.Cut{ID: rest[i].Row.ID, Reason: ken.CutPool})
	}
	out.Candidates = slices.Concat(mine[0], theirs[0], mine[1], theirs[1], knowledge)
	out.Rules, out.Memory, out.Sessions = out.Rules+other.Rules, out.Memory+other.Memory, out.Sessions+other.Sessions
	out.Retrieved += other.Retrieved
	out.Evidence = max(out.Evidence, other.Evidence)
	out.Cut = append(out.Cut, other.Cut...)
	for _, why := range other.Degraded {
		out.Degraded = append(out.Degraded, owner+": "+why)
	}
}

// parts are the candidates that are rules, memory and knowledge.
func (out *Result) parts() (p [3][]Candidate) {
	rules, memory := out.Rules, out.Rules+out.Memory+out.Sessions
	p[0], p[1], p[2] = out.Candidates[:rules], out.Candidates[rules:memory], out.Candidates[memory:]
	return p
}

// byEvidence merges two lists, each of which keeps its order, and returns the first n of
// them and what is left. A score is a part of the best of its own store, so it counts as
// much as the evidence of that store: that of the store with less is made smaller.
func (out *Result) byEvidence(mine, theirs []Candidate, evidence float64, n int) (first, left []Candidate) {
	if most := max(out.Evidence, evidence); len(mine) > 0 && len(theirs) > 0 && most > 0 { // else no floor applies
		scale(mine, out.Evidence/most)
		scale(theirs, evidence/most)
	}
	all := make([]Candidate, 0, len(mine)+len(theirs))
	for len(mine) > 0 && len(theirs) > 0 {
		if mine[0].Fused >= theirs[0].Fused {
			all, mine = append(all, mine[0]), mine[1:]
		} else {
			all, theirs = append(all, theirs[0]), theirs[1:]
		}
	}
	all = append(append(all, mine...), theirs...)
	n = min(n, len(all))
	return all[:n], all[n:]
}

func scale(list []Candidate, by float64) {
	for i := range list {
		list[i].Fused *= by
	}
}
