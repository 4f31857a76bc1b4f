// Package draft is what extraction hands to the rest of a harvest, whoever
// extracted: a model or rules. A draft is a proposal; nothing in it is knowledge
// before it was checked against the transcript and against what is known.
package draft

// Sort is what kind of thing a fact says.
type Sort string

// Sorts of facts.
const (
	Fact        Sort = "fact"        // how things are
	Preference  Sort = "preference"  // what somebody likes, wants or avoids
	Decision    Sort = "decision"    // what was settled, and why
	Instruction Sort = "instruction" // what the agent is always to do, or never
	Constraint  Sort = "constraint"  // a rule about a named thing
)

// Statement is one atomic fact that a session taught.
type Statement struct {
	Text  string // one sentence that stands by itself, at most the limit's characters
	Quote string // the words of the source that it rests on, verbatim
	Seq   uint64 // of the message that is quoted, session.Entry.Seq

	Was string // the text of the statement of the same session that this one takes back; usually empty

	Sort       Sort
	Entities   []string // named things that it is about
	Confidence float64  // 0..1
}

// Draft is what an extraction proposes of a session.
type Draft struct {
	// Summary is the episode: what was wanted, what was done and decided, what is
	// open, in at most a few hundred words.
	Summary    string
	Statements []Statement
	Dropped    map[string]int // what the extraction itself left out, by reason
	Model      string         // that made it; empty: rules
}
