package retriever

import (
	"cmp"
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Order selects how the pool is sorted.
type Order string

// Orders.
const (
	OrderEvidence Order = "evidence" // by absolute evidence, see Retriever.weigh
	OrderRRF      Order = "rrf"      // by the fused rank only
	OrderWeighted Order = "weighted" // by the fused rank, with VectorWeight for the vector source
)

// Options configures a Retriever. Zero values mean the defaults.
type Options struct {
	Sources   []Source
	PerSource int            // maximum number of hits of a source; default 50
	Limits    map[string]int // by source name, exceptions from PerSource; must not be changed after New
	Pool      int            // maximum number of candidates after fusion; default 100
	K         float64        // k of reciprocal rank fusion; default 60
	Order     Order          // default OrderEvidence
	// VectorWeight is the weight of the vector source's ranks for OrderWeighted.
	VectorWeight float64
	Weights      *Weights // nil means DefaultWeights; must not be changed after New
	// Usual is the usual centred cosine of a turn's best record, 0..1. It differs between
	// embedders; ranker and floor use cosines relative to it. 0 means 0.45, the value of the
	// built-in embedder.
	Usual float64
	Floor float64 // minimum evidence of a turn, 0..1: see evidence; 0 means DefaultFloor, < 0 no floor
	// Nearest is the number of claims up to which a turn that opens a conversation is filled. If fewer
	// are above the floor, the best ones below it are added that have a word of the question, or a
	// cosine of at least 0.2; 0 adds none.
	Nearest   int
	TopK      int           // maximum number of candidates returned, without memory; default 12
	Deadline  time.Duration // for all sources together; default 150 ms
	DecayDays int           // see ken.Support.At; 0 means no decay
	// Learned reorders the candidates above the floor by their use in earlier turns. If it is nil,
	// the plain order stays, and Result.Ranking is nil.
	Learned *Learned
	// Rerank returns a score for each text, higher for a better answer to the question. It reorders
	// the best of the pool. If it fails, their order stays. Nil means no reranking.
	Rerank func(ctx context.Context, question string, texts []string) ([]float64, error)
	// Structure adds the rules of the turn's entities, which pass every cut, and their attributes,
	// as a source. Nil adds nothing.
	Structure *Structure
}

// Structure configures the search by entities. It must not be changed after New.
type Structure struct {
	Bounds  structure.Bounds  // except for Expand, which Turn sets
	Utility structure.Utility // of aspects; nil means that all count the same
	// MatchRules treats rules as other records: they must be found by their words or meaning, and
	// pass every cut.
	MatchRules bool
}

func (o Options) withDefaults() Options {
	o.PerSource = cmp.Or(max(o.PerSource, 0), 50)
	o.Pool = cmp.Or(max(o.Pool, 0), 100)
	o.K = cmp.Or(max(o.K, 0), 60)
	o.Order = cmp.Or(o.Order, OrderEvidence)
	o.Weights = cmp.Or(o.Weights, &DefaultWeights)
	o.Usual = cmp.Or(max(o.Usual, 0), usualCosine)
	o.Floor = cmp.Or(o.Floor, DefaultFloor)
	o.TopK = cmp.Or(max(o.TopK, 0), 12)
	o.Deadline = cmp.Or(max(o.Deadline, 0), 150*time.Millisecond)
	return o
}

// limit returns the maximum number of hits of a source. For the playbooks source it is the maximum
// number of fitting playbooks.
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

// Candidate is a record that was found, in the order in which candidates should be considered.
type Candidate struct {
	Ref     store.Ref
	Owner   string // the owner of the store of Ref and Row; "" means the store that was searched: see Result.Merge
	Row     store.Row
	Tier    ken.Tier
	Memory  bool // a pinned record, a playbook, a recent episode, or a claim added by Options.Nearest: these have a budget of their own
	Recent  bool // knowledge that is also a recent episode, and counts as memory if it does not fit as knowledge
	Fused   float64
	Sources map[string]ken.LegScore // may be shared with other turns; must not be changed
	Signals map[string]float64

	// Constraint marks a rule that applies whatever its evidence. It was not ranked, and must be
	// shown before everything else, the nearest first.
	Constraint bool
	Distance   int // for a Constraint: 0 for a rule about the turn's entities, 1 for one about entities one dependency away
}

// Result is the result of one turn.
type Result struct {
	Candidates []Candidate
	Cut        []ken.Cut
	Retrieved  int     // number of records that any source returned and the filter accepted
	Memory     int     // of these, pinned records and fitting playbooks
	Sessions   int     // of these, recent episodes that are not also knowledge
	Rules      int     // of these, constraints that apply whatever their evidence
	Evidence   float64 // that the records are relevant to the turn, see DefaultFloor; 0 if no floor applies
	Mode       ken.Mode
	Cause      string   // why Mode is less than the configured keyword and vector sources
	Degraded   []string // "source: reason" for each source that failed or was late: structure first, then in the order of Options.Sources
	// Focal are the entities that the turn is about, strongest first, and Structure is what was
	// found through them. Both are empty without Options.Structure.
	Focal     []structure.Focus
	Structure structure.Traversal
	// Ranking and Explored describe the work of Options.Learned; nil without it.
	Ranking  *ken.Ranking
	Explored *ken.Explored
	// Late delivers, once, the hits of a vector source that missed the deadline; nil if none did.
	// Pass it to the next turn as Turn.Late.
	Late <-chan store.Result
	MS   map[string]float64 // milliseconds by source
}
