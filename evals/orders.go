package evals

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kenlayer/ken/internal/evals/metric"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// Orders compares the plain order with the learned one on the turns of a log. Its JSON
// form is a contract, as a Report's is.
type Orders struct {
	Turns   int `json:"turns"`   // in the log
	Judged  int `json:"judged"`  // of these, with an answer that was heard and candidates that could be ordered
	Telling int `json:"telling"` // of these, where the orders can differ: see scorer.Trial.Tells

	Overall   Contest   `json:"overall"`
	Entities  []Contest `json:"entities"` // by the strongest focal entity, those with most turns first
	Projects  []Contest `json:"projects"`
	Corrected IPS       `json:"ips"`

	Standing scorer.Standing `json:"standing"` // of the owner's learner
	Verdict  string          `json:"verdict"`
	Notes    []string        `json:"notes"` // what is missing
}

// Contest is how two orders did on the same turns. Each is reduced to what was shown,
// and relevant is what was used: see scorer.Model.Try.
type Contest struct {
	Slice  string `json:"slice,omitempty"`
	Turns  int    `json:"turns"`
	Wins   int    `json:"wins"` // turns on which the learned order did better, by nDCG
	Losses int    `json:"losses"`
	Ties   int    `json:"ties"`

	// Plain and Learned are means by measure: hit@1, hit@3, ndcg@5 and ndcg.
	Plain   map[string]float64 `json:"plain"`
	Learned map[string]float64 `json:"learned"`
	// Difference is learned minus plain in ndcg, with its 95 % interval, by a paired
	// bootstrap.
	Difference float64    `json:"difference"`
	CI         [2]float64 `json:"ci"`
}

// IPS estimates what was used of what each order would have handed on, past the bias
// of the order that was in force: a candidate that was shown counts as much more as
// it was improbable to be shown (inverse propensity, self-normalised: A. Swaminathan
// and T. Joachims, The self-normalized estimator for counterfactual learning, NeurIPS
// 2015). Only the two candidates at the cut have a probability below one.
type IPS struct {
	Turns   int     `json:"turns"`   // in which exploration could do something
	Swapped int     `json:"swapped"` // of these, in which it did
	Plain   float64 `json:"plain"`   // used, of the candidates at the cut that the order hands on, 0..1
	Learned float64 `json:"learned"`
}

// leastSlice is how many turns a slice has at least to be told by itself.
const leastSlice = 5

// maxSlices is how many slices are told.
const maxSlices = 10

// measured is one turn on which both orders were tried.
type measured struct {
	entity, project string
	trial           scorer.Trial
	plain, learned  map[string]float64
}

// CompareOrders replays kept receipts from the oldest to the newest, given in any
// order: each turn is first a test of the model and then an example, so that what it
// is measured on is never what it learned from. now is where the owner's own learner
// stands. The same log and seed give the same figures.
func CompareOrders(log []receipt.Record, now scorer.Standing, seed uint64) *Orders {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b receipt.Record) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Turn, b.Turn)) })
	o := &Orders{Turns: len(log), Standing: now, Entities: []Contest{}, Projects: []Contest{}, Notes: []string{}}
	var st scorer.State
	var all []measured
	var ips ipsSums
	for i := range log {
		r := &log[i]
		labels := scorer.Labels(r.Ranking, r.Used)
		if len(labels) == 0 {
			continue
		}
		o.Judged++
		ips.add(&st.Model, r, labels)
		m := measured{project: r.Project, plain: measuresOf(labels, nil), learned: measuresOf(labels, st.Model.Rank(labels))}
		if len(r.Focal) > 0 {
			m.entity = r.Focal[0]
		}
		if m.trial = st.Take(labels); m.trial.Tells() {
			all = append(all, m)
		}
	}
	o.Telling = len(all)
	o.Overall = contest("", all, seed)
	o.Entities = slicesOf(all, func(m *measured) string { return m.entity }, seed)
	o.Projects = slicesOf(all, func(m *measured) string { return m.project }, seed)
	o.Corrected = ips.sum()
	o.judge()
	return o
}

// measuresOf are the measures of an order of labels; nil is the plain order.
func measuresOf(labels []scorer.Judged, order []int) map[string]float64 {
	used, grades := 0, make([]bool, len(labels))
	for i := range labels {
		at := i
		if order != nil {
			at = order[i]
		}
		if grades[i] = labels[at].Used; grades[i] {
			used++
		}
	}
	hit := func(k int) float64 {
		if slices.Contains(grades[:min(k, len(grades))], true) {
			return 1
		}
		return 0
	}
	return map[string]float64{"hit@1": hit(1), "hit@3": hit(3), "ndcg@5": scorer.NDCG(grades, used, 5), "ndcg": scorer.NDCG(grades, used, len(grades))}
}

// OrderMeasures are the measures of a Contest, in the order in which they are shown.
var OrderMeasures = []string{"hit@1", "hit@3", "ndcg@5", "ndcg"}

