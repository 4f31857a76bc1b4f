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

// stageRemember is the name of the stage that writes records, for progress reports.
const stageRemember = "remember"

// soleOwner is the owner of the records of a set that is not scoped.
const soleOwner = ken.DefaultOwner

// corpus holds the records that were written, by owner.
type corpus struct {
	owners  map[string]*owner
	order   []*owner // in the order of their first question
	workers int

	progress func(stage string, done, total int)
	done     atomic.Int64 // number of records written or rejected
}

// owner is the store of one conversation, or of the whole set. While records are
// written, only one goroutine at a time uses it.
type owner struct {
	name    string
	clock   clock
	claims  map[string]string // record id to claim id
	records map[string]string // claim id to record id
	session map[string]string // record id to session id, if questions ask for sessions
	waiting []store.Incoming
	places  []string // ids of the waiting records

	written, refused int
	reason           string // error of the first record that the store rejected
	latest           time.Time
}

// Records are written in batches, because a transaction with a few hundred records
// takes little longer than one with a few. Owners are written concurrently once
// maxWaiting records wait; no more than these are in memory.
const (
	batch      = 500
	maxWaiting = 20000
)

// now returns a time just after the newest record, so that nothing depends on today's
// date.
func (c *corpus) now() time.Time {
	latest := epoch
	if len(c.order) > 0 {
		latest = slices.MaxFunc(c.order, func(a, b *owner) int { return a.latest.Compare(b.latest) }).latest
	}
	return latest.Add(time.Hour)
}

// sum returns how many records were written and rejected, and why the first was
// rejected.
func (c *corpus) sum() (written, refused int, reason string) {
	for _, o := range c.order {
		written, refused, reason = written+o.written, refused+o.refused, cmp.Or(reason, o.reason)
	}
	return written, refused, reason
}

// newCorpus creates the owners that questions are about.
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
		if waiting++; waiting == maxWaiting || len(c.order) == 1 && waiting == batch {
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
	return cmp.Or(q.Conv, soleOwner)
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
	}
	if sessions && r.Session != "" {
		o.session[r.ID] = r.Session
	}
	o.records[in.Claim.ID] = r.ID
	o.waiting, o.places = append(o.waiting, in), append(o.places, r.Place)
	return nil
}

// flush writes the waiting records. Owners have separate stores, so their order doesn't
// matter.
func (c *corpus) flush(ctx context.Context, l *middleware.Layer) error {
	return each(ctx, c.workers, c.order, func(ctx context.Context, o *owner) error {
		if len(o.waiting) == 0 {
			return nil
		}
		return c.write(ctx, l, o)
	})
}

// named returns the set with questions that name each relevant record by its own id. A
// question may also name an exported claim by its key.
func (c *corpus) named(set *dataset.Set) *dataset.Set {
	out := *set
	out.Queries = slices.Clone(set.Queries)
	for i := range out.Queries {
		q := &out.Queries[i]
		if len(q.Relevant) == 0 {
			continue
		}
		o, relevant := c.owners[ownerOf(q)], make(map[string]int, len(q.Relevant))
		for name, grade := range q.Relevant {
			id := cmp.Or(o.records[o.claims[name]], name)
			relevant[id] = max(relevant[id], grade)
		}
		q.Relevant = relevant
	}
	return &out
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
			default: // a store would also reject it in normal use
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

// Fault is a question with a bad result, with what was found instead of the answer.
type Fault struct {
	ID, Text, Category string
	Recall             float64   // at 10
	Wanted             []Passage // what is relevant; empty for a question that should have no block
	Found              []Passage // the first ranks
}

// Passage is a record in a report.
type Passage struct {
	ID   string
	Text string // its beginning
	Rank int    // from 1; 0 for not among the ranked
	Good bool   // it is relevant
}

// Limits of the list of faults.
const (
	maxFaults   = 20 // for each mode, of either kind
	maxPassages = 3
	maxText     = 240 // code points of a passage
)

// faults returns the worst questions: those with an answer by recall and then by the
// first relevant rank, and those without an answer that got a block.
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
		for _, i := range list[:min(len(list), maxFaults)] {
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
	f := Fault{ID: q.ID, Text: q.Text, Category: q.Category, Recall: metric.Recall(j.grades, len(j.ideal), 10)}
	st, release, err := l.Store(ctx, o.name)
	if err != nil {
		return f, err
	}
	defer release()
	passage := func(id string, rank int) Passage {
		p := Passage{ID: id, Rank: rank}
		if claim := o.claims[id]; claim != "" {
			if c, err := st.Get(ctx, claim); err == nil { // a rejected record has no text to show
				p.Text = beginning(c.Text)
			}
		}
		return p
	}
	ids := sorted(q.Relevant)
	for _, id := range ids[:min(len(ids), maxPassages)] {
		p := passage(id, slices.Index(h.ranked, id)+1)
		p.Good = true
		f.Wanted = append(f.Wanted, p)
	}
	for rank, id := range h.ranked[:min(len(h.ranked), maxPassages)] {
		p := passage(id, rank+1)
		p.Good = q.Relevant[id] > 0
		f.Found = append(f.Found, p)
	}
	return f, nil
}

func beginning(text string) string {
	r := []rune(text)
	if len(r) <= maxText {
		return text
	}
	return string(r[:maxText]) + " …"
}
