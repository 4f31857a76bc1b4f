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
	RankWeighted Rank = "weighted" // the fused rank, in which legs count by RRFWeight
)

// Retrieval is how a turn finds knowledge.
type Retrieval struct {
	Deadline  time.Duration // for all legs together
	AtOnce    int           // turns that are composed at once
	Legs      Legs
	Signals   Signals
	Pool      int         // hits kept after fusion
	RRFK      int         // the constant of reciprocal rank fusion
	Rank      Rank        // what orders the pool
	RRFWeight float64     // of the vector leg's ranks, with RankWeighted
	Floor     float64     // least evidence, 0..1
	Calibrate bool        // measure how far the embedder is to be trusted
	MinTrust  ken.Trust   // of the least trusted evidence of an item
	Weight    ken.Weight  // of agents that don't say
	Scopes    []ken.Scope // what a turn may see besides unscoped claims; nil sees every scope
}

func (r *Retrieval) keys() []key {
	return []key{
		bind("deadline", &r.Deadline, 150*time.Millisecond, span(time.Millisecond, 30*time.Second),
			"The longest that the model call waits for retrieval. A leg that is late is left out, and the receipt says so."),
		bind("at_once", &r.AtOnce, 64, whole(1, 100_000),
			"The most turns that look up at once. One that comes on top goes on without waiting: with the blocks that its conversation "+
				"has, and without a new one."),
		bind("pool", &r.Pool, 100, whole(1, 1000), "Hits that stay in the running after fusion."),
		bind("rrf_k", &r.RRFK, 60, whole(1, 1000),
			"The constant of reciprocal rank fusion. Larger values flatten the difference between ranks."),
		bind("rank", &r.Rank, RankEvidence, choice(RankEvidence, RankRRF, RankWeighted),
			"What orders the pool: evidence weighs how well each hit fits the turn, rrf keeps the fused order, weighted is rrf with "+
				"rrf_weight."),
		bind("rrf_weight", &r.RRFWeight, 0.3, fraction(10),
			"How much a rank in the vector leg counts beside one in the keyword leg, if rank is weighted."),
		bind("floor", &r.Floor, 0.16, fraction(1),
			"The least evidence that what was found bears on the turn: the share of its words times their likeness. A turn below it "+
				"gets no block. Higher gives surer blocks and more turns without one; 0 switches it off."),
		bind("calibrate", &r.Calibrate, true, flag(),
			"Measure on questions made of the store's own records how far the embedder's likeness is to be trusted here, and go by that. "+
				"It runs in the background, once for a model and again when the store grew by half. ken doctor shows what came of it."),
		bind("min_trust", &r.MinTrust, ken.TrustExternal, choice(ken.TrustExternal, ken.TrustAgent, ken.TrustOperator),
			"The least trusted speaker that may be injected. external admits everything.").judged(stricter("whose words may be shown to the model", ken.TrustExternal.String(), ken.TrustAgent.String(), ken.TrustOperator.String())),
		bind("weight", &r.Weight, ken.WeightDefault, choice(ken.WeightNone, ken.WeightLow, ken.WeightDefault, ken.WeightHigh),
			"How deep to go for agents that don't say: none retrieves nothing, low only constraints and Verified and Inferred items. high "+
				"looks at what the named entities depend on as well."),
		bindList("scopes", &r.Scopes, scope(),
			"What turns may see besides unscoped items, such as [repo:github.com/acme/payments]. Empty: every scope.").judged(unlessSet("which claims may be seen")),
	}
}

// Signals says how much each signal of the ranker counts beside the words. 0
// switches one off.
type Signals struct {
	Context     float64 // of a word in a neighbouring record
	Cosine      float64 // of the likeness to the question
	Speaker     float64 // added for who is asked about
	When        float64 // added for a date in the text
	Date        float64 // added for the time that is asked about
	Self        float64 // added for the first person
	Instruction float64 // added for a standing instruction
	Question    float64 // taken from a short question
	Structure   float64 // added for what is filed under the turn's entities
}

func (s *Signals) keys() []key {
	return []key{
		bind("context", &s.Context, 0.55, fraction(2),
			"What a word of the question counts for a record that has it only in a neighbour, of the same session or file."),
		bind("cosine", &s.Cosine, 1, fraction(10),
			"The likeness of meaning, by the embeddings. 1 trusts it as far as each question's own evidence says."),
		bind("speaker", &s.Speaker, 0.08, fraction(2), "For records in which somebody speaks whom the question names."),
		bind("when", &s.When, 0.1, fraction(2), "For records that say when, if the question asks when."),
		bind("date", &s.Date, 0.3, fraction(2), "For records of the time that the question names: in May 2023, last week."),
		bind("self", &s.Self, 0.2, fraction(2), "For records in the first person, if the question is in the first person too."),
		bind("instruction", &s.Instruction, 0.2, fraction(2), "For standing instructions and preferences: always …, I prefer …"),
		bind("question", &s.Question, 0.08, fraction(2), "Taken from short records that are questions themselves: the answer is what helps."),
		bind("structure", &s.Structure, 0.1, fraction(2), "For records under a weighty aspect of what the turn is about."),
	}
}

// Legs is how many hits each leg contributes.
type Legs struct {
	Keyword int // of the keyword leg
	Vector  int // of the vector leg
	// Structure is of the leg of what is filed under the turn's entities; constraints
	// don't count.
	Structure int
}

func (l *Legs) keys() []key {
	return []key{
		bind("keyword", &l.Keyword, 50, whole(1, 1000), "Hits of the keyword leg."),
		bind("vector", &l.Vector, 50, whole(1, 1000), "Hits of the vector leg."),
		bind("structure", &l.Structure, 50, whole(1, 1000), "Hits of the leg of what is filed under the turn's entities. Constraints don't count."),
	}
}
