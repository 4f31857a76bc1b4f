package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/evals/metric"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// variant is one configuration that is measured.
type variant struct {
	name     string // the mode, and the varied settings
	mode     Mode
	settings []Setting // values of the axes
	cfg      config.Config
}

// maxVariants limits a grid: more is probably a mistyped range.
const maxVariants = 500

// turnDeadline replaces the deadlines of a turn, so that results don't depend on how busy
// the machine is. The latencies show whether a turn would have been late.
const turnDeadline = 30 * time.Second

// reservedKeys are keys that a measurement sets itself.
var reservedKeys = []string{"knowledge.db_path", "knowledge.owner", "telemetry.events", "middleware.events", "middleware.knowledge"}

// variants returns every combination of modes and values, modes outermost.
func variants(o *Options) ([]variant, error) {
	base := *o.Config
	if !slices.Contains(o.userKeys(), "retrieval.deadline") {
		base.Retrieval.Deadline = turnDeadline
	}
	if !slices.Contains(o.userKeys(), "knowledge.embed_timeout") {
		base.Knowledge.EmbedTimeout = turnDeadline
	}
	for _, s := range o.Set {
		if err := assign(&base, &s); err != nil {
			return nil, err
		}
	}
	grid := [][]Setting{nil}
	for _, axis := range o.Vary {
		if len(axis.Values) == 0 {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: axis.Key, Msg: "no values to try", Try: "Write it as rrf_k=20,60,120."}
		}
		var next [][]Setting
		for _, cell := range grid {
			for _, v := range axis.Values {
				next = append(next, append(slices.Clone(cell), Setting{axis.Key, v}))
			}
		}
		if grid = next; len(grid)*len(o.Modes) > maxVariants {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "vary", Msg: fmt.Sprintf("more than %d combinations", maxVariants), Try: "Try fewer values at once."}
		}
	}
	if o.Ablate {
		for _, cell := range grid {
			for _, key := range signals() {
				grid = append(grid, append(slices.Clone(cell), Setting{key, "0"}))
			}
		}
	}
	var out []variant
	for _, m := range o.Modes {
		for _, cell := range grid {
			v, err := combine(base, m, cell)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// signals returns the keys of the ranker's signals; 0 turns a signal off.
func signals() []string {
	return slices.DeleteFunc(slices.Clone(config.Keys()), func(key string) bool { return !strings.HasPrefix(key, "retrieval.signals.") })
}

func combine(base config.Config, m Mode, cell []Setting) (variant, error) {
	v := variant{mode: m, cfg: base}
	m.apply(&v.cfg)
	v.cfg.Knowledge.Nearest = 0 // claims added without evidence are no answer, and a block with only these would count as one
	parts := []string{string(m)}
	for _, s := range cell {
		short := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		if err := assign(&v.cfg, &s); err != nil {
			return v, err
		}
		v.settings = append(v.settings, s)
		parts = append(parts, short+"="+s.Value)
	}
	v.name = strings.Join(parts, " ")
	v.cfg.Middleware.Knowledge, v.cfg.Middleware.Events = true, false
	if err := v.cfg.Validate(); err != nil {
		return v, fmt.Errorf("%s: %w", v.name, err)
	}
	return v, nil
}

// assign sets a key, and writes its full name into s.
func assign(c *config.Config, s *Setting) error {
	key, err := Resolve(s.Key, s.Value)
	if err != nil {
		return err
	}
	if slices.Contains(reservedKeys, key) {
		return &ken.Error{Code: ken.CodeInvalid, Field: key, Msg: "is set by the measurement itself", Try: "Vary another key."}
	}
	s.Key = key
	return c.Set(key, s.Value)
}

// userKeys returns the full names of the keys that the user set.
func (o *Options) userKeys() (keys []string) {
	add := func(name string, values ...string) {
		if key, err := Resolve(name, values...); err == nil {
			keys = append(keys, key)
		}
	}
	for _, s := range o.Set {
		add(s.Key, s.Value)
	}
	for _, a := range o.Vary {
		add(a.Key, a.Values...)
	}
	return keys
}

// Resolve returns the full name of a configuration key, which may be abbreviated to its
// end, such as rrf_k. If several keys have the same end (floor is a switch and a
// number), the one that accepts all the values is used. An unknown or ambiguous name is
// ErrInvalid.
func Resolve(name string, values ...string) (string, error) {
	var ends, fits []string
	for _, key := range config.Keys() {
		if key == name {
			return key, nil
		}
		if strings.HasSuffix(key, "."+name) {
			ends = append(ends, key)
			if accepts(key, values) {
				fits = append(fits, key)
			}
		}
	}
	switch {
	case len(ends) == 1:
		return ends[0], nil
	case len(fits) == 1:
		return fits[0], nil
	case len(ends) == 0:
		_, err := config.Default().Get(name) // its error names the nearest key
		return "", err
	}
	msg := "several keys have this ending"
	if len(fits) == 0 {
		msg += ", and none of them takes " + strings.Join(values, ", ")
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: msg, Try: "Write one of " + strings.Join(ends, ", ") + "."}
}

func accepts(key string, values []string) bool {
	c := config.Default()
	return !slices.ContainsFunc(values, func(v string) bool { return c.Set(key, v) != nil })
}

// Orders compares the default order with the learned one on logged turns. Its JSON form
// is a contract, like that of Report.
type Orders struct {
	Turns   int `json:"turns"`   // in the log
	Judged  int `json:"judged"`  // of these, with a recorded answer and candidates that could be reordered
	Telling int `json:"telling"` // of these, where the orders can differ: see scorer.Trial.Tells

	Overall   Contest   `json:"overall"`
	Entities  []Contest `json:"entities"` // by the strongest focal entity, the most frequent first
	Projects  []Contest `json:"projects"`
	Corrected IPS       `json:"ips"`

	Standing scorer.Standing `json:"standing"` // state of the owner's learner
	Verdict  string          `json:"verdict"`
	Notes    []string        `json:"notes"` // what data is missing
}

// Contest compares two orders on the same turns. Only items that were shown count, and
// those that were used are relevant: see scorer.Model.Try.
type Contest struct {
	Slice  string `json:"slice,omitempty"`
	Turns  int    `json:"turns"`
	Wins   int    `json:"wins"` // turns on which the learned order had a higher nDCG
	Losses int    `json:"losses"`
	Ties   int    `json:"ties"`

	// Plain and Learned are means by measure: hit@1, hit@3, ndcg@5 and ndcg.
	Plain   map[string]float64 `json:"plain"`
	Learned map[string]float64 `json:"learned"`
	// Difference is learned minus plain in ndcg, with its 95 % interval, from a paired
	// bootstrap.
	Difference float64    `json:"difference"`
	CI         [2]float64 `json:"ci"`
}

// IPS estimates how much of what each order would have passed on would have been used,
// corrected for the bias of the order in use: a shown candidate is weighted by the
// inverse of its probability of being shown (self-normalised inverse propensity: A.
// Swaminathan and T. Joachims, The self-normalized estimator for counterfactual
// learning, NeurIPS 2015). Only the two candidates at the cut have a probability below
// one.
type IPS struct {
	Turns   int     `json:"turns"`   // turns in which exploration was possible
	Swapped int     `json:"swapped"` // of these, turns in which it swapped
	Plain   float64 `json:"plain"`   // share of the candidates at the cut passed on by the order that were used, 0..1
	Learned float64 `json:"learned"`
}

// minSlice is the minimum number of turns of a slice that is reported.
const minSlice = 5

// maxSlices is the maximum number of slices that are reported.
const maxSlices = 10

// measured is one turn on which both orders were evaluated.
type measured struct {
	entity, project string
	trial           scorer.Trial
	plain, learned  map[string]float64
}

// CompareOrders replays kept receipts, given in any order, from the oldest to the
// newest. Each turn first tests the model and then trains it, so the model is never
// tested on what it learned from. now is the state of the owner's own learner. The same
// log and seed give the same results.
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
		if m.trial = st.Take(labels); m.trial.Informative() {
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

// measuresOf returns the measures of an order of labels; nil is the default order.
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

// OrderMeasures lists the measures of a Contest, in display order.
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

// slicesOf returns the contests of turns grouped by of; turns for which it returns ""
// are left out.
func slicesOf(turns []measured, of func(*measured) string, seed uint64) []Contest {
	by := map[string][]measured{}
	for i := range turns {
		if name := of(&turns[i]); name != "" {
			by[name] = append(by[name], turns[i])
		}
	}
	out := []Contest{}
	for _, name := range sorted(by) {
		if len(by[name]) >= minSlice {
			out = append(out, contest(name, by[name], seed))
		}
	}
	slices.SortStableFunc(out, func(a, b Contest) int { return cmp.Compare(b.Turns, a.Turns) })
	return out[:min(len(out), maxSlices)]
}

// ipsSums accumulates the estimates of both orders.
type ipsSums struct {
	turns, swapped int
	used, weight   [2]float64 // plain, learned
}

// add adds a turn, before the model learns from it.
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
	var two []scorer.Judged // the two candidates at the cut, in the default order
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

// judge sets the verdict and the notes.
func (o *Orders) judge() {
	g := &o.Standing.Gate
	have, need := g.Wealth()
	switch {
	case o.Standing.Mode == scorer.ModeOff:
		o.Verdict = "off: structure.scorer is off"
	case o.Standing.Mode == scorer.ModeOn && o.Standing.InForce:
		o.Verdict = "on: structure.scorer is on, without regard to the evidence"
	case o.Standing.InForce:
		o.Verdict = "on: the learned order proved to be better"
	case g.Trials < scorer.MinTrials:
		o.Verdict = fmt.Sprintf("off: %d of the %d turns that a decision needs", g.Trials, scorer.MinTrials)
	default:
		o.Verdict = fmt.Sprintf("off: the evidence for the learned order is %.3g, and must be %.0f", have, need)
	}
	switch {
	case o.Turns == 0:
		o.Notes = append(o.Notes, "no receipts are kept: they need turns, and session.receipts above 0")
	case o.Judged == 0:
		o.Notes = append(o.Notes, "no turn has a judged answer: answers are recorded in sessions, through ken serve, ken chat, a Transport or Layer.Answered")
	case o.Telling == 0:
		o.Notes = append(o.Notes, "no answer used only a part of its items: nothing distinguishes the orders")
	}
	if o.Judged > 0 && o.Corrected.Swapped == 0 {
		o.Notes = append(o.Notes, "nothing was explored yet: what is left out at the cut is not known")
	}
}
