// Package draft defines the result of an extraction, by a model or by rules. A
// draft is a proposal: its content is no knowledge before it was checked against
// the transcript and the known claims.
package draft

import "time"

// Sort is the kind of a statement.
type Sort string

// Sorts of statements.
const (
	Fact        Sort = "fact"        // how things are
	Preference  Sort = "preference"  // what somebody likes, wants or avoids
	Decision    Sort = "decision"    // what was decided, and why
	Instruction Sort = "instruction" // what the agent must always or never do
	Constraint  Sort = "constraint"  // a rule about a named thing
)

// SummaryNote is the last line of a summary that was made without a model.
const SummaryNote = "(Extracted by rules, without a model.)"

// OpenPrefix marks a statement about a task that is still to be done, so that a search finds it.
const OpenPrefix = "Still to do: "

// Statement is one atomic fact from a session.
type Statement struct {
	Text  string // one sentence that can be understood on its own, at most as long as the limit of the extraction
	Quote string // the words of the source that support it, verbatim
	Seq   uint64 // session.Entry.Seq of the quoted message

	Agent bool   // the text has words of the assistant, such as its question, besides those of the quote
	Was   string // text of an earlier statement of the session that this one corrects; usually empty

	Sort       Sort
	Entities   []string // named things that it is about
	Confidence float64  // 0..1
}

// Draft is the result of extracting a session.
type Draft struct {
	// Summary is the episode: what was wanted, what was done and decided, and
	// what is open, in at most a few hundred words.
	Summary    string
	Statements []Statement
	Dropped    map[string]int // numbers of candidates that the extraction left out, by reason
	Model      string         // the model that made it; empty for rules
}

// Dated is a statement and the time at which it was made.
type Dated struct {
	Text string
	At   time.Time
}
