package evals

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kenlayer/ken/internal/evals/dataset"
)

// answer is one question in one mode, as WriteAnswers writes it.
type answer struct {
	Dataset  string             `json:"dataset"`
	Mode     string             `json:"mode"`
	ID       string             `json:"_id"`
	Category string             `json:"category,omitempty"`
	Text     string             `json:"text"`
	Relevant []string           `json:"relevant"`
	Ranked   []string           `json:"ranked"` // to depth, best first
	Block    []string           `json:"block"`
	MS       float64            `json:"ms,omitempty"` // of a turn that was timed
	Values   map[string]float64 `json:"values"`       // by measure, those of the question's kind
}

// WriteAnswers writes one JSON line for each mode and question: what was asked,
// what is relevant, what was ranked and what was in the block. It needs a report
// from Sweep: one that was read back holds no answers, and yields no lines.
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
			asked, h := &queries[q], &runs[i].heard[q]
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
