package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// questionLine is one line of a file of questions. Relevant is either a list of
// ids or an object of ids with grades; metadata.relevant is not read.
type questionLine struct {
	ID       word            `json:"_id"`
	Text     string          `json:"text"`
	Relevant json.RawMessage `json:"relevant"`
	Metadata struct {
		Conv         word `json:"conv"`
		Category     word `json:"category"`
		Type         word `json:"type"`
		QuestionType word `json:"question_type"`
	} `json:"metadata"`
}

// Questions reads a file of questions, one JSON object a line:
//
//	{"_id": "q1", "text": "Who owns billing?", "relevant": ["claim-7"], "metadata": {"category": "fact"}}
//
// relevant is a list of ids, or an object of ids with their grades from 0; an
// empty list says that nothing answers the question, and a missing one leaves
// open what does. Errors name file, line and field.
func Questions(ctx context.Context, path string) ([]Query, error) {
	var out []Query
	for l, err := range linesOf(ctx, path) {
		if err != nil {
			return nil, err
		}
		q, err := l.question()
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

func (l *line) question() (Query, error) {
	var w questionLine
	if err := l.decode(&w); err != nil {
		return Query{}, err
	}
	switch {
	case w.ID == "":
		return Query{}, l.fault("_id", "is missing", "Give every question an id.")
	case strings.TrimSpace(w.Text) == "":
		return Query{}, l.fault("text", "is empty", "Say what is asked.")
	}
	m := &w.Metadata
	q := Query{ID: string(w.ID), Text: w.Text, Conv: string(m.Conv), Level: LevelRecord,
		Category: string(cmp.Or(m.Category, m.Type, m.QuestionType))}
	if len(w.Relevant) == 0 || string(w.Relevant) == "null" {
		return q, nil
	}
	q.Judged = true
	var ids []word
	if json.Unmarshal(w.Relevant, &ids) == nil {
		q.Relevant = make(map[string]int, len(ids))
		for _, id := range ids {
			q.Relevant[string(id)] = 1
		}
		return q, nil
	}
	var grades map[string]int
	if err := json.Unmarshal(w.Relevant, &grades); err != nil {
		return Query{}, l.fault("relevant", "neither a list of ids nor an object of ids with grades", `Write it as ["id", "id"].`)
	}
	q.Relevant = positive(grades)
	return q, nil
}
