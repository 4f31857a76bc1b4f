package ken

import "time"

// CutReason is the reason why a candidate is not in the block.
type CutReason string

// The reasons. No others exist.
const (
	CutScope     CutReason = "scope"     // outside the turn's scopes or kinds
	CutStatus    CutReason = "status"    // disputed, superseded or a hypothesis
	CutTier      CutReason = "tier"      // weaker than the agent's weight admits
	CutTrust     CutReason = "trust"     // below retrieval.min_trust
	CutExpired   CutReason = "expired"   // it has expired
	CutFloor     CutReason = "floor"     // not enough evidence that it is relevant to the turn
	CutDuplicate CutReason = "duplicate" // the context contains it already
	CutBudget    CutReason = "budget"    // did not fit
	CutPool      CutReason = "pool"      // beyond the pool's size
	CutLate      CutReason = "late"      // arrived after the deadline
)

// LegScore is the rank and the score that one leg of the retrieval gave an item.
type LegScore struct {
	Rank  int     `json:"rank"`  // from 1
	Score float64 `json:"score"` // on the leg's own scale
}

// Item is one piece of knowledge in the block, with the reasons why it is there.
type Item struct {
	ID      string `json:"id"`
	Owner   string `json:"owner,omitempty"` // the owner who shares it; "" is the turn's own owner
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
	Signals map[string]float64  `json:"signals,omitempty"` // the ranker's scores by signal

	CreatedAt  time.Time `json:"created_at,omitzero"`
	Constraint bool      `json:"constraint,omitempty"`
	Candidate  bool      `json:"rule_candidate,omitempty"` // a rule that no operator has approved
	// NewStatus is "disputed" or "superseded" if an earlier block of the conversation
	// contained the claim and its status changed since then. The item announces the change.
	// It is "" for any other item.
	NewStatus Status   `json:"fallen,omitempty"`
	Entities  []string `json:"entities,omitempty"` // what it is about, as in the claim, the primary one first; not to be changed
	Aspect    string   `json:"aspect,omitempty"`   // of the primary entity
	Memory    bool     `json:"memory,omitempty"`   // it is in the memory part, which has a separate budget
}

// Cut is a candidate that was left out.
type Cut struct {
	ID     string    `json:"id"`
	Reason CutReason `json:"reason"`
	Detail string    `json:"detail,omitempty"` // for example the item that it duplicates
}

// Receipt explains one turn: what was known, what was injected, what was cut and why, what
// was degraded, and how long each stage took. A receipt is complete when the layer returns
// it, and is not changed afterwards.
type Receipt struct {
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
	Owner   string    `json:"owner,omitempty"`
	Session string    `json:"session,omitempty"`
	Mode    Mode      `json:"mode"`
	Policy  string    `json:"policy,omitempty"` // the rule that restricted the turn; see Turn.Policy
	Cause   string    `json:"cause"`            // why the mode differs from the configured one; "" if it does not
	Block   string    `json:"block"`            // the message injected for this turn; "" for none
	Chars   int       `json:"chars"`            // code points of the block
	Tokens  int       `json:"tokens"`

	Signals Signals `json:"signals"`
	// Focal lists the known entities that the turn is about, strongest first. Their
	// constraints are included.
	Focal []string `json:"focal,omitempty"`
	Items []Item   `json:"items"`
	Cut   []Cut    `json:"cut"`

	// Likeness is the weight that calibration gave to the embedder's similarity in this
	// turn, relative to the default weight. It is 0 when nothing was calibrated, and when
	// the vector leg was left out, which Cause says.
	Likeness float64 `json:"likeness,omitempty"`

	// Degraded lists every stage that failed or was left out, as "stage: why".
	Degraded []string `json:"degraded,omitempty"`

	// Reused is true when an earlier request of the same turn composed the block.
	Reused bool `json:"reused,omitempty"`
	// CachedBytes is the number of bytes that the request has in common with the start of
	// an earlier request of the session. A provider's prompt cache can serve them.
	// NewBytes is the number of the other bytes.
	CachedBytes int64 `json:"cached_bytes"`
	NewBytes    int64 `json:"new_bytes"`

	// OverflowedConstraints is the number of constraints that did not fit even when
	// compressed, or that apply to a turn without a block, because it was not ready in
	// time. Degraded says when the constraints could not be looked for.
	OverflowedConstraints int `json:"overflowed_constraints,omitempty"`

	// Taint lists the tool calls of the model's answer that repeat text of an external
	// claim. It is only known after the answer, so only stored receipts have it.
	Taint []Taint `json:"taint,omitempty"`

	// Ranking lists the candidates that were passed to the learned order; nil if no learned
	// order could apply. Explored records the exploration; nil if none was possible. Stored
	// receipts include both, so that orders can be compared afterwards.
	Ranking  *Ranking  `json:"ranking,omitempty"`
	Explored *Explored `json:"explored,omitempty"`

	// Used says for each item whether the model's answer used it. It is only known after the
	// answer, so only stored receipts have it; empty when no answer was recorded.
	Used []Use `json:"used,omitempty"`

	MS map[string]float64 `json:"ms"` // wall-clock milliseconds by stage
}

