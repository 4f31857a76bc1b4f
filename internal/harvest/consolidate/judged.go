package consolidate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
		if relation == Same || relation == Restates || relation == Refines {
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

// judgeChange asks the trained model whether the new statement replaces the known one, or one
// clause of it. Only a harvested claim of another session is judged. Claims that somebody wrote
// are not, and within a session only the speaker's corrections count.
func (n *candidate) judgeChange(fresh string) {
	text := Plain(n.claim.Text)
	if !sameSpeaker(text, fresh) {
		return
	}
	if score := trained.Replaces(spoken(text), spoken(fresh)); score >= mayReplace {
		n.amend(fresh, score)
	}
}

// amend sets the change by which the new statement replaces the known one, or the clause of it
// that it replaces most likely. The known claim gets a note and is kept, so that nothing is lost
// if the judgement is wrong.
func (n *candidate) amend(fresh string, score float64) {
	text := Plain(n.claim.Text)
	fresh = spoken(fresh)
	clause := text
	if known := valuesOf(text); !known.single() {
		most := -1.0
		for _, part := range known.clauses {
			if s := trained.Replaces(text[part.from:part.to], fresh); s > most {
				clause, most = text[part.from:part.to], s
			}
		}
	}
	clause = strings.TrimRight(clause, ".!。 ")
	c := change{is: inNote(cmp.Or(differingEnd(fresh, clause), fresh)), judged: true, perhaps: score < surelyReplaces}
	at := strings.Index(n.claim.Text, clause)
	if at < 0 || text != n.claim.Text && !strings.Contains(n.claim.Text, ", now "+c.is+")") {
		return // another note is in the way
	}
	c.was = span{at, at + len(clause)}
	c.clause = c.was
	n.score, n.change, n.Relation, n.Why = score, c, Amends, fmt.Sprintf("replaces it by all that both say (%.2f)", score)
}

// spoken returns a statement without the "User: " prefix.
func spoken(text string) string { return strings.TrimPrefix(text, "User: ") }

// Scores of trained.Replaces. docs/decisions/0047 has how many judgements above them are right.
const (
	mayReplace     = 0.2
	surelyReplaces = 0.55
)

// dropUnlikely drops judged changes with a lower score than another one, unless the score is at
// least surelyReplaces. A statement mostly replaces one thing.
func (p *planner) dropUnlikely() {
	most := 0.0
	for i := range p.near {
		most = max(most, p.near[i].score)
	}
	p.near = slices.DeleteFunc(p.near, func(n candidate) bool { return n.score > 0 && n.score < min(most, surelyReplaces) })
}
