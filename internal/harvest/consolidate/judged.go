package consolidate

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/trained"
)

// Judged holds what a model said about pairs of statements: whether the later one replaces the
// earlier one. The trained model of this program judges pairs that are not in it.
type Judged map[[2]string]bool

// Add records a judgement.
func (j Judged) Add(p draft.Pair, replaced bool) { j[[2]string{p.Earlier, p.Later}] = replaced }

func (j Judged) of(known, fresh *ken.Claim) (replaced, ok bool) {
	if known.Session == "" || hasSessionEvidence(known, fresh) {
		return false, false
	}
	replaced, ok = j[[2]string{Plain(known.Text), Plain(fresh.Text)}]
	return replaced, ok
}

// Limits of the pairs that a model is asked about, for one new claim.
const (
	nearestPairs   = 3 // with the claims that a search finds first
	likeliestPairs = 2 // with those of the rest that the trained model thinks are replaced
)

// Pairs returns the pairs of statements about which a model should decide whether the later one,
// of a new claim, replaces the earlier one, of a known claim from another session. known is what
// Similar returned.
func Pairs(c ken.Claim, known []ken.Claim) []draft.Pair {
	type scored struct {
		draft.Pair
		score float64
	}
	var all []scored
	fresh := statementOf(&c)
	later := Plain(c.Text)
	for i := range known {
		k := &known[i]
		if isOwn(k, &c) || k.Status == ken.StatusSuperseded || k.Scope != c.Scope || comparedKind(k.Kind) != ken.KindFact || comparedKind(c.Kind) != ken.KindFact ||
			k.Session == "" || hasSessionEvidence(k, &c) {
			continue
		}
		at, earlier := statementOf(k), Plain(k.Text)
		if at.At.IsZero() || !fresh.At.After(at.At) {
			continue
		}
		a, b := statement(at, fresh), statement(fresh, at)
		relation := compare(&a, &b, at, fresh).Relation
		if relation == Restates || relation == Refines {
			continue
		}
		score := trained.Replaces(spoken(earlier), spoken(later))
		if relation != Distinct {
			score = 1
		}
		all = append(all, scored{draft.Pair{Earlier: earlier, Later: later, EarlierAt: at.At, LaterAt: fresh.At}, score})
	}
	rest := all[min(len(all), nearestPairs):]
	slices.SortStableFunc(rest, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	out := make([]draft.Pair, 0, nearestPairs+likeliestPairs)
	for _, s := range all[:min(len(all), nearestPairs+likeliestPairs)] {
		out = append(out, s.Pair)
	}
	return out
}
