package config

import (
	"time"

	"github.com/kenlayer/ken"
)

// Rank says what orders the pool after fusion.
type Rank string

// Rankers.
const (
	RankEvidence Rank = "evidence" // absolute evidence that a hit bears on the turn
	RankRRF      Rank = "rrf"      // the fused rank alone
)

// Retrieval is how a turn finds knowledge.
type Retrieval struct {
	Deadline time.Duration // for all legs together
	Legs     Legs
	Pool     int         // hits kept after fusion
	RRFK     int         // the constant of reciprocal rank fusion
	Rank     Rank        // what orders the pool
	Floor    float64     // least evidence, 0..1
	MinTrust ken.Trust   // of the least trusted evidence of an item
	Weight   ken.Weight  // of agents that don't say
	Scopes   []ken.Scope // what a turn may see besides unscoped claims; nil sees every scope
}

func (r *Retrieval) keys() []key {
	return []key{
		bind("deadline", &r.Deadline, 150*time.Millisecond, span(time.Millisecond, 30*time.Second),
			"The longest that the model call waits for retrieval. A leg that is late is left out, and the receipt says so."),
		bind("pool", &r.Pool, 100, whole(1, 1000), "Hits that stay in the running after fusion."),
		bind("rrf_k", &r.RRFK, 60, whole(1, 1000),
			"The constant of reciprocal rank fusion. Larger values flatten the difference between ranks."),
		bind("rank", &r.Rank, RankEvidence, choice(RankEvidence, RankRRF),
			"What orders the pool: evidence weighs how well each hit fits the turn, rrf keeps the fused order."),
		bind("floor", &r.Floor, 0.18, fraction(0, 1),
			"The least evidence a hit needs to be injected. Higher gives fewer and surer items, and more turns without a block."),
		bind("min_trust", &r.MinTrust, ken.TrustExternal, choice(ken.TrustExternal, ken.TrustAgent, ken.TrustOperator),
			"The least trusted speaker that may be injected. external admits everything."),
		bind("weight", &r.Weight, ken.WeightDefault, choice(ken.WeightNone, ken.WeightLow, ken.WeightDefault, ken.WeightHigh),
			"How deep to go for agents that don't say: none retrieves nothing, low only Verified and Inferred items. high is for one "+
				"hop through a graph, and does what default does while there is none."),
		bindList("scopes", &r.Scopes, scope(),
			"What turns may see besides unscoped items, such as [repo:github.com/acme/payments]. Empty: every scope."),
	}
}

// Legs is how many hits each leg contributes.
type Legs struct {
	Keyword int // of the keyword leg
	Vector  int // of the vector leg
}

func (l *Legs) keys() []key {
	return []key{
		bind("keyword", &l.Keyword, 50, whole(1, 1000), "Hits of the keyword leg."),
		bind("vector", &l.Vector, 50, whole(1, 1000), "Hits of the vector leg."),
	}
}
