package evals

import (
	"cmp"
	"context"
	"slices"

	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
	"github.com/kenlayer/ken/middleware"
)

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
	j, h, o := &r.judged[i], &r.heard[i], s.corpus.owners[ownerOf(q)]
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
