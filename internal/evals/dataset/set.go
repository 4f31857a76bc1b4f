package dataset

import (
	"context"
	"iter"
	"time"

	"github.com/kenlayer/ken"
)

// Format names a layout that Open knows.
type Format string

// Formats.
const (
	FormatBEIR        Format = "beir"
	FormatLoCoMo      Format = "locomo"
	FormatLongMemEval Format = "longmemeval"
	FormatClaims      Format = "claims"
)

// Level says what the ids of relevant records name.
type Level string

// Levels.
const (
	LevelRecord  Level = "record"  // single records, such as the turns of a chat
	LevelSession Level = "session" // whole sessions: any record of one finds it
)

// Set is an opened data set. Its fields are read only; Records may be called
// several times.
type Set struct {
	Name    string // of its folder or file
	Format  Format
	Scoped  bool     // every question has its Conv, and sees nothing else
	Queries []Query  // in the order of the files
	Notes   []string // what the reader of a figure should know about the data

	records func(ctx context.Context) iter.Seq2[Record, error]
}

// Records yields what is to be remembered, in the order in which it was said or
// written, reading the files as it goes. It ends at ctx's end and after the first
// error, which names file, line and field.
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

// Record is one thing to remember.
type Record struct {
	ID      string // unique within its Conv
	Conv    string // the conversation that it is part of; "" for a set without
	Session string // the session within the conversation
	Heading string
	Text    string
	Role    string    // user, assistant, system or tool, where the set says
	Speaker string    // the name of who said it, where the set says
	At      time.Time // when; zero where the set doesn't say
	Place   string    // file and line, for messages

	// Claim is set instead of the fields from Heading to At for a record that was a
	// claim already, and Prior is its history.
	Claim *ken.Claim
	Prior []ken.ClaimEvent
}

// Query is one question.
type Query struct {
	ID       string
	Text     string
	Conv     string // the conversation that it is about; "" in a set that is not Scoped
	Category string // "" for none

	// Relevant are the ids of what answers it, with grades from 1. Nil and Judged:
	// nothing does, and nothing should be found.
	Relevant map[string]int
	Level    Level // what Relevant names
	Judged   bool  // false: the set doesn't say what is relevant, so nothing can be measured
	// Added marks a question that is not the set's own: see NoAnswer and SmallTalk.
	Added bool
}

// Answerable reports whether something is known to answer the question.
func (q *Query) Answerable() bool { return q.Judged && len(q.Relevant) > 0 }

// NoAnswer reports whether nothing should be found for the question.
func (q *Query) NoAnswer() bool { return q.Judged && len(q.Relevant) == 0 }
