package ken

// Use is what the model's answer made of one item of the block. It says nothing of
// what the item says.
type Use struct {
	ID        string `json:"id"`
	Cited     bool   `json:"cited,omitempty"`     // the answer names its short id or its source
	Repeated  bool   `json:"repeated,omitempty"`  // the answer says what, of all that the model read, only the item said
	ToolOK    bool   `json:"tool_ok,omitempty"`   // a tool was called with what only the item said, and did not fail
	Corrected bool   `json:"corrected,omitempty"` // the person's next message says that it is wrong
}

// Used reports whether the answer used the item in any way.
func (u Use) Used() bool { return u.Cited || u.Repeated || u.ToolOK }

// Helped reports whether the item was used and stood.
func (u Use) Helped() bool { return u.Used() && !u.Corrected }

// Features is what a learned order sees of a candidate: numbers, and hashes of
// names, but no words.
type Features struct {
	ID     string `json:"id"`
	Entity uint32 `json:"entity,omitempty"` // slot of the primary entity: the 32-bit FNV-1a hash of the spelled name; 0 for none known
	Aspect uint32 `json:"aspect,omitempty"` // of the aspect, likewise

	Rank int `json:"rank"` // in the plain order, from 1

	// Constraint marks a rule. No learned order is ever given one.
	Constraint bool `json:"is_constraint,omitempty"`

	// Distance is how many dependencies lead to the candidate's entity from what the
	// turn is about; -1 when traversal did not bring it.
	Distance int     `json:"distance"`
	Weight   float64 `json:"weight,omitempty"` // of the aspect that traversal found it under, 0..1

	Keyword   int     `json:"keyword,omitempty"`   // rank in the keyword leg, from 1; 0 where it is not
	Vector    int     `json:"vector,omitempty"`    // in the vector leg
	Structure int     `json:"structure,omitempty"` // in the structure leg
	Score     float64 `json:"score"`               // of the plain order, 1 for the turn's best
	Tier      Tier    `json:"tier"`
	Trust     Trust   `json:"trust,omitempty"`
	Document  bool    `json:"document,omitempty"` // a piece of the repository
	Episode   bool    `json:"episode,omitempty"`  // the summary of a session
	AgeDays   float64 `json:"age_days,omitempty"`

	// What came of it in earlier turns, old ones counting less: of the record itself,
	// and of all under the same entity and aspect.
	Shown     float64 `json:"shown,omitempty"`
	Used      float64 `json:"used,omitempty"`
	SlotShown float64 `json:"slot_shown,omitempty"`
	SlotUsed  float64 `json:"slot_used,omitempty"`
}

// Ranking is what a learned order of the turn was offered, and whether it decided.
type Ranking struct {
	// Learned is true when the learned order was in force; otherwise the plain order
	// stood and the learned one is compared with it afterwards.
	Learned bool `json:"learned,omitempty"`
	Cut     int  `json:"cut"` // how many candidates were handed on
	// Candidates are in the plain order: those that were handed on, and some that
	// came next.
	Candidates []Features `json:"candidates"`
}

// Explored says what exploration did at the cut. It is there in every turn in which
// it could have done something.
type Explored struct {
	In      string `json:"in"`  // the first that the order leaves out
	Out     string `json:"out"` // the last that it hands on
	Swapped bool   `json:"swapped,omitempty"`
	// Propensity is how probable what was done was before it was done, 0..1: of the
	// swap if Swapped, else of none.
	Propensity float64 `json:"propensity"`
}
