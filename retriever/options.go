package retriever

import (
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Order says what orders the pool.
type Order string

// Orders.
const (
	OrderEvidence Order = "evidence" // absolute evidence, see rank.go
	OrderRRF      Order = "rrf"      // the fused rank alone
)

// Options configures a Retriever; zero values are the defaults.
type Options struct {
	Legs      []Leg
	PerLeg    int            // most hits of one leg; default 50
	Limits    map[string]int // by leg name, where it differs from PerLeg; not changed after New
	Pool      int            // most candidates after fusion; default 100
	K         float64        // of RRF; default 60
	Order     Order          // default OrderEvidence
	Floor     Floor
	TopK      int           // most candidates handed on, memory apart; default 12
	Deadline  time.Duration // for the legs together; default 150 ms
	DecayDays int           // see ken.Support.At; 0 never decays
}

// Floor is the least absolute evidence with which a record stays: one of the two
// suffices. Zero values are those of DefaultFloor.
type Floor struct {
	Share  float64 // of the query's keyword weight; < 0 drops nothing, whatever Cosine says
	Cosine float64 // centred, to the question; < 0 never suffices
}

// DefaultFloor was chosen on the no-answer questions and the small talk of the
// evaluation sets: see docs/decisions.
var DefaultFloor = Floor{Share: 0.18, Cosine: 0.45}

func (o Options) withDefaults() Options {
	if o.PerLeg <= 0 {
		o.PerLeg = 50
	}
	if o.Pool <= 0 {
		o.Pool = 100
	}
	if o.K <= 0 {
		o.K = 60
	}
	if o.Order == "" {
		o.Order = OrderEvidence
	}
	if o.Floor.Share == 0 {
		o.Floor.Share = DefaultFloor.Share
	}
	if o.Floor.Cosine == 0 {
		o.Floor.Cosine = DefaultFloor.Cosine
	}
	if o.TopK <= 0 {
		o.TopK = 12
	}
	if o.Deadline <= 0 {
		o.Deadline = 150 * time.Millisecond
	}
	return o
}

// Candidate is a record that survived, in the order in which it should be
// considered.
type Candidate struct {
	Ref     store.Ref
	Row     store.Row
	Tier    ken.Tier
	Memory  bool // pinned: it has a budget of its own
	Fused   float64
	Legs    map[string]ken.LegScore
	Signals map[string]float64
}

// Result is the answer to one turn.
type Result struct {
	Candidates []Candidate
	Cut        []ken.Cut
	Retrieved  int // records that any leg returned and the filter let through
	Memory     int // of these, pinned ones
	Mode       ken.Mode
	Cause      string   // why Mode is less than the keyword and vector legs configured
	Degraded   []string // "leg: why" for each leg that failed or was late, in the order of Options.Legs
	// Late delivers the hits of a vector leg that missed the deadline, once; nil
	// when none did. Hand it to the next turn with Turn.Late.
	Late <-chan store.Result
	MS   map[string]float64 // milliseconds by leg
}
