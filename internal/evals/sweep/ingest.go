package sweep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// stageRemember is what progress calls the writing of records.
const stageRemember = "remember"

// soleOwner has the records of a set that is not scoped.
const soleOwner = ken.DefaultOwner

// corpus is what was remembered.
type corpus struct {
	owners  map[string]*owner
	order   []*owner // by their first question
	workers int

	progress func(stage string, done, total int)
	done     atomic.Int64 // records written or refused
}

// owner is one conversation's memory, or that of the whole set. While records are
// written, it belongs to one goroutine at a time.
type owner struct {
	name    string
	clock   clock
	claims  map[string]string // record to claim
	records map[string]string // claim to record
	session map[string]string // record to session, where questions ask for sessions
	waiting []store.Incoming
	places  []string // of the records that wait

	written, refused int
	reason           string // of the first that the store refused
	latest           time.Time
}

// Writing in batches: one transaction takes a few hundred records for the price of
// a few. Owners are written side by side once this many records wait, and no more
// than these are in memory.
const (
	batch      = 500
	mostInWait = 20000
)

// now is just after the newest record, so that nothing depends on today's date.
func (c *corpus) now() time.Time {
	latest := epoch
	for i, o := range c.order {
		if i == 0 || o.latest.After(latest) {
			latest = o.latest
		}
	}
	return latest.Add(time.Hour)
}

// sum adds up what became of the records, and says why the first was refused.
func (c *corpus) sum() (written, refused int, reason string) {
	for _, o := range c.order {
		written, refused, reason = written+o.written, refused+o.refused, cmp.Or(reason, o.reason)
	}
	return written, refused, reason
}

// newCorpus prepares for the owners that questions are about.
func newCorpus(set *dataset.Set, workers int, progress func(string, int, int)) *corpus {
	c := &corpus{owners: map[string]*owner{}, workers: workers, progress: progress}
	for i := range set.Queries {
		if name := ownerOf(&set.Queries[i]); c.owners[name] == nil {
			o := &owner{name: name, claims: map[string]string{}, records: map[string]string{}, session: map[string]string{}}
			c.owners[name], c.order = o, append(c.order, o)
		}
	}
	return c
}

// remember writes the records that a question can see.
func (c *corpus) remember(ctx context.Context, l *middleware.Layer, set *dataset.Set) error {
	sessions := slices.ContainsFunc(set.Queries, func(q dataset.Query) bool { return q.Level == dataset.LevelSession })
	waiting := 0
	for r, err := range set.Records(ctx) {
		if err != nil {
			return err
		}
		name := soleOwner
		if set.Scoped {
			if name = r.Conv; name == "" {
				return &ken.Error{Code: ken.CodeInvalid, Field: "metadata.conv", Msg: r.Place + ": is missing, while every question names a conversation",
					Try: "Give every record its conv, or take it from the questions."}
			}
		}
		o := c.owners[name]
		if o == nil { // no question is about this conversation
			continue
		}
		if err := o.take(&r, sessions); err != nil {
			return err
		}
		if waiting++; waiting == mostInWait || len(c.order) == 1 && waiting == batch {
			if err := c.flush(ctx, l); err != nil {
				return err
			}
			waiting = 0
		}
	}
	err := c.flush(ctx, l)
	done := int(c.done.Load())
	c.progress(stageRemember, done, done)
	return err
}

func ownerOf(q *dataset.Query) string {
	if q.Conv == "" {
		return soleOwner
	}
	return q.Conv
}

func (o *owner) take(r *dataset.Record, sessions bool) error {
	in := incoming(r, &o.clock)
	names := []string{r.ID}
	if r.Claim != nil && in.Claim.Key != "" && in.Claim.Key != r.ID { // questions may use either
		names = append(names, in.Claim.Key)
	}
	for _, name := range names {
		if _, twice := o.claims[name]; twice {
			return &ken.Error{Code: ken.CodeInvalid, Field: "_id", Msg: fmt.Sprintf("%s: a second record with the id %q", r.Place, name), Try: "Give every record an id of its own."}
		}
		o.claims[name] = in.Claim.ID
		if sessions && r.Session != "" {
			o.session[name] = r.Session
		}
	}
	o.records[in.Claim.ID] = r.ID
	o.waiting, o.places = append(o.waiting, in), append(o.places, r.Place)
	return nil
}

