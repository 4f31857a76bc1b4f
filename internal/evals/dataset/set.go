package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// Format is a layout that Open supports.
type Format string

// Formats.
const (
	FormatBEIR        Format = "beir"
	FormatLoCoMo      Format = "locomo"
	FormatLongMemEval Format = "longmemeval"
	FormatClaims      Format = "claims"
)

// Level says whether relevant ids are those of records or of sessions.
type Level string

// Levels.
const (
	LevelRecord  Level = "record"  // whole sessions: any record of a relevant session counts as found
	LevelSession Level = "session" // whole sessions: any record of one finds it
)

// Set is an opened data set. Its fields must not be changed; Records may be called
// several times.
type Set struct {
	Name    string // name of its folder or file
	Format  Format
	Scoped  bool     // every question has its Conv, and sees nothing else
	Queries []Query  // in the order of the files
	Notes   []string // notes about the data for readers of the results

	records func(ctx context.Context) iter.Seq2[Record, error]
}

// Records yields the records, in the order in which they were said or written, and
// reads the files meanwhile. It ends when ctx ends and after the first error, which
// names file, line and field.
func (s *Set) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range s.records(ctx) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Record is one text to store.
type Record struct {
	ID      string // unique within its Conv
	Conv    string // the conversation that it belongs to; "" in a set without conversations
	Session string // the session within the conversation
	Heading string
	Text    string
	Role    string    // user, assistant, system or tool, if the set has it
	Speaker string    // name of the speaker, if the set has it
	At      time.Time // zero if the set has no time
	Place   string    // file and line, for messages

	// Claim is set instead of the fields from Heading to At if the record is an
	// exported claim, and Prior is its history.
	Claim *ken.Claim
	Prior []ken.ClaimEvent
}

// Query is one question.
type Query struct {
	ID       string
	Text     string
	Conv     string // the conversation that it is about; "" in a set that is not Scoped
	Category string // "" for none

	// Relevant holds the ids of what answers it, with grades from 1. If it is nil and
	// Judged is set, nothing answers the question, and nothing should be found.
	Relevant map[string]int
	Level    Level // what the ids in Relevant identify
	Judged   bool  // false: the set doesn't say what is relevant, so nothing can be measured
	// Added marks a question that was added to the set: see NoAnswer and SmallTalk.
	Added bool
}

// Answerable reports whether the question has a known answer.
func (q *Query) Answerable() bool { return q.Judged && len(q.Relevant) > 0 }

// NoAnswer reports whether nothing should be found for the question.
func (q *Query) NoAnswer() bool { return q.Judged && len(q.Relevant) == 0 }

// openClaims reads an export of Ken's claims and the questions in the same folder.
// Relevant ids are the claims' ids or keys.
func openClaims(ctx context.Context, path, questions string, o Options) (*Set, error) {
	s := &Set{Format: FormatClaims, records: func(ctx context.Context) iter.Seq2[Record, error] { return reading(ctx, path, claims) }}
	s, err := s.asking(ctx, cmp.Or(o.Questions, questions))
	for i := range s.Queries { // the claims of one owner have no conversations
		s.Queries[i].Conv = ""
	}
	return s, err
}

func claims(in io.Reader, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for l := range jsonl.Read(in, name) {
			place := fmt.Sprintf("%s:%d", name, l.N)
			r := Record{ID: cmp.Or(l.Claim.ID, l.Claim.Key, place), Session: l.Claim.Session, Claim: &l.Claim, Prior: l.History, Place: place}
			var err error
			if l.Err != nil {
				err = claimFault(name, l.N, l.Err)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// claimFault adds the line to an error about a claim.
func claimFault(name string, n int, err error) error {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		return at(name, n, e.Field, e.Msg, cmp.Or(e.Try, "Correct the line."))
	}
	if errors.Is(err, fs.ErrPermission) {
		return unreadable(name, err)
	}
	return err
}

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
// relevant is a list of ids, or an object of ids with their grades from 0. An empty
// list means that nothing answers the question; a missing one means that the answer is
// unknown. Errors name file, line and field.
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

// asking sets the set's questions to those of a file.
func (s *Set) asking(ctx context.Context, path string) (*Set, error) {
	var err error
	s.Queries, err = Questions(ctx, path)
	return s, err
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

// layouts are the time formats of the sets, in the order in which they are tried.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02 15:04:05",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04",
	time.DateOnly,
	"2006/01/02 15:04", // LongMemEval, after its weekday is removed
	"2006/01/02",
	"3:04 pm on 2 January, 2006", // LoCoMo
	"January-02-2006",            // BEAM
	"January-2-2006",
	"2 January, 2006",
	"2 January 2006",
	"January 2, 2006",
}

var weekday = lazyregexp.New(`\s*\([A-Za-z]{2,9}\)\s*`)

var errTime = errors.New("a date that can't be read")

// ParseTime parses a time as the sets write it, such as "1:56 pm on 8 May, 2023",
// "March-15-2024", "2023/05/30 (Tue) 21:48" and RFC 3339. Without a zone it is UTC. ""
// is the zero time.
func ParseTime(s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" {
		return time.Time{}, nil
	}
	clean := strings.TrimSpace(weekday.ReplaceAllString(s, " "))
	for _, layout := range layouts {
		for _, try := range []string{clean, strings.ToLower(clean)} { // "PM" and "pm"
			if t, err := time.Parse(layout, try); err == nil {
				if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 { // RFC 3339 can't represent it
					return time.Time{}, errTime
				}
				return t, nil
			}
		}
	}
	return time.Time{}, errors.Join(errTime, errors.New(strconv.Quote(analysis.Clip(s, 60))))
}
