package consolidate

import (
	"time"

	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Relation is what a new statement is to an old one.
type Relation string

// Relations. Same, Restates, Distinct and Contradicts are mutual; Refines and
// Updates have a direction, from the new statement to the old one.
const (
	Same        Relation = "same"        // the same words, but for case, punctuation and articles
	Restates    Relation = "restates"    // nothing that the old one does not say
	Refines     Relation = "refines"     // all that the old one says, and more
	Updates     Relation = "updates"     // the same attribute of the same subject, with a value that replaces the old one
	Contradicts Relation = "contradicts" // both can't be true, and nothing says that one came after the other
	Distinct    Relation = "distinct"    // something else, or nobody can tell
)

// Merges reports whether one claim is enough for both statements.
func (r Relation) Merges() bool {
	return r == Same || r == Restates || r == Refines || r == Updates
}

// Statement is what is compared. Only Text is needed.
type Statement struct {
	Text     string
	Heading  string     // what the text is about, where the text itself does not say
	Entities []string   // named things that it is about
	At       time.Time  // when it was said; zero is unknown
	Sort     draft.Sort // a preference excludes its alternatives; other sorts change nothing
}

// Verdict is a judgement and what it rests on.
type Verdict struct {
	Relation Relation
	Why      string  // the deciding words, for people
	Score    float64 // the share of words that both have, 0..1; it decides nothing
}
