package config

import (
	"os"
	"time"

	"github.com/kenlayer/ken"
)

// Rank selects what orders the pool after fusion.
type Rank string

// Rankers.
const (
	RankEvidence Rank = "evidence" // absolute evidence that a hit bears on the turn
	RankRRF      Rank = "rrf"      // the fused rank alone
	RankWeighted Rank = "weighted" // the fused rank, in which legs count by RRFWeight
)

// Retrieval configures how a turn finds knowledge.
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
			"The least trusted speaker that may be injected. external admits everything.").withConsentRule(stricter("whose words may be shown to the model", ken.TrustExternal.String(), ken.TrustAgent.String(), ken.TrustOperator.String())),
		bind("weight", &r.Weight, ken.WeightDefault, choice(ken.WeightNone, ken.WeightLow, ken.WeightDefault, ken.WeightHigh),
			"How deep to go for agents that don't say: none retrieves nothing, low only constraints and Verified and Inferred items. high "+
				"looks at what the named entities depend on as well."),
		bindList("scopes", &r.Scopes, scope(),
			"What turns may see besides unscoped items, such as [repo:github.com/acme/payments]. Empty: every scope.").withConsentRule(unlessSet("which claims may be seen")),
	}
}

// Signals are the weights of the ranker's signals beside the words. 0 switches one
// off.
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
	Origin      float64 // of the kind of file that a record was cut from
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
		bind("origin", &s.Origin, 1, fraction(1),
			"How much it counts whether a piece of a file is code, a document, a test, an example, a changelog or a commit. Code comes first, "+
				"unless the question asks for another kind."),
	}
}

// Legs are the numbers of hits that each leg contributes.
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

// Breaker guards the embedding service.
type Breaker struct {
	Failures int           // in a row, until calls stop
	Open     time.Duration // until the next attempt
}

// Rerank is a service that orders what a turn found. Without an address there is none.
type Rerank struct {
	BaseURL string
	Model   string
	KeyEnv  string
	Timeout time.Duration // added to the time that a turn may take
}

func (r *Rerank) keys() []key {
	return []key{
		bind("base_url", &r.BaseURL, "", address(),
			"Where POST /rerank is, such as https://api.jina.ai/v1 or http://localhost:8080 for text-embeddings-inference. The question and up to 50 records "+
				"of every turn are sent there. Empty: nobody is asked.").withConsentRule(needsConsent(reachAddress)),
		bind("model", &r.Model, "", optional(),
			"The model that reranks. Empty where the service has one only.").withConsentRule(needsConsent(reachModel)),
		bind("key_env", &r.KeyEnv, "", variable(),
			"The environment variable that holds the service's key. Empty: no key is sent.").withConsentRule(needsConsent(reachKey)),
		bind("timeout", &r.Timeout, 300*time.Millisecond, span(time.Millisecond, 30*time.Second),
			"The longest that a turn waits for the service, beside retrieval.deadline. A turn for which it is too late keeps Ken's own order, and the receipt says so."),
	}
}

// RerankTimeout returns how long a turn waits for the reranker; 0 without one.
func (c Config) RerankTimeout() time.Duration {
	if c.Rerank.BaseURL == "" {
		return 0
	}
	return c.Rerank.Timeout
}

// RerankKey reads the reranker's key from the environment.
func (c Config) RerankKey() string {
	if c.Rerank.KeyEnv == "" {
		return ""
	}
	return os.Getenv(c.Rerank.KeyEnv)
}

func (b *Breaker) keys() []key {
	return []key{
		bind("failures", &b.Failures, 5, whole(1, 1000), "Failures in a row that stop the calls."),
		bind("open", &b.Open, 30*time.Second, span(100*time.Millisecond, time.Hour),
			"How long calls stay stopped before one is tried."),
	}
}

// Budget bounds the block. Characters are Unicode code points.
type Budget struct {
	Chars       int    // of the whole block with its frame
	MemoryChars int    // of pinned items and sessions; 0 leaves them out
	Tokens      int    // of the whole block; 0 sets no limit
	ItemChars   int    // of one item
	Encoding    string // the tokenizer that Tokens is counted in, such as o200k_base
}

