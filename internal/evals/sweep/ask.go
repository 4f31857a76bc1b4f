package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// turnResult holds the result of one question's turn.
type turnResult struct {
	ranked   []string // records in the order of the turn's ranking, after the floor
	block    []string // records in the block
	empty    bool     // there was no block
	chars    int      // length of the block
	ms       float64  // wall time of Layer.Assemble if the turn ran alone; else 0
	degraded string   // what was degraded, "" for nothing
}

// probe passes one turn's ranking out of the chain.
type probe struct{ ranked []string }

type probeKey struct{}

// recordRanking returns a middleware that records the order in which a turn ranked its
// candidates. It changes nothing. pool is the pool size of the retriever.
func recordRanking(pool int) middleware.Middleware {
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, st *middleware.State) error {
			err := next(ctx, st)
			if p, ok := ctx.Value(probeKey{}).(*probe); ok {
				p.ranked = ranking(&st.Found, pool)
			}
			return err
		}
	}
}

// ranking returns every candidate that passed the floor, best first: those passed on to
// the block, then those beyond retrieval's top k, which the retriever lists as cut in
// the same order. The first cuts, as many as the hits exceeded the pool's size, are
// those that fusion left out of the pool. Rules always come first in the turns that
// they apply to, whatever the question; so they are sorted to the place that their
// score gives.
func ranking(found *retriever.Result, pool int) []string {
	var out, beyond []string
	var in []*retriever.Candidate
	for i := range found.Candidates {
		if c := &found.Candidates[i]; !c.Memory {
			in = append(in, c)
		}
	}
	slices.SortStableFunc(in, func(a, b *retriever.Candidate) int { return cmp.Compare(b.Fused, a.Fused) })
	for _, c := range in {
		out = append(out, c.Row.ID)
	}
	for _, cut := range found.Cut {
		if cut.Reason == ken.CutPool {
			beyond = append(beyond, cut.ID)
		}
	}
	unranked := max(0, found.Retrieved-found.Memory-pool)
	return append(out, beyond[min(unranked, len(beyond)):]...)
}

// ask runs one question as the first turn of a conversation. Nothing else is timed.
func ask(ctx context.Context, l *middleware.Layer, o *owner, q *dataset.Query) (turnResult, error) {
	_, release, err := l.Store(ctx, o.name) // opening it is not part of the turn's time
	if err != nil {
		return turnResult{}, err
	}
	defer release()
	p := &probe{}
	turn := ken.Turn{Owner: o.name, Messages: []ken.Message{{Role: "user", Text: q.Text}}}
	asked := context.WithValue(ctx, probeKey{}, p)
	start := time.Now()
	a := l.Assemble(asked, turn)
	h := turnResult{ms: max(float64(time.Since(start))/float64(time.Millisecond), 1e-6)}
	if err := ctx.Err(); err != nil {
		return turnResult{}, err
	}
	r := &a.Receipt
	h.empty, h.chars = r.Block == "", r.Chars
	if len(r.Degraded) > 0 {
		h.degraded = r.Degraded[0]
	}
	for _, id := range p.ranked {
		h.ranked = append(h.ranked, o.records[id])
	}
	for i := range r.Items {
		h.block = append(h.block, o.records[r.Items[i].ID])
	}
	return h, nil
}

// answer is the result of one question in one mode, as WriteAnswers writes it.
type answer struct {
	Dataset  string             `json:"dataset"`
	Mode     string             `json:"mode"`
	ID       string             `json:"_id"`
	Category string             `json:"category,omitempty"`
	Text     string             `json:"text"`
	Relevant []string           `json:"relevant"`
	Ranked   []string           `json:"ranked"` // at most depth entries, best first
	Block    []string           `json:"block"`
	MS       float64            `json:"ms,omitempty"` // only of a turn that was timed
	Values   map[string]float64 `json:"values"`       // by measure, for measures that apply to the question
}

