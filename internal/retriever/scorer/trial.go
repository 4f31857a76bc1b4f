package scorer

import (
	"math"
	"slices"

	"github.com/kenlayer/ken"
)

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