func (b *Budget) keys() []key {
	return []key{
		bind("chars", &b.Chars, 6000, whole(500, 1_000_000), "Characters of the whole block, its frame included."),
		bind("memory_chars", &b.MemoryChars, 8000, whole(0, 1_000_000),
			"Characters for what always surfaces, which has a budget of its own. 0 leaves it out."),
		bind("tokens", &b.Tokens, 0, whole(0, 1_000_000),
			"Tokens of the whole block, on top of the limit in characters. 0: no such limit."),
		bind("item_chars", &b.ItemChars, 1500, whole(100, 1_000_000),
			"Characters of one item; longer ones are shortened."),
		bind("encoding", &b.Encoding, "o200k_base", choice("o200k_base", "cl100k_base", "p50k_base", "r50k_base"),
			"The tokenizer that counts tokens: o200k_base for gpt-4o and later, cl100k_base for gpt-4 and gpt-3.5."),
	}
}

// As selects the form of the block in the request.
type As string

// Forms of the block.
const (
	AsMessage As = "message" // a user message of its own, before the last one
	AsMerge   As = "merge"   // at the head of the last user message
)

// Injection configures how the block reaches the model.
type Injection struct {
	As     As   // the form of the block
	Sticky bool // keep earlier blocks where they were
	Memory int  // megabytes of earlier blocks
}

func (i *Injection) keys() []key {
	return []key{
		bind("as", &i.As, AsMessage, choice(AsMessage, AsMerge),
			"message puts the block into a user message before the turn's last one, and, for models that turn out to refuse two "+
				"user messages in a row, at the head of that message; merge always does the latter."),
		bind("sticky", &i.Sticky, true, flag(),
			"Repeat earlier blocks at the same place, byte for byte, so that the provider's prompt cache keeps working, and add "+
				"only what is new. false composes a fresh block for every request."),
		bind("memory_mb", &i.Memory, 32, whole(1, 65536),
			"How many megabytes of earlier blocks, with their receipts, are kept in memory for the next requests of their conversations. "+
				"Older ones are read from the store, which has those of sessions that are journaled. A block is about 20 kB of it."),
	}
}

// Middleware switches the parts of a turn on and off. Without Knowledge, none of
// the others has an effect.
type Middleware struct {
	Knowledge  bool // the whole subsystem
	Guard      bool // cleaning of what the stages read
	Intent     bool // signals from the messages
	Keyword    bool // the leg of words
	Vector     bool // the leg of meaning
	Pinned     bool // the leg of what always surfaces
	Sessions   bool // the leg of recent sessions
	Playbooks  bool // the leg of playbooks that fit the turn
	Graph      bool // what the code says of the symbols that a turn names
	Decisions  bool // the decisions that govern those symbols
	Objectives bool // the goals that are active
	Floor      bool // the least evidence
	Inject     bool // the block itself; without it, a dry run
	Journal    bool // of sessions, which harvesting reads
	Harvest    bool // what ended sessions taught
	Ingest     bool // tool outputs as findings
	Events     bool // the record of turns
}