// WriteAnswers writes one JSON line for each mode and question: the question, what is
// relevant, the ranking and the content of the block. It needs a report from Run: a
// report that was read from a file has no answers and writes no lines.
func (r *Report) WriteAnswers(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range r.answers {
		if err := enc.Encode(&r.answers[i]); err != nil {
			return fmt.Errorf("write answers: %w", err)
		}
	}
	return nil
}

func answers(name string, queries []dataset.Query, runs []run) []answer {
	out := make([]answer, 0, len(queries)*len(runs))
	for i := range runs {
		for q := range queries {
			asked, h := &queries[q], &runs[i].results[q]
			a := answer{Dataset: name, Mode: runs[i].name, ID: asked.ID, Category: asked.Category, Text: asked.Text, Relevant: sorted(asked.Relevant),
				Ranked: append([]string{}, h.ranked[:min(len(h.ranked), depth)]...), Block: append([]string{}, h.block...), MS: round(h.ms, 3), Values: map[string]float64{}}
			for _, m := range measures {
				if m.Answerable && asked.Answerable() || !m.Answerable && asked.NoAnswer() {
					a.Values[m.Name] = round(m.of(&runs[i].judged[q]), 6)
				}
			}
			out = append(out, a)
		}
	}
	return out
}

// epoch is the time of the first record of a data set without times.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// namespace is the UUID namespace of the claims of a measurement.
var namespace = uuid.MustParse("6d3c0a52-8f7b-5f0e-9d0b-7f1b6f1f4a11")

// clock assigns times to the records of one owner. Data sets have one time for a whole
// session or for its first record only; each further record is dated one second later.
type clock struct{ last time.Time }

func (c *clock) at(t time.Time) time.Time {
	if next := c.last.Add(time.Second); t.IsZero() || !c.last.IsZero() && t.Before(next) && next.Sub(t) < 24*time.Hour {
		t = next
		if c.last.IsZero() {
			t = epoch
		}
	}
	c.last = t
	return t
}

// incoming converts a record to a claim. The text stays unchanged; the speaker goes
// into Actor. The evidence is the message if there is a conversation, and otherwise the
// data set's record. It is the same for every record of a set, so that tiers and trust,
// which a set doesn't have, don't affect the order. Ids are derived from the record's,
// so that every run is the same.
func incoming(r *dataset.Record, when *clock) store.Incoming {
	id := uuid.NewSHA1(namespace, []byte(r.Conv+"\x00"+r.ID)).String()
	if r.Claim != nil {
		c := *r.Claim
		c.Owner = ""
		c.ID = cmp.Or(c.ID, id)
		c.CreatedAt = when.exact(c.CreatedAt)
		return store.Incoming{Claim: c, Prior: r.Prior}
	}
	c := ken.Claim{ID: id, Key: r.ID, Kind: ken.KindFact, Heading: r.Heading, Text: r.Text, Status: ken.StatusObserved,
		Confidence: 1, Importance: 0.5, Session: cmp.Or(r.Session, r.Conv), Actor: actor(r), Source: r.Conv, SourceType: "import", CreatedAt: when.at(r.At)}
	if r.Conv != "" || r.Session != "" {
		c.Evidence = []ken.Evidence{ken.FromMessage(r.Session, r.ID, "")}
	} else {
		c.Evidence = []ken.Evidence{ken.FromArtifact(r.ID, "")}
	}
	return store.Incoming{Claim: c}
}

// exact returns a claim's own time if it has one.
func (c *clock) exact(t time.Time) time.Time {
	if t.IsZero() {
		return c.at(t)
	}
	if t.After(c.last) {
		c.last = t
	}
	return t
}

// actor returns the speaker of a record; a speaker without a role is a user.
func actor(r *dataset.Record) ken.Actor {
	a := ken.Actor{ID: r.Speaker}
	switch {
	case r.Role == "assistant":
		a.Type = "agent"
	case r.Role != "":
		a.Type = r.Role
	case r.Speaker != "":
		a.Type = "user"
	}
	return a
}

