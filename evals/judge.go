package evals

import (
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
)

// depth is how much of a ranking is looked at.
const depth = 20

// judged is what one question's turn is worth. What is measured over which
// questions: see measures.
type judged struct {
	grades   []int // at each rank to depth
	ideal    []int // of all that is relevant
	inBlock  int   // relevant records or sessions in the block
	silent   bool  // no block
	answered bool  // the question has an answer
}

// judge compares a turn with what is relevant to its question.
func judge(q *dataset.Query, o *owner, h *heard) judged {
	relevant := q.Relevant
	name := func(record string) string { return record }
	if q.Level == dataset.LevelSession {
		name = func(record string) string {
			if s, ok := o.session[record]; ok {
				return s
			}
			return record
		}
		relevant = make(map[string]int, len(q.Relevant))
		for id, grade := range q.Relevant {
			relevant[name(id)] = max(relevant[name(id)], grade)
		}
	}
	j := judged{silent: h.empty, answered: len(relevant) > 0}
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

// distinct names each thing once, at its first place.
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

// Measure is one figure of a report.
type Measure struct {
	Name string
	// Over says which questions it is a mean of: those with an answer, or those
	// without.
	Answerable bool
	// Less says that less of it is better.
	Less bool
	// What it says, in a few words.
	Doc string

	of func(*judged) float64
}

// measures are all of them, in the order of a report.
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
