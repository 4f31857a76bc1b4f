package dataset

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"strings"
)

// Names of the files of a BEIR folder.
const (
	corpusFile  = "corpus.jsonl"
	queriesFile = "queries.jsonl"
	qrelsDir    = "qrels"
)

// openBEIR reads the layout of the BEIR benchmark (Thakur et al. 2021), with the
// metadata that Ken adds: conv, session, date, role and speaker.
func openBEIR(ctx context.Context, dir string, o Options) (*Set, error) {
	s := &Set{Format: FormatBEIR, records: func(ctx context.Context) iter.Seq2[Record, error] {
		return corpus(ctx, filepath.Join(dir, corpusFile))
	}}
	if o.Questions != "" {
		var err error
		s.Queries, err = Questions(ctx, o.Questions)
		return s, err
	}
	asked, err := Questions(ctx, filepath.Join(dir, queriesFile))
	if err != nil {
		return nil, err
	}
	judged, others, err := qrels(ctx, filepath.Join(dir, qrelsDir), o.Split)
	if err != nil {
		return nil, err
	}
	for _, q := range asked {
		switch relevant, ok := judged[q.ID]; {
		case ok:
			q.Relevant, q.Judged = positive(relevant), true
		case others[q.ID] && !q.Judged: // another split's question
			continue
		case len(judged) > 0:
			q.Judged = true
		}
		s.Queries = append(s.Queries, q)
	}
	s.Notes = append(s.Notes, noteUnjudged(s.Queries)...)
	return s, nil
}

// noteUnjudged warns of a queries.jsonl that holds another split's questions.
func noteUnjudged(queries []Query) []string {
	none := 0
	for i := range queries {
		if queries[i].NoAnswer() {
			none++
		}
	}
	if 2*none <= len(queries) {
		return nil
	}
	return []string{"more than half of the questions have no relevant record and count as having no answer; leave them out with --judged if they belong to another split"}
}

// positive keeps the grades above 0: a judgement of 0 says that a record was
// looked at and is not relevant.
func positive(grades map[string]int) map[string]int {
	out := make(map[string]int, len(grades))
	for id, g := range grades {
		if g > 0 {
			out[id] = g
		}
	}
	return out
}

// corpusLine is one line of corpus.jsonl.
type corpusLine struct {
	ID       word   `json:"_id"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Metadata struct {
		Conv    word `json:"conv"`
		Session word `json:"session"`
		Date    word `json:"date"`
		Role    word `json:"role"`
		Speaker word `json:"speaker"`
	} `json:"metadata"`
}

func corpus(ctx context.Context, path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for l, err := range linesOf(ctx, path) {
			var r Record
			if err == nil {
				r, err = l.record()
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (l *line) record() (Record, error) {
	var c corpusLine
	if err := l.decode(&c); err != nil {
		return Record{}, err
	}
	if c.ID == "" {
		return Record{}, l.fault("_id", "is missing", "Give every record an id.")
	}
	m := &c.Metadata
	when, err := ParseTime(string(m.Date))
	if err != nil {
		return Record{}, l.fault("metadata.date", err.Error(), "Write the date as 2006-01-02T15:04:05Z, or leave it out.")
	}
	// A title alone is what the record says.
	heading, text := c.Title, c.Text
	if strings.TrimSpace(text) == "" {
		heading, text = "", cmp.Or(c.Title, c.Text)
	}
	return Record{ID: string(c.ID), Conv: string(m.Conv), Session: string(m.Session), Heading: heading, Text: text,
		Role: string(m.Role), Speaker: string(m.Speaker), At: when, Place: l.place()}, nil
}