func contest(name string, turns []measured, seed uint64) Contest {
	c := Contest{Slice: name, Turns: len(turns), Plain: map[string]float64{}, Learned: map[string]float64{}}
	column := func(of func(*measured) float64) (out []float64) {
		for i := range turns {
			out = append(out, of(&turns[i]))
		}
		return out
	}
	for _, name := range OrderMeasures {
		c.Plain[name] = round(metric.Mean(column(func(m *measured) float64 { return m.plain[name] })), 4)
		c.Learned[name] = round(metric.Mean(column(func(m *measured) float64 { return m.learned[name] })), 4)
	}
	for i := range turns {
		switch d := turns[i].trial.Difference(); {
		case d > 0:
			c.Wins++
		case d < 0:
			c.Losses++
		default:
			c.Ties++
		}
	}
	if len(turns) > 0 {
		d := metric.NewDraws(len(turns), seed).Paired(column(func(m *measured) float64 { return m.trial.Plain }), column(func(m *measured) float64 { return m.trial.Learned }))
		c.Difference, c.CI = round(d.Mean, 4), [2]float64{round(d.Low, 4), round(d.High, 4)}
	}
	return c
}

// slicesOf are contests by what of says; "" is in none.
func slicesOf(turns []measured, of func(*measured) string, seed uint64) []Contest {
	by := map[string][]measured{}
	for i := range turns {
		if name := of(&turns[i]); name != "" {
			by[name] = append(by[name], turns[i])
		}
	}
	out := []Contest{}
	for _, name := range sorted(by) {
		if len(by[name]) >= leastSlice {
			out = append(out, contest(name, by[name], seed))
		}
	}
	slices.SortStableFunc(out, func(a, b Contest) int { return cmp.Compare(b.Turns, a.Turns) })
	return out[:min(len(out), maxSlices)]
}

// ipsSums adds up the estimates of both orders.
type ipsSums struct {
	turns, swapped int
	used, weight   [2]float64 // plain, learned
}

// add takes up a turn before the model learns from it.
func (s *ipsSums) add(m *scorer.Model, r *receipt.Record, labels []scorer.Judged) {
	x := r.Explored
	if x == nil || x.Propensity <= 0 {
		return
	}
	s.turns++
	shown := x.Out
	if x.Swapped {
		s.swapped++
		shown = x.In
	}
	at := slices.IndexFunc(labels, func(l scorer.Judged) bool { return l.ID == shown })
	var two []scorer.Judged // those at the cut, in the plain order
	for i := range r.Ranking.Candidates {
		if c := &r.Ranking.Candidates[i]; c.ID == x.In || c.ID == x.Out {
			two = append(two, scorer.Judged{Features: *c})
		}
	}
	if at < 0 || len(two) != 2 { // the budget cut it, or it was forgotten
		return
	}
	for i, first := range []int{0, m.Rank(two)[0]} {
		if two[first].ID != shown {
			continue
		}
		s.weight[i] += 1 / x.Propensity
		if labels[at].Used {
			s.used[i] += 1 / x.Propensity
		}
	}
}

func (s *ipsSums) sum() IPS {
	out := IPS{Turns: s.turns, Swapped: s.swapped}
	for i, v := range []*float64{&out.Plain, &out.Learned} {
		if s.weight[i] > 0 {
			*v = round(s.used[i]/s.weight[i], 4)
		}
	}
	return out
}

// judge says what follows, and what is missing.
func (o *Orders) judge() {
	g := &o.Standing.Gate
	have, need := g.Wealth()
	switch {
	case o.Standing.Mode == scorer.ModeOff:
		o.Verdict = "off: structure.scorer is off"
	case o.Standing.Mode == scorer.ModeOn && o.Standing.InForce:
		o.Verdict = "on: structure.scorer is on, whatever it is worth"
	case o.Standing.InForce:
		o.Verdict = "on: the learned order proved to be better"
	case g.Trials < scorer.MinTrials:
		o.Verdict = fmt.Sprintf("off: %d of the %d turns that it takes to tell", g.Trials, scorer.MinTrials)
	default:
		o.Verdict = fmt.Sprintf("off: the evidence for the learned order is %.3g, and must be %.0f", have, need)
	}
	switch {
	case o.Turns == 0:
		o.Notes = append(o.Notes, "no receipts are kept: they need turns, and session.receipts above 0")
	case o.Judged == 0:
		o.Notes = append(o.Notes, "no turn has a judged answer: answers are heard in sessions, through ken serve, ken chat, a Transport or Layer.Answered")
	case o.Telling == 0:
		o.Notes = append(o.Notes, "no answer used some of what it was shown and left the rest: nothing tells the orders apart")
	}
	if o.Judged > 0 && o.Corrected.Swapped == 0 {
		o.Notes = append(o.Notes, "nothing was explored yet: what is left out at the cut is not known")
	}
}
