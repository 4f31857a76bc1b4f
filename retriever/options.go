package retriever

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Order selects what orders the pool.
type Order string

// Orders.
const (
	OrderEvidence Order = "evidence" // absolute evidence, see rank.go
	OrderRRF      Order = "rrf"      // the fused rank alone
	OrderWeighted Order = "weighted" // the fused rank, the vector source counting VectorWeight
)

// Options configures a Retriever; zero values are the defaults.
type Options struct {
	Sources   []Source
	PerSource int            // most hits of one source; default 50
	Limits    map[string]int // by source name, where it differs from the default; not changed after New
	Pool      int            // most candidates after fusion; default 100
	K         float64        // of RRF; default 60
	Order     Order          // default OrderEvidence
	// VectorWeight is the weight of a rank in the vector source with OrderWeighted.
	VectorWeight float64
	Weights      *Weights // nil: DefaultWeights; not changed after New
	// Usual is the usual centred cosine of a turn's most like record, 0..1: embedders
	// differ in it, and ranker and floor count cosines in parts of it. 0 means 0.45,
	// the built-in embedder's.
	Usual float64
	Floor float64 // least evidence of a turn, 0..1: see evidence; 0 means DefaultFloor, < 0 none
	// Nearest is the number of claims that a turn which opens a conversation has at least, with
	// those below the floor that score best where too few are above it; 0 adds none.
	Nearest   int
	TopK      int           // most candidates handed on, memory apart; default 12
	Deadline  time.Duration // for the sources together; default 150 ms
	DecayDays int           // see ken.Support.At; 0 never decays
	// Learned reorders what is above the floor by what proved of use. Nil leaves the
	// plain order, and Result.Ranking nil.
	Learned *Learned
	// Rerank returns how well each text answers the question, the higher the better; it reorders
	// the best of the pool. If it fails, their order stays. Nil leaves it out.
	Rerank func(ctx context.Context, question string, texts []string) ([]float64, error)
	// Structure adds what the turn's entities bring: their rules, past every cut, and
	// their attributes, as a source. Nil leaves it out.
	Structure *Structure
}

// Structure configures what entities bring. It is not changed after New.
type Structure struct {
	Bounds  structure.Bounds  // but for Expand, which the turn says
	Utility structure.Utility // of aspects; nil counts nothing
}

func (o Options) withDefaults() Options {
	if o.PerSource <= 0 {
		o.PerSource = 50
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
	if o.Weights == nil {
		o.Weights = &DefaultWeights
	}
	if o.Usual <= 0 {
		o.Usual = usualCosine
	}
	if o.Floor == 0 {
		o.Floor = DefaultFloor
	}
	if o.TopK <= 0 {
		o.TopK = 12
	}
	if o.Deadline <= 0 {
		o.Deadline = 150 * time.Millisecond
	}
	return o
}

// limit is how many hits a source contributes; of the playbooks source, how many of its
// hits are kept.
func (o *Options) limit(leg string) int {
	if n := o.Limits[leg]; n > 0 {
		return n
	}
	switch leg {
	case SourceSessions:
		return DefaultSessions
	case SourcePlaybooks:
		return DefaultPlaybooks
	}
	return o.PerSource
}

// Candidate is a record that survived, in the order in which it should be
// considered.
type Candidate struct {
	Ref     store.Ref
	Owner   string // whose store Ref and Row are of; "" is the one that was searched: see Result.Merge
	Row     store.Row
	Tier    ken.Tier
	Memory  bool // pinned, a playbook, a recent episode, or near to the question without evidence: it has a budget of its own
	Recent  bool // knowledge that is a recent episode too: memory, if it has no room as knowledge
	Fused   float64
	Sources map[string]ken.LegScore // shared by candidates of other turns: not to be changed
	Signals map[string]float64

	// Constraint is a rule that applies whatever its evidence: it was not weighed
	// against anything, and is to be shown before all else, the nearest first.
	Constraint bool
	Distance   int // of such a rule: 0 of what the turn is about, 1 of what is one dependency away
}

// Result is the answer to one turn.
type Result struct {
	Candidates []Candidate
	Cut        []ken.Cut
	Retrieved  int     // records that any source returned and the filter let through
	Memory     int     // of these, pinned ones and playbooks that fit the turn
	Sessions   int     // of these, recent episodes that are not knowledge as well
	Rules      int     // of these, constraints that apply whatever their evidence
	Evidence   float64 // that the turn's records bear on it, see DefaultFloor; 0 when no floor applies
	Mode       ken.Mode
	Cause      string   // why Mode is less than the keyword and vector sources configured
	Degraded   []string // "source: why" for each source that failed or was late: the structure, then in the order of Options.Legs
	// Focal are the entities that the turn is about, strongest first, and Structure is
	// what they brought; both empty without Options.Structure.
	Focal     []structure.Focus
	Structure structure.Traversal
	// Ranking and Explored are what Options.Learned was offered and did; nil without it.
	Ranking  *ken.Ranking
	Explored *ken.Explored
	// Late delivers the hits of a vector source that missed the deadline, once; nil
	// when none did. Hand it to the next turn with Turn.Late.
	Late <-chan store.Result
	MS   map[string]float64 // milliseconds by source
}
