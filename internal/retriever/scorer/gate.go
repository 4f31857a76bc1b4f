package scorer

import "math"

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
