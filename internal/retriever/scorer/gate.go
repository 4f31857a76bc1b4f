package scorer

import (
	"math"
	"slices"

	"github.com/kenlayer/ken"
)

// Parameters of the gate.
const (
	// MinTrials is the minimum number of informative trials before the learned order can take
	// effect.
	MinTrials = 200
	// Doubt is the maximum probability that an order which is no better than the plain one is ever
	// switched on, however many turns are examined.
	Doubt = 0.01
)

// Gate decides whether the learned order takes effect. It gets every trial, in order, and bets on
// the next one. Its wealth starts at 1 and is multiplied by 1 + λ·d, where d is the difference of
// the trial, -1..1, and λ, 0..½, is chosen before the trial is known. If the learned order is no
// better, the expected wealth does not grow, and by Ville's inequality the probability that it ever
// reaches 1/[Doubt] is at most Doubt. So the rule may be checked at any time, unlike a confidence
// interval that is read after every turn. The corresponding interval is the confidence sequence of
// I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting (JRSS B,
// 2024), from which λ = mean / (variance + mean²) is taken.
//
// The gate opens after MinTrials when wealth has reached 1/Doubt. A second wealth, which bets on
// the plain order, closes it by the same rule. After each change both start again. The zero value
// is closed.
type Gate struct {
	On      bool    `json:"on"`
	Trials  int     `json:"trials"`  // since the gate was opened or closed
	Sum     float64 `json:"sum"`     // sum of their differences
	Square  float64 `json:"square"`  // sum of the squares
	For     float64 `json:"for"`     // logarithm of the wealth that bets on the learned order
	Against float64 `json:"against"` // the same for the plain order

	Wins   int `json:"wins"` // in total, since the beginning
	Losses int `json:"losses"`
	Ties   int `json:"ties"`
}

// Record adds a trial. It ignores trials that are not informative.
func (g *Gate) Record(t Trial) {
	if !t.Informative() {
		return
	}
	d := clamp(t.Difference(), -1, 1)
	switch {
	case d > 0:
		g.Wins++
	case d < 0:
		g.Losses++
	default:
		g.Ties++
	}
	mean := g.Sum / float64(g.Trials+1)
	variance := (0.25+g.Square)/float64(g.Trials+1) - mean*mean
	bet := clamp(mean/(math.Max(variance, 1e-6)+mean*mean), -0.5, 0.5)
	g.For += math.Log1p(math.Max(bet, 0) * d)
	g.Against += math.Log1p(math.Max(-bet, 0) * -d)
	g.Trials++
	g.Sum += d
	g.Square += d * d
	enough := math.Log(1 / Doubt)
	if !g.On && g.Trials >= MinTrials && g.For >= enough || g.On && g.Against >= enough {
		*g = Gate{On: !g.On, Wins: g.Wins, Losses: g.Losses, Ties: g.Ties}
	}
}

// Wealth returns the wealth of betting on the learned order, and the wealth at which the gate
// opens.
func (g *Gate) Wealth() (have, need float64) { return math.Exp(g.For), 1 / Doubt }

// sound reports whether the values, which come from a shelf, are valid numbers.
func (g *Gate) sound() bool {
	for _, f := range []float64{g.Sum, g.Square, g.For, g.Against} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return g.Trials >= 0 && g.Wins >= 0 && g.Losses >= 0 && g.Ties >= 0
}

// Judged is a candidate that was shown, with its label.
type Judged struct {
	Features
	Used bool // it helped the answer: see ken.Use.Helped
}

// Labels combines a turn's ranking with the uses by its answer. The result has only the candidates
// that were shown, because nothing is known about the others. They are in the plain order.
func Labels(r *ken.Ranking, used []ken.Use) []Judged {
	if r == nil || len(used) == 0 {
		return nil
	}
	out := make([]Judged, 0, len(used))
	for i := range r.Candidates {
		c := &r.Candidates[i]
		at := slices.IndexFunc(used, func(u ken.Use) bool { return u.ID == c.ID })
		if at < 0 || c.Constraint || bare(c) {
			continue
		}
		out = append(out, Judged{*c, used[at].Helped()})
	}
	return out
}

// bare reports whether only the id of a candidate is left, because the claim was forgotten.
func bare(c *Features) bool { return *c == Features{ID: c.ID} }

// Trial is one turn on which two orders were compared.
type Trial struct {
	Shown, Used    int     // number of labelled candidates, and of those that helped
	Plain, Learned float64 // normalised discounted cumulative gain, 0..1
}

// Informative reports whether the orders can differ in the turn: some candidates were used and some
// were not.
func (t Trial) Informative() bool { return t.Used > 0 && t.Used < t.Shown }

// Difference returns the gain of the learned order over the plain one, -1..1.
func (t Trial) Difference() float64 { return t.Learned - t.Plain }

// Try compares the plain order with the model's in a turn. The model must not have learned from the
// turn yet, so that every turn is first a test and then an example (progressive validation: A.
// Blum, A. Kalai and J. Langford, Beating the hold-out, COLT 1999). Both orders are reduced to the
// candidates that were shown (condensed lists: T. Sakai, Alternatives to Bpref, SIGIR 2007).
func (m *Model) Try(labels []Judged) Trial {
	t := Trial{Shown: len(labels)}
	plain := make([]bool, len(labels))
	for i := range labels {
		plain[i] = labels[i].Used
		if labels[i].Used {
			t.Used++
		}
	}
	if !t.Informative() {
		return t
	}
	t.Plain = NDCG(plain, t.Used, len(plain))
	learned := make([]bool, len(labels))
	for at, i := range m.rank(labels) {
		learned[at] = labels[i].Used
	}
	t.Learned = NDCG(learned, t.Used, len(learned))
	return t
}

// rank returns the indices of the candidates in the model's order.
func (m *Model) rank(labels []Judged) []int {
	order, score := identity(len(labels)), make([]float64, len(labels))
	for i := range labels {
		v := vectorOf(&labels[i].Features)
		score[i] = m.logit(&v)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return 0
	})
	return order
}

// Rank returns the indices of labelled candidates in the model's order, best first.
func (m *Model) Rank(labels []Judged) []int { return m.rank(labels) }

// Learn learns from a turn's candidates, in the plain order.
func (m *Model) Learn(labels []Judged) {
	for i := range labels {
		v := vectorOf(&labels[i].Features)
		m.learn(&v, labels[i].Used)
	}
}

// NDCG returns the normalised discounted cumulative gain of the first k places of an order
// (Järvelin and Kekäläinen 2002). order says for each place whether its candidate helped. used is
// the total number of candidates that helped; if it is 0, the result is 0.
func NDCG(order []bool, used, k int) float64 {
	gain, most := 0.0, 0.0
	for i, u := range order[:min(k, len(order))] {
		if u {
			gain += 1 / math.Log2(float64(i)+2)
		}
	}
	for i := range min(k, used) {
		most += 1 / math.Log2(float64(i)+2)
	}
	if most == 0 {
		return 0
	}
	return gain / most
}
