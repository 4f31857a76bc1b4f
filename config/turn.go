package config

import (
	"os"
	"time"

	"github.com/kenlayer/ken"
)

// Rank selects how hits are ordered after fusion.
type Rank string

// Rankers.
const (
	RankEvidence Rank = "evidence" // absolute evidence that a hit is relevant to the turn
	RankRRF      Rank = "rrf"      // only the fused rank
	RankWeighted Rank = "weighted" // the fused rank, with the vector leg weighted by RRFWeight
)

// Retrieval configures how a turn finds knowledge.
type Retrieval struct {
	Deadline  time.Duration // for all legs together
	AtOnce    int           // maximum number of turns that retrieve at the same time
	Legs      Legs
	Signals   Signals
	Pool      int         // number of hits kept after fusion
	RRFK      int         // the constant of reciprocal rank fusion
	Rank      Rank        // how the pool is ordered
	RRFWeight float64     // weight of the vector leg's ranks, with RankWeighted
	Floor     float64     // minimum evidence, 0..1
	Calibrate bool        // measure how reliable the embedder is
	MinTrust  ken.Trust   // minimum trust of an item's evidence
	Weight    ken.Weight  // for agents that don't set one
	Scopes    []ken.Scope // scopes that a turn may see besides unscoped claims; nil allows every scope
}

func (r *Retrieval) keys() []key {
	return []key{
		bind("deadline", &r.Deadline, 150*time.Millisecond, span(time.Millisecond, 30*time.Second),
			"How long a model call waits for retrieval. A leg that is late is left out, and the receipt says so."),
		bind("at_once", &r.AtOnce, 64, whole(1, 100_000),
			"The maximum number of turns that retrieve at the same time. A turn beyond that does not wait: it keeps the blocks of its "+
				"conversation, without a new one."),
		bind("pool", &r.Pool, 100, whole(1, 1000), "The number of hits that are kept after fusion."),
		bind("rrf_k", &r.RRFK, 60, whole(1, 1000),
			"The constant of reciprocal rank fusion. Larger values reduce the difference between ranks."),
		bind("rank", &r.Rank, RankEvidence, choice(RankEvidence, RankRRF, RankWeighted),
			"How hits are ordered: evidence weighs how well each hit fits the turn, rrf keeps the fused order, weighted is rrf with "+
				"rrf_weight."),
		bind("rrf_weight", &r.RRFWeight, 0.3, fraction(10),
			"The weight of a rank in the vector leg, compared with 1 for the keyword leg. Used if rank is weighted."),
		bind("floor", &r.Floor, 0.16, fraction(1),
			"The minimum evidence that the hits are relevant to the turn: the share of its words times their similarity. A turn below it gets "+
				"no block, or only what knowledge.nearest adds to a conversation's first turn. A higher value gives more relevant blocks, and more turns "+
				"without a block. 0: no minimum."),
		bind("calibrate", &r.Calibrate, true, flag(),
			"Measure how reliable the embedder's similarity is, with questions made from the store's own records, and use the result. It runs "+
				"in the background, once for a model and again when the store has grown by half. ken doctor shows the result."),
		bind("min_trust", &r.MinTrust, ken.TrustExternal, choice(ken.TrustExternal, ken.TrustAgent, ken.TrustOperator),
			"The minimum trust of an item that may be injected. external admits everything.").withConsentRule(stricter("whose words may be shown to the model", ken.TrustExternal.String(), ken.TrustAgent.String(), ken.TrustOperator.String())),
		bind("weight", &r.Weight, ken.WeightDefault, choice(ken.WeightNone, ken.WeightLow, ken.WeightDefault, ken.WeightHigh),
			"How much to retrieve for agents that don't set it: none retrieves nothing; low only constraints, and Verified and Inferred "+
				"items; high also follows the dependencies of the named entities."),
		bindList("scopes", &r.Scopes, scope(),
			"The scopes that turns may see besides unscoped items, such as [repo:github.com/acme/payments]. Empty: every scope.").withConsentRule(unlessSet("which claims may be seen")),
	}
}