// depth is the number of ranks that are evaluated.
const depth = 20

// judged is the evaluation of one question's turn. See measures for what is computed
// from it.
type judged struct {
	grades  []int // grade at each rank up to depth
	ideal   []int // grades of all relevant records
	inBlock int   // number of relevant records or sessions in the block
	silent  bool  // there was no block
}

// judge compares a turn with what is relevant to its question.
func judge(q *dataset.Query, o *owner, h *turnResult) judged {
	relevant := q.Relevant
	name := func(record string) string { return record }
	if q.Level == dataset.LevelSession {
		name = func(record string) string { return cmp.Or(o.session[record], record) }
		relevant = make(map[string]int, len(q.Relevant))
		for id, grade := range q.Relevant {
			relevant[name(id)] = max(relevant[name(id)], grade)
		}
	}
	j := judged{silent: h.empty}
	for _, grade := range relevant {
		j.ideal = append(j.ideal, grade)
	}
	for _, unit := range distinct(h.ranked, name) {
		if len(j.grades) < depth {
			j.grades = append(j.grades, relevant[unit])
		}
	}
	for _, unit := range distinct(h.block, name) {
		if relevant[unit] > 0 {
			j.inBlock++
		}
	}
	return j
}

// distinct returns the names without duplicates, each at its first position.
func distinct(list []string, name func(string) string) []string {
	seen := make(map[string]bool, len(list))
	out := make([]string, 0, len(list))
	for _, x := range list {
		if n := name(x); !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// Measure is one measured value of a report.
type Measure struct {
	Name string
	// Answerable says which questions it is a mean of: those with an answer, or else
	// those without.
	Answerable bool
	// Less says that a lower value is better.
	Less bool
	// Doc describes it in a few words.
	Doc string

	of func(*judged) float64
}

// measures lists all measures, in the order of a report.
var measures = []Measure{
	{Name: "hit@1", Answerable: true, Doc: "something relevant is first", of: func(j *judged) float64 { return metric.Hit(j.grades, 1) }},
	{Name: "hit@5", Answerable: true, Doc: "something relevant is among the first 5", of: func(j *judged) float64 { return metric.Hit(j.grades, 5) }},
	{Name: "hit@10", Answerable: true, Doc: "something relevant is among the first 10", of: func(j *judged) float64 { return metric.Hit(j.grades, 10) }},
	{Name: "recall@5", Answerable: true, Doc: "the part of what is relevant among the first 5", of: recall(5)},
	{Name: "recall@10", Answerable: true, Doc: "the part of what is relevant among the first 10", of: recall(10)},
	{Name: "recall@20", Answerable: true, Doc: "the part of what is relevant among the first 20", of: recall(20)},
	{Name: "ndcg@10", Answerable: true, Doc: "how near the first 10 are to the best order", of: func(j *judged) float64 { return metric.NDCG(j.grades, j.ideal, 10) }},
	{Name: "mrr", Answerable: true, Doc: "1 over the rank of the first relevant record, to rank 20", of: func(j *judged) float64 { return metric.ReciprocalRank(j.grades) }},
	{Name: "block_recall", Answerable: true, Doc: "the part of what is relevant in the block", of: func(j *judged) float64 {
		return float64(j.inBlock) / float64(len(j.ideal))
	}},
	{Name: "silenced", Answerable: true, Less: true, Doc: "questions with an answer whose turn gets no block", of: silence},
	{Name: "abstain", Doc: "questions without an answer whose turn gets no block", of: silence},
}

// Measures lists every measure, in the order of a report.
func Measures() []Measure { return append([]Measure{}, measures...) }

func recall(k int) func(*judged) float64 {
	return func(j *judged) float64 { return metric.Recall(j.grades, len(j.ideal), k) }
}

func silence(j *judged) float64 {
	if j.silent {
		return 1
	}
	return 0
}