func (m *Middleware) keys() []key {
	return []key{
		bind("knowledge", &m.Knowledge, true, flag(),
			"The whole subsystem. false passes every request through as it came."),
		bind("guard", &m.Guard, true, flag(),
			"Take the model's reasoning and earlier blocks out of what the other stages read. What is injected is always cleaned.").withConsentRule(stricter("whether texts are cleaned before they are read", "false", "true")),
		bind("intent", &m.Intent, true, flag(),
			"Read keywords, symbols and failures from the messages. false searches with the last user message as it stands."),
		bind("keyword", &m.Keyword, true, flag(), "The leg that matches words."),
		bind("vector", &m.Vector, true, flag(),
			"The leg that matches meaning. Needs an embedding provider; see knowledge.embed_provider.").withConsentRule(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("pinned", &m.Pinned, true, flag(),
			"The leg of what always surfaces: hot facts, approved patterns, active objectives."),
		bind("sessions", &m.Sessions, true, flag(),
			"The leg of recent sessions: a short digest of each of the newest. Episodes that bear on a turn are found by its words without it."),
		bind("playbooks", &m.Playbooks, true, flag(),
			"The leg of playbooks: those that fit the turn, by what they say of when to use them."),
		bind("graph", &m.Graph, true, flag(),
			"Say what the symbols are that a turn names, and who depends on them; what is known about their surroundings counts for the turn, too.").withConsentRule(stricter("whether the code is read", "true", "false")),
		bind("decisions", &m.Decisions, true, flag(), "Say which decisions govern the symbols and files that a turn names. Needs middleware.graph."),
		bind("objectives", &m.Objectives, true, flag(), "Say in every turn which objectives are active, and how far they have come."),
		bind("floor", &m.Floor, true, flag(),
			"Leave out hits with too little evidence that they bear on the turn. false injects the best hits, however poor."),
		bind("inject", &m.Inject, true, flag(),
			"Put the block into the request. false composes it and writes the receipt, and the model never sees it: a dry run."),
		bind("journal", &m.Journal, true, flag(),
			"Keep the messages of sessions until they were harvested. false keeps none, so that nothing is learned from them.").withConsentRule(stricter("whether conversations are kept", "true", "false")),
		bind("harvest", &m.Harvest, true, flag(),
			"When a session ends, keep what it taught: a summary, facts, findings, and candidates for patterns.").withConsentRule(stricter("whether Ken learns from conversations", "true", "false")),
		bind("ingest", &m.Ingest, false, flag(),
			"Keep the outputs of tools as findings as well. They are external: anybody may have written what a tool reads.").withConsentRule(stricter("whether what tools return is kept", "true", "false")),
		bind("events", &m.Events, true, flag(), "Write one line per turn to telemetry.events.").withConsentRule(stricter("whether turns are recorded", "true", "false")),
	}
}

// Provider selects what computes embeddings.
type Provider string

// Providers.
const (
	ProviderAuto    Provider = "auto"    // decided by Config.EmbedProvider
	ProviderOpenAI  Provider = "openai"  // an OpenAI-compatible gateway
	ProviderBuiltin Provider = "builtin" // the token-embedding table that comes with Ken
	ProviderStatic  Provider = "static"  // a sentence encoder or another table, in EmbedPath
	ProviderNone    Provider = "none"    // keyword search alone
)

// EmbedProvider returns the provider to use, never ProviderAuto: static when a
// path is named, else openai when a model and an address are, else the built-in
// table. It is ProviderNone when embeddings are switched off.
func (c Config) EmbedProvider() Provider {
	k := &c.Knowledge
	switch {
	case !k.Embeddings:
		return ProviderNone
	case k.Provider != ProviderAuto:
		return k.Provider
	case k.EmbedPath != "":
		return ProviderStatic
	case k.EmbedModel != "" && c.EmbedBaseURL() != "":
		return ProviderOpenAI
	}
	return ProviderBuiltin
}

// EmbedBaseURL returns the address of the embeddings API, which is the
// upstream's unless it has its own. It may be empty.
func (c Config) EmbedBaseURL() string {
	if c.Knowledge.EmbedBaseURL != "" {
		return c.Knowledge.EmbedBaseURL
	}
	return c.Upstream.BaseURL
}

// EmbedAPIKey reads the key of the embeddings API from the environment. The
// upstream's key is used only at the upstream's own address; "" means to send none.
func (c Config) EmbedAPIKey() string {
	switch {
	case c.Knowledge.EmbedAPIKeyEnv != "":
		return os.Getenv(c.Knowledge.EmbedAPIKeyEnv)
	case c.EmbedBaseURL() == c.Upstream.BaseURL:
		return c.Upstream.APIKey()
	}
	return ""
}

// APIKey reads the upstream's key from the environment; "" means to send none.
func (u Upstream) APIKey() string {
	if u.APIKeyEnv == "" {
		return ""
	}
	return os.Getenv(u.APIKeyEnv)
}
