package cases

import (
	"time"

	"github.com/kenlayer/ken"
)

// File is one file of cases.
type File struct {
	Path  string // as it was given to Load or Parse
	Cases []Case // never empty
}

// Case is one question and what must come of it. What the file says for all of
// its cases has been filled in.
type Case struct {
	File string // the file's path
	Line int    // where the case begins, from 1
	Name string // unique within its file

	Owner   string      // whose turn it is; "" is the configured owner
	Project string      // of the turn
	Scopes  []ken.Scope // of the turn; nil means the configured ones
	Now     time.Time   // when the turn takes place; zero is the present

	Given    []Given       // written first, in this order
	Alone    bool          // given was said, even if it is empty: see Options.GivenAlone
	Messages []ken.Message // at least one of them is the user's
	Want     Expectations
}

// Given is a claim that a case starts with.
type Given struct {
	Claim ken.Claim // Owner is "" for the configured one
	Line  int       // where it stands in the file, from 1
}

// Expectations are what must come of a turn. At least one is set.
type Expectations struct {
	Recall    []Matcher // must_recall: among the ranked candidates
	NotRecall []Matcher // must_not_recall
	Inject    []Matcher // must_inject: in front of the model
	NotInject []Matcher // must_not_inject

	BlockEmpty *bool    // block_empty: whether the turn gets no block; nil asks nothing
	MaxChars   int      // max_chars: most code points of the turn's block; 0 asks nothing
	Mode       ken.Mode // mode: how retrieval ran; "" asks nothing
	Stranger   string   // other_owner_sees_nothing: another owner; "" asks nothing
	Canaries   []string // canaries: texts that must be nowhere
}

// none reports that nothing is expected.
func (e *Expectations) none() bool {
	return len(e.Recall)+len(e.NotRecall)+len(e.Inject)+len(e.NotInject)+len(e.Canaries) == 0 &&
		e.BlockEmpty == nil && e.MaxChars == 0 && e.Mode == "" && e.Stranger == ""
}