// Signals holds the weights of the ranker's signals besides the words. 0 turns a signal
// off.
type Signals struct {
	Context     float64 // for a word in a neighbouring record
	Cosine      float64 // for the similarity to the question
	Speaker     float64 // added if the question names the speaker
	When        float64 // added for a date in the text
	Date        float64 // added if the time matches that of the question
	Self        float64 // added for the first person
	Instruction float64 // added for a standing instruction
	Question    float64 // taken from a short question
	Structure   float64 // added for records filed under the turn's entities
	Origin      float64 // for the kind of file that a record comes from
}

func (s *Signals) keys() []key {
	return []key{
		bind("context", &s.Context, 0.55, fraction(2),
			"The weight of a question's word that occurs only in a neighbouring record, of the same session or file."),
		bind("cosine", &s.Cosine, 1, fraction(10),
			"The similarity of meaning, from the embeddings. 1 weighs it by the evidence that each question has."),
		bind("speaker", &s.Speaker, 0.08, fraction(2), "For records whose speaker the question names."),
		bind("when", &s.When, 0.1, fraction(2), "For records that contain a time, if the question asks when."),
		bind("date", &s.Date, 0.3, fraction(2), "For records from the time that the question names: in May 2023, last week."),
		bind("self", &s.Self, 0.2, fraction(2), "For records in the first person, if the question is in the first person too."),
		bind("instruction", &s.Instruction, 0.2, fraction(2), "For standing instructions and preferences: always …, I prefer …"),
		bind("question", &s.Question, 0.08, fraction(2), "Subtracted from short records that are themselves questions, because the answer is what helps."),
		bind("structure", &s.Structure, 0.1, fraction(2), "For records filed under an important aspect of what the turn is about."),
		bind("origin", &s.Origin, 1, fraction(1),
			"How much it matters whether a chunk of a file is code, a document, a test, an example, a changelog or a commit. Code comes "+
				"first, unless the question asks for another kind."),
	}
}

// Legs holds the maximum number of hits of each leg.
type Legs struct {
	Keyword int // of the keyword leg
	Vector  int // of the vector leg
	// Structure is for the leg of records that are filed under the turn's entities,
	// except constraints.
	Structure int
}

func (l *Legs) keys() []key {
	return []key{
		bind("keyword", &l.Keyword, 50, whole(1, 1000), "The number of hits of the keyword leg."),
		bind("vector", &l.Vector, 50, whole(1, 1000), "The number of hits of the vector leg."),
		bind("structure", &l.Structure, 50, whole(1, 1000), "The number of hits of the structure leg, which are records filed under the turn's entities. Constraints don't count."),
	}
}

// Breaker stops calls to a failing embedding service.
type Breaker struct {
	Failures int           // failures in a row until calls stop
	Open     time.Duration // time until the next attempt
}

// Rerank configures a service that reorders what a turn found. It is off without
// BaseURL.
type Rerank struct {
	BaseURL string
	Model   string
	KeyEnv  string
	Timeout time.Duration // added to the time limit of a turn
}

func (r *Rerank) keys() []key {
	return []key{
		bind("base_url", &r.BaseURL, "", address(),
			"The address whose POST /rerank is called, such as https://api.jina.ai/v1 or http://localhost:8080 for text-embeddings-inference. "+
				"The question and up to 50 records of every turn are sent there. Empty: no reranking.").withConsentRule(needsConsent(reachAddress)),
		bind("model", &r.Model, "", optional(),
			"The reranking model. Empty if the service has only one.").withConsentRule(needsConsent(reachModel)),
		bind("key_env", &r.KeyEnv, "", variable(),
			"The environment variable that holds the service's key. Empty: no key is sent.").withConsentRule(needsConsent(reachKey)),
		bind("timeout", &r.Timeout, 300*time.Millisecond, span(time.Millisecond, 30*time.Second),
			"How long a turn waits for the service, in addition to retrieval.deadline. If the service is late, the turn keeps Ken's own "+
				"order, and the receipt says so."),
	}
}

