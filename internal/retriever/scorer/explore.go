package scorer

import "hash/fnv"

// Rate is in how many turns the two candidates at the cut are swapped.
const Rate = 0.05

// Explorer decides whether a turn explores. The zero value explores in Rate of all
// turns.
type Explorer struct {
	Rate float64 // 0..1; 0 means Rate
	// Chance is where the decision falls for a turn, 0 to below 1: below Rate, it
	// explores. The same turn must always have the same. Nil: by a hash of the turn's
	// id.
	Chance func(turn string) float64
}

// Explore reports whether a turn swaps the two candidates at the cut, and how
// probable what it does was.
//
// Without it, what the order leaves out is never seen to be of use, and an order can
// only be judged by what another one showed. As the probability is known, what
// would have come of another order can be estimated without that bias: by inverse
// propensity (A. Swaminathan and T. Joachims, Counterfactual risk minimization, ICML
// 2015; T. Joachims, A. Swaminathan and T. Schnabel, Unbiased learning-to-rank with
// biased feedback, WSDM 2017). Swapping neighbours only costs next to nothing.
func (e Explorer) Explore(turn string) (swap bool, propensity float64) {
	rate := e.Rate
	if rate == 0 {
		rate = Rate
	}
	rate = clamp(rate, 0, 1)
	chance := e.Chance
	if chance == nil {
		chance = byID
	}
	if chance(turn) < rate {
		return true, rate
	}
	return false, 1 - rate
}

func byID(turn string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn))
	return float64(mix(h.Sum64())>>11) / (1 << 53)
}