// Taint is an argument of a tool call that repeats text of an external claim injected in the
// same session. This is a sign that an outside author controls what the agent does. It does
// not quote the text, so that nothing remains of a forgotten claim.
type Taint struct {
	Tool  string `json:"tool"`
	Call  string `json:"call,omitempty"` // the tool call's id
	Claim string `json:"claim"`
	Chars int    `json:"chars"` // code points of the longest repeated text
}

// Use says how the model's answer used one item of the block. It contains none of the item's
// text.
type Use struct {
	ID        string `json:"id"`
	Cited     bool   `json:"cited,omitempty"`     // the answer names its short id or its source
	Repeated  bool   `json:"repeated,omitempty"`  // the answer contains information that, of all that the model read, only the item had
	ToolOK    bool   `json:"tool_ok,omitempty"`   // a tool was called with information that only the item had, and succeeded
	Corrected bool   `json:"corrected,omitempty"` // the user's next message says that it is wrong
}

// Used reports whether the answer used the item in any way.
func (u Use) Used() bool { return u.Cited || u.Repeated || u.ToolOK }

// Helped reports whether the item was used and not corrected.
func (u Use) Helped() bool { return u.Used() && !u.Corrected }

// Features holds the inputs of a learned order for one candidate: numbers and hashes of
// names, but no text.
type Features struct {
	ID     string `json:"id"`
	Entity uint32 `json:"entity,omitempty"` // hash of the primary entity: 32-bit FNV-1a of the spelled name; 0 if unknown
	Aspect uint32 `json:"aspect,omitempty"` // hash of the aspect, computed the same way

	Rank int `json:"rank"` // in the default order, from 1

	// Constraint marks a rule. Rules are never passed to a learned order.
	Constraint bool `json:"is_constraint,omitempty"`

	// Distance is the number of dependencies from the turn's entities to the candidate's
	// entity; -1 if the candidate was not found through dependencies.
	Distance int     `json:"distance"`
	Weight   float64 `json:"weight,omitempty"` // weight of the aspect under which it was found, 0..1

	Keyword   int     `json:"keyword,omitempty"`   // rank in the keyword leg, from 1; 0 if not found there
	Vector    int     `json:"vector,omitempty"`    // rank in the vector leg
	Structure int     `json:"structure,omitempty"` // rank in the structure leg
	Score     float64 `json:"score"`               // score in the default order, 1 for the turn's best
	Tier      Tier    `json:"tier"`
	Trust     Trust   `json:"trust,omitempty"`
	Document  bool    `json:"document,omitempty"` // a chunk of the repository
	Episode   bool    `json:"episode,omitempty"`  // the summary of a session
	AgeDays   float64 `json:"age_days,omitempty"`

	// Counts from earlier turns, older turns weighing less: for the record itself, and for
	// all records with the same entity and aspect.
	Shown     float64 `json:"shown,omitempty"`
	Used      float64 `json:"used,omitempty"`
	SlotShown float64 `json:"slot_shown,omitempty"`
	SlotUsed  float64 `json:"slot_used,omitempty"`
}

// Ranking lists the candidates that were passed to a learned order, and says whether the
// learned order was used.
type Ranking struct {
	// Learned is true if the learned order was used. Otherwise the default order was used,
	// and the learned one is only compared with it afterwards.
	Learned bool `json:"learned,omitempty"`
	Cut     int  `json:"cut"` // number of candidates that were passed on
	// Candidates are in the default order: those that were passed on, and some of the next
	// ones.
	Candidates []Features `json:"candidates"`
}

// Explored records the exploration at the cut. It is set in every turn in which exploration
// was possible.
type Explored struct {
	In      string `json:"in"`  // the first candidate that the order leaves out
	Out     string `json:"out"` // the last candidate that the order passes on
	Swapped bool   `json:"swapped,omitempty"`
	// Propensity is the probability, 0..1, of the choice that was made: of the swap if
	// Swapped, else of no swap.
	Propensity float64 `json:"propensity"`
}
