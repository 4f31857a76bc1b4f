package ken

import "time"

// CutReason is why something that was considered is not in the block.
type CutReason string

// The closed set of reasons.
const (
	CutScope     CutReason = "scope"     // outside the turn's scopes or kinds
	CutStatus    CutReason = "status"    // disputed, superseded or a hypothesis
	CutTier      CutReason = "tier"      // weaker than the agent's weight admits
	CutTrust     CutReason = "trust"     // below retrieval.min_trust
	CutExpired   CutReason = "expired"   // its time is over
	CutFloor     CutReason = "floor"     // not enough evidence that it bears on the turn
	CutDuplicate CutReason = "duplicate" // the context holds it already
	CutBudget    CutReason = "budget"    // did not fit
	CutPool      CutReason = "pool"      // beyond the pool's size
	CutLate      CutReason = "late"      // arrived after the deadline
)

// LegScore is the rank and the score that one leg of the retrieval gave an item.
type LegScore struct {
	Rank  int     `json:"rank"`  // from 1
	Score float64 `json:"score"` // on the leg's own scale
}

// Item is one piece of knowledge in the block, with what brought it there.
type Item struct {
	ID      string `json:"id"`
	Owner   string `json:"owner,omitempty"` // who shares it; "" is the turn's own owner
	Key     string `json:"key"`
	Kind    Kind   `json:"kind"`
	Tier    Tier   `json:"tier"`
	Trust   Trust  `json:"trust"`
	Source  string `json:"source"`
	Heading string `json:"heading"`
	Text    string `json:"text"`  // as injected
	Chars   int    `json:"chars"` // code points of the item's part of the block, frame included

	Fused   float64             `json:"fused"` // the score that ordered the pool
	Legs    map[string]LegScore `json:"legs"`
	Signals map[string]float64  `json:"signals,omitempty"` // the ranker's named parts

	CreatedAt  time.Time `json:"created_at,omitzero"`
	Constraint bool      `json:"constraint,omitempty"`
	Candidate  bool      `json:"rule_candidate,omitempty"` // a rule that no operator has approved
	// Fallen is why the item is announced: a claim that an earlier block of the conversation
	// told, and that is disputed or superseded since. "" for an item that stands.
	Fallen   Status   `json:"fallen,omitempty"`
	Entities []string `json:"entities,omitempty"` // what it is about, as the claim has it, the primary one first; not to be changed
	Aspect   string   `json:"aspect,omitempty"`   // of the primary entity
	Memory   bool     `json:"memory,omitempty"`   // it stands in the memory part, which has a budget of its own
}

// Cut is something that was considered and left out.
type Cut struct {
	ID     string    `json:"id"`
	Reason CutReason `json:"reason"`
	Detail string    `json:"detail,omitempty"` // such as the item that it duplicates
}

// Receipt explains one turn: what was known, what was injected, what was cut
// and why, what was degraded, and how long each stage took. A receipt is
// complete when the layer hands it out and is not changed afterwards.
type Receipt struct {
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
	Owner   string    `json:"owner,omitempty"`
	Session string    `json:"session,omitempty"`
	Mode    Mode      `json:"mode"`
	Policy  string    `json:"policy,omitempty"` // what decided that the turn gets or leaves less than others; see Turn.Policy
	Cause   string    `json:"cause"`            // why the mode is not the one configured; "" when it is
	Block   string    `json:"block"`            // the message injected for this turn; "" for none
	Chars   int       `json:"chars"`            // code points of the block
	Tokens  int       `json:"tokens"`

	Signals Signals `json:"signals"`
	// Focal lists the known entities that the turn is about, strongest first. Their
	// constraints are shown.
	Focal []string `json:"focal,omitempty"`
	Items []Item   `json:"items"`
	Cut   []Cut    `json:"cut"`

	// Likeness is the weight that calibration gave the embedder's likeness in this turn, as
	// a part of the default weight. It is 0 when nothing was calibrated, and when the vector
	// leg was left out, which Cause says.
	Likeness float64 `json:"likeness,omitempty"`

	// Degraded lists every stage that failed or was left out, as "stage: why".
	Degraded []string `json:"degraded,omitempty"`

	// Reused is true when an earlier request of the same turn composed the block.
	Reused bool `json:"reused,omitempty"`
	// CachedBytes counts the bytes of the request that an earlier request of the
	// session started with, NewBytes the rest: what a provider's prompt cache can
	// and can't serve.
	CachedBytes int64 `json:"cached_bytes"`
	NewBytes    int64 `json:"new_bytes"`

	// OverflowedConstraints counts constraints that did not fit even compressed.
	OverflowedConstraints int `json:"overflowed_constraints,omitempty"`

	// Taint lists the tool calls of the model's answer that repeat what an external
	// claim said. It is known once the answer is there, so only a receipt that was
	// kept has it.
	Taint []Taint `json:"taint,omitempty"`

	// Ranking lists the candidates that the learned order was offered; nil where none could
	// be applied. Explored tells what exploration did; nil where it could do nothing. A kept
	// receipt has them so that orders can be compared afterwards.
	Ranking  *Ranking  `json:"ranking,omitempty"`
	Explored *Explored `json:"explored,omitempty"`

	// Used says for each item whether the model's answer used it. It is known once the
	// answer is there, so only a receipt that was kept has it; empty when no answer was
	// heard.
	Used []Use `json:"used,omitempty"`

	MS map[string]float64 `json:"ms"` // wall-clock milliseconds by stage
}

// Taint is an argument of a tool call that repeats a span of an external claim
// injected in the same session: a sign that what somebody else wrote steers what
// the agent does. It does not quote the span, so that a forgotten claim leaves
// nothing behind.
type Taint struct {
	Tool  string `json:"tool"`
	Call  string `json:"call,omitempty"` // the tool call's id
	Claim string `json:"claim"`
	Chars int    `json:"chars"` // code points of the longest span repeated
}

// Use tells how the model's answer used one item of the block. It holds none of the
// item's words.
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

// Features are the inputs of a learned order for one candidate: numbers, and hashes of
// names, but no words.
type Features struct {
	ID     string `json:"id"`
	Entity uint32 `json:"entity,omitempty"` // slot of the primary entity: the 32-bit FNV-1a hash of the spelled name; 0 for none known
	Aspect uint32 `json:"aspect,omitempty"` // of the aspect, likewise

	Rank int `json:"rank"` // in the plain order, from 1

	// Constraint marks a rule. No learned order is ever given one.
	Constraint bool `json:"is_constraint,omitempty"`

	// Distance is the number of dependencies from the turn's entities to the candidate's
	// entity; -1 when traversal did not bring it.
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

// Ranking lists the candidates that a learned order was offered, and whether it decided.
type Ranking struct {
	// Learned is true when the learned order was in force; otherwise the plain order
	// stood and the learned one is compared with it afterwards.
	Learned bool `json:"learned,omitempty"`
	Cut     int  `json:"cut"` // how many candidates were handed on
	// Candidates are in the plain order: those that were handed on, and some that
	// came next.
	Candidates []Features `json:"candidates"`
}

// Explored tells what exploration did at the cut. It is set in every turn in which it
// could have done something.
type Explored struct {
	In      string `json:"in"`  // the first that the order leaves out
	Out     string `json:"out"` // the last that it hands on
	Swapped bool   `json:"swapped,omitempty"`
	// Propensity is the probability, 0..1, that the choice had before it was made: of the
	// swap if Swapped, else of no swap.
	Propensity float64 `json:"propensity"`
}