// RerankTimeout returns how long a turn waits for the reranker; 0 if there is none.
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
		bind("failures", &b.Failures, 5, whole(1, 1000), "The number of failures in a row after which calls stop."),
		bind("open", &b.Open, 30*time.Second, span(100*time.Millisecond, time.Hour),
			"How long calls stay stopped before the next attempt."),
	}
}

// Budget limits the block. Characters are Unicode code points.
type Budget struct {
	Chars       int    // for the whole block with its frame
	MemoryChars int    // for pinned items and sessions; 0 leaves them out
	Tokens      int    // for the whole block; 0 sets no limit
	ItemChars   int    // for one item
	Encoding    string // the tokenizer that Tokens is counted in, such as o200k_base
}

func (b *Budget) keys() []key {
	return []key{
		bind("chars", &b.Chars, 6000, whole(500, 1_000_000), "The maximum number of characters of the whole block, frame included."),
		bind("memory_chars", &b.MemoryChars, 8000, whole(0, 1_000_000),
			"The maximum number of characters for items that are always included, which have a separate budget. 0: they are left out."),
		bind("tokens", &b.Tokens, 0, whole(0, 1_000_000),
			"The maximum number of tokens of the whole block, in addition to the limit in characters. 0: no such limit."),
		bind("item_chars", &b.ItemChars, 1500, whole(100, 1_000_000),
			"The maximum number of characters of one item; longer items are shortened."),
		bind("encoding", &b.Encoding, "o200k_base", choice("o200k_base", "cl100k_base", "p50k_base", "r50k_base"),
			"The tokenizer that counts tokens: o200k_base for gpt-4o and later, cl100k_base for gpt-4 and gpt-3.5."),
	}
}

// As selects how the block is placed in the request.
type As string

// Values of As.
const (
	AsMessage As = "message" // a separate user message before the last one
	AsMerge   As = "merge"   // at the start of the last user message
)

// Injection configures how the block reaches the model.
type Injection struct {
	As     As   // the form of the block
	Sticky bool // keep earlier blocks at their place
	Memory int  // memory for earlier blocks, in megabytes
}

func (i *Injection) keys() []key {
	return []key{
		bind("as", &i.As, AsMessage, choice(AsMessage, AsMerge),
			"message: the block is a separate user message before the turn's last one; for models that refuse two user messages in a row, it "+
				"is at the start of that message. merge: it is always at the start of that message."),
		bind("sticky", &i.Sticky, true, flag(),
			"Repeat earlier blocks at the same place, byte for byte, so that the provider's prompt cache keeps working, and add only what is "+
				"new. false: compose a new block for every request."),
		bind("memory_mb", &i.Memory, 32, whole(1, 65536),
			"The memory, in megabytes, for earlier blocks and their receipts, which later requests of their conversations need. Older ones "+
				"are read from the store, which has those of journaled sessions. A block takes about 20 kB."),
	}
}

// Middleware turns the parts of a turn on and off. Without Knowledge, the others have
// no effect.
type Middleware struct {
	Knowledge  bool // the whole subsystem
	Guard      bool // clean what the stages read
	Intent     bool // read signals from the messages
	Keyword    bool // keyword search
	Vector     bool // vector search
	Pinned     bool // items that are always included
	Sessions   bool // recent sessions
	Playbooks  bool // playbooks that match the turn
	Graph      bool // facts of the code graph about the symbols that a turn names
	Decisions  bool // decisions that govern those symbols
	Objectives bool // active objectives
	Floor      bool // minimum evidence
	Inject     bool // add the block; without it, a dry run
	Journal    bool // keep the messages of sessions for harvesting
	Harvest    bool // extract knowledge from ended sessions
	Ingest     bool // keep tool outputs as findings
	Events     bool // record turns
}