// flush writes what waits. Owners have stores of their own, so it makes no
// difference which is first.
func (c *corpus) flush(ctx context.Context, l *middleware.Layer) error {
	return each(ctx, c.workers, c.order, func(ctx context.Context, o *owner) error {
		if len(o.waiting) == 0 {
			return nil
		}
		return c.write(ctx, l, o)
	})
}

func (c *corpus) write(ctx context.Context, l *middleware.Layer, o *owner) error {
	o.latest = o.clock.last
	s, release, err := l.Store(ctx, o.name)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer release()
	at := 0
	for claims := range slices.Chunk(o.waiting, batch) {
		for _, out := range s.Import(ctx, claims) {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case out.Err == nil:
				o.written++
			default: // what a store refuses, it refuses in use as well
				if o.refused++; o.reason == "" {
					o.reason = fmt.Sprintf("%s: %v", o.places[at], out.Err)
				}
			}
			at++
		}
		c.progress(stageRemember, int(c.done.Add(int64(len(claims)))), 0)
	}
	o.waiting, o.places = nil, nil
	return nil
}

// Fault is a question that went badly, with what was found in place of the answer.
type Fault struct {
	ID, Text, Category, Conv string
	Recall                   float64   // at 10
	Wanted                   []Passage // what is relevant; none for a question that should have stayed without a block
	Found                    []Passage // the first ranks
}

// Passage is a record in a report.
type Passage struct {
	ID   string
	Text string // its beginning
	Rank int    // from 1; 0 for not among the ranked
	Good bool   // it is relevant
}

// Bounds of the list of faults.
const (
	mostFaults   = 20 // for each mode, of either kind
	mostPassages = 3
	mostText     = 240 // code points of a passage
)

// faults lists the worst questions: those with an answer by recall and then by
// the first relevant rank, and those without one that got a block.
func (s *sweep) faults(ctx context.Context, l *middleware.Layer, r *run) ([]Fault, error) {
	var missed, wrong []int
	for i := range s.set.Queries {
		switch q := &s.set.Queries[i]; {
		case q.Answerable() && metric.Recall(r.judged[i].grades, len(r.judged[i].ideal), 10) < 1:
			missed = append(missed, i)
		case q.NoAnswer() && !r.judged[i].silent:
			wrong = append(wrong, i)
		}
	}
	slices.SortStableFunc(missed, func(a, b int) int {
		x, y := &r.judged[a], &r.judged[b]
		return cmp.Or(cmp.Compare(metric.Recall(x.grades, len(x.ideal), 10), metric.Recall(y.grades, len(y.ideal), 10)),
			cmp.Compare(metric.ReciprocalRank(x.grades), metric.ReciprocalRank(y.grades)))
	})
	var out []Fault
	for _, list := range [][]int{missed, wrong} {
		for _, i := range list[:min(len(list), mostFaults)] {
			f, err := s.fault(ctx, l, &s.set.Queries[i], r, i)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func (s *sweep) fault(ctx context.Context, l *middleware.Layer, q *dataset.Query, r *run, i int) (Fault, error) {
	j, h, o := &r.judged[i], &r.results[i], s.corpus.owners[ownerOf(q)]
	f := Fault{ID: q.ID, Text: q.Text, Category: q.Category, Conv: q.Conv, Recall: metric.Recall(j.grades, len(j.ideal), 10)}
	st, release, err := l.Store(ctx, o.name)
	if err != nil {
		return f, err
	}
	defer release()
	passage := func(id string, rank int) Passage {
		p := Passage{ID: id, Rank: rank}
		if claim := o.claims[id]; claim != "" {
			if c, err := st.Get(ctx, claim); err == nil { // one that the store refused has no text to show
				p.Text = beginning(c.Text)
			}
		}
		return p
	}
	ids := make([]string, 0, len(q.Relevant))
	for id := range q.Relevant {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids[:min(len(ids), mostPassages)] {
		p := passage(id, slices.Index(h.ranked, id)+1)
		p.Good = true
		f.Wanted = append(f.Wanted, p)
	}
	for rank, id := range h.ranked[:min(len(h.ranked), mostPassages)] {
		p := passage(id, rank+1)
		p.Good = q.Relevant[id] > 0
		f.Found = append(f.Found, p)
	}
	return f, nil
}

func beginning(text string) string {
	r := []rune(text)
	if len(r) <= mostText {
		return text
	}
	return string(r[:mostText]) + " …"
}
