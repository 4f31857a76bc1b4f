package scorer

import (
	"math"
	"slices"

	"github.com/kenlayer/ken"
)

// Rules of the gate.
const (
	// MinTrials is how many turns must have told something before the learned order
	// can be in force.
	MinTrials = 200
	// Doubt is the probability, at most, that an order that is no better than the
	// plain one is ever switched on, however many turns are looked at.
	Doubt = 0.01
)

// Gate decides whether the learned order is in force. It is told of every trial, in
// order, and bets on the next one: its wealth starts at 1 and is multiplied by
// 1 + λ·d, where d is the difference of the trial, -1..1, and λ, 0..½, is fixed
// before it is known. If the learned order is no better, wealth can't be expected to
// grow, and by Ville's inequality it ever reaches 1/[Doubt] with a probability of at
// most Doubt. So, unlike an interval that is read after every turn, the rule may be
// asked at any time; the interval that belongs to it is the confidence sequence of
// I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by
// betting (JRSS B, 2024), whose λ = mean / (variance + mean²) this uses.
//
// It opens when there were MinTrials and wealth has reached 1/Doubt. A second wealth,
// which bets on the plain order, closes it again by the same rule, and both start
// anew. The zero value is closed.
type Gate struct {
	On      bool    `json:"on"`
	Trials  int     `json:"trials"`  // since it was opened or closed
	Sum     float64 `json:"sum"`     // of their differences
	Square  float64 `json:"square"`  // of their squares
	For     float64 `json:"for"`     // logarithm of the wealth that bets on the learned order
	Against float64 `json:"against"` // on the plain one

	Wins   int `json:"wins"` // ever
	Losses int `json:"losses"`
	Ties   int `json:"ties"`
}

// Tell takes up a trial. One that tells nothing changes nothing.
func (g *Gate) Tell(t Trial) {
	if !t.Tells() {
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

// Mean is the mean difference of the trials since the gate moved last.
func (g *Gate) Mean() float64 {
	if g.Trials == 0 {
		return 0
	}
	return g.Sum / float64(g.Trials)
}

// Wealth is what betting on the learned order has made of 1, and what is needed.
func (g *Gate) Wealth() (have, need float64) { return math.Exp(g.For), 1 / Doubt }

// sound reports a gate that can be gone on with: numbers that came from a shelf.
func (g *Gate) sound() bool {
	for _, f := range []float64{g.Sum, g.Square, g.For, g.Against} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return g.Trials >= 0 && g.Wins >= 0 && g.Losses >= 0 && g.Ties >= 0
}

// Judged is a candidate that was shown, and what came of it.
type Judged struct {
	Features
	Used bool // it helped: see ken.Use.Helped
}

// Labels joins what a turn's orders were offered with what the answer used. Only
// candidates that were shown are there: of the others nothing is known. They are in
// the plain order.
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

// bare reports a candidate of which only the id is left: it was forgotten.
func bare(c *Features) bool { return *c == Features{ID: c.ID} }

// Trial is one turn on which two orders were compared.
type Trial struct {
	Shown, Used    int     // candidates with a label, and those of them that helped
	Plain, Learned float64 // normalised discounted cumulative gain, 0..1
}

// Tells reports whether the orders can differ on the turn: something was used, and
// something was not.
func (t Trial) Tells() bool { return t.Used > 0 && t.Used < t.Shown }

// Difference is what the learned order gained, -1..1.
func (t Trial) Difference() float64 { return t.Learned - t.Plain }

// Try compares the plain order with a model's on a turn, which the model must not
// have learned from yet: so every turn is a test, and then an example (progressive
// validation: A. Blum, A. Kalai and J. Langford, Beating the hold-out, COLT 1999).
// Both orders are reduced to what was shown (condensed lists: T. Sakai, Alternatives
// to Bpref, SIGIR 2007).
func (m *Model) Try(labels []Judged) Trial {
	t := Trial{Shown: len(labels)}
	plain := make([]bool, len(labels))
	for i := range labels {
		plain[i] = labels[i].Used
		if labels[i].Used {
			t.Used++
		}
	}
	if !t.Tells() {
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

// rank orders the candidates by the model.
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

// Rank is the order that the model would give candidates with labels: their indices,
// best first.
func (m *Model) Rank(labels []Judged) []int { return m.rank(labels) }

// Learn takes up a turn, in the plain order.
func (m *Model) Learn(labels []Judged) {
	for i := range labels {
		v := vectorOf(&labels[i].Features)
		m.learn(&v, labels[i].Used)
	}
}

// NDCG is the normalised discounted cumulative gain of the first k places of an
// order in which each place helps or not (Järvelin and Kekäläinen 2002). used is how
// many help in all; 0 for none.
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