func (m *Middleware) keys() []key {
	return []key{
		bind("knowledge", &m.Knowledge, true, flag(),
			"The whole subsystem. false: every request is passed on unchanged."),
		bind("guard", &m.Guard, true, flag(),
			"Remove the model's reasoning and earlier blocks from what the other stages read. What is injected is always cleaned.").withConsentRule(stricter("whether texts are cleaned before they are read", "false", "true")),
		bind("intent", &m.Intent, true, flag(),
			"Read keywords, symbols and failures from the messages. false: search with the text of the last user message."),
		bind("keyword", &m.Keyword, true, flag(), "Search by words."),
		bind("vector", &m.Vector, true, flag(),
			"Search by meaning. Needs an embedding provider; see knowledge.embed_provider.").withConsentRule(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("pinned", &m.Pinned, true, flag(),
			"Include hot facts, approved patterns and active objectives in every turn."),
		bind("sessions", &m.Sessions, true, flag(),
			"Include a short digest of each of the most recent sessions. Without it, relevant episodes are still found by their words."),
		bind("playbooks", &m.Playbooks, true, flag(),
			"Include playbooks whose description of when to use them matches the turn."),
		bind("graph", &m.Graph, true, flag(),
			"Describe the symbols that a turn names, and what depends on them. Knowledge about their surroundings then also counts for the "+
				"turn.").withConsentRule(stricter("whether the code is read", "true", "false")),
		bind("decisions", &m.Decisions, true, flag(), "Include the decisions that govern the symbols and files that a turn names. Needs middleware.graph."),
		bind("objectives", &m.Objectives, true, flag(), "Include the active objectives and their progress in every turn."),
		bind("floor", &m.Floor, true, flag(),
			"Leave out hits with too little evidence that they are relevant to the turn. false: inject the best hits, however weak."),
		bind("inject", &m.Inject, true, flag(),
			"Put the block into the request. false is a dry run: the block is composed and the receipt is written, but the model does not see "+
				"the block."),
		bind("journal", &m.Journal, true, flag(),
			"Keep the messages of sessions until they are harvested. false: keep none, so nothing is learned from them.").withConsentRule(stricter("whether conversations are kept", "true", "false")),
		bind("harvest", &m.Harvest, true, flag(),
			"When a session ends, keep what was learned: a summary, facts, findings, and candidates for patterns.").withConsentRule(stricter("whether Ken learns from conversations", "true", "false")),
		bind("ingest", &m.Ingest, false, flag(),
			"Keep the outputs of tools as findings as well. They have the trust external: anybody may have written what a tool reads.").withConsentRule(stricter("whether what tools return is kept", "true", "false")),
		bind("events", &m.Events, true, flag(), "Write one line per turn to telemetry.events.").withConsentRule(stricter("whether turns are recorded", "true", "false")),
	}
}

// Provider selects what computes embeddings.
type Provider string

// Providers.
const (
	ProviderAuto    Provider = "auto"    // decided by Config.EmbedProvider
	ProviderOpenAI  Provider = "openai"  // the table that comes with Ken
	ProviderBuiltin Provider = "builtin" // the token-embedding table that comes with Ken
	ProviderStatic  Provider = "static"  // a sentence encoder or another table, in EmbedPath
	ProviderNone    Provider = "none"    // only keyword search
)

// EmbedProvider returns the provider to use, never ProviderAuto. It is static when a
// path is set, else openai when a model and an address are set, else builtin. It is
// ProviderNone when embeddings are off.
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

// EmbedBaseURL returns the address of the embeddings API: its own, or else the
// upstream's. It may be empty.
func (c Config) EmbedBaseURL() string {
	if c.Knowledge.EmbedBaseURL != "" {
		return c.Knowledge.EmbedBaseURL
	}
	return c.Upstream.BaseURL
}

// EmbedAPIKey reads the key of the embeddings API from the environment. The upstream's
// key is used only at the upstream's own address; "" sends none.
func (c Config) EmbedAPIKey() string {
	switch {
	case c.Knowledge.EmbedAPIKeyEnv != "":
		return os.Getenv(c.Knowledge.EmbedAPIKeyEnv)
	case c.EmbedBaseURL() == c.Upstream.BaseURL:
		return c.Upstream.APIKey()
	}
	return ""
}

// APIKey reads the upstream's key from the environment; "" sends none.
func (u Upstream) APIKey() string {
	if u.APIKeyEnv == "" {
		return ""
	}
	return os.Getenv(u.APIKeyEnv)
}
