package config

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/code/plan"
)

// Config holds all settings. It is plain data: a copy shares only the backing arrays of its lists, which this package
// never modifies.
type Config struct {
	Upstream   Upstream
	Knowledge  Knowledge
	Store      Store
	Middleware Middleware
	Retrieval  Retrieval
	Structure  Structure
	Budget     Budget
	Injection  Injection
	Breaker    Breaker
	Rerank     Rerank
	Repository Repository
	Graph      Graph
	Decisions  Decisions
	Objectives Objectives
	Agents     []plan.Agent
	Session    Session
	Harvest    Harvest
	Tools      Tools
	Telemetry  Telemetry
	Gateway    Gateway
}

// section is a mapping of the file: its dotted name, its description, and the keys directly in it. A section that is
// a list has a single key, with the section's own name.
type section struct {
	name string
	doc  string
	keys []key
}

// sections binds every key to its field of c, in the order of the file.
func (c *Config) sections() []section {
	all := []section{
		{"upstream", "The model behind the layer: any OpenAI-compatible endpoint.", c.Upstream.keys()},
		{"knowledge", "What is kept, and how text becomes vectors.", c.Knowledge.keys()},
		{"store", "Where it is kept: in a folder, or by an engine that several machines share.", c.Store.keys()},
		{"middleware", "The switches: every part of a turn can be left out.", c.Middleware.keys()},
		{"retrieval", "How a turn finds knowledge.", c.Retrieval.keys()},
		{"retrieval.signals", "How much each signal counts beside a hit's words, which are worth 1 for the turn's best hit; 0 switches one off. They apply while retrieval.rank is evidence.", c.Retrieval.Signals.keys()},
		{"retrieval.legs", "How many hits each leg contributes before fusion. To drop a leg, use its switch under middleware.", c.Retrieval.Legs.keys()},
		{"structure", "What a turn gets of what is known about its entities: people, projects, systems. Constraints come whatever the ranking says.", c.Structure.keys()},
		{"budget", "How much of the prompt the block may take. Characters are Unicode code points, so that a budget means the same in every script.", c.Budget.keys()},
		{"injection", "How the block reaches the model.", c.Injection.keys()},
		{"rerank", "A service that orders what a turn found: a cross-encoder reads the question beside each record. Off until base_url is set.", c.Rerank.keys()},
		{"breaker", "When to stop asking an embedding service or a reranker that fails, and when to try it again. Turns use the keyword leg alone, or Ken's own order, meanwhile.", c.Breaker.keys()},
		{"repository", "What is read from the repository that the agent works in.", c.Repository.keys()},
		{"graph", "What is known of the code: what files declare, and how it hangs together.", c.Graph.keys()},
		{"decisions", "Where architecture decisions are kept.", c.Decisions.keys()},
		{"objectives", "Goals that outlast a session.", c.Objectives.keys()},
		{"agents", "Who takes part in the work, and who waits for whom: ken plan shows it, ken plan run does it. None: there is no plan.", agentKeys(&c.Agents)},
		{"session", "When a conversation is over.", c.Session.keys()},
		{"harvest", "What is kept of a session when it is over, and which model extracts it. Without a model, rules extract what they can.", c.Harvest.keys()},
		{"tools", "The tools that an agent is given: by ken mcp, by ken serve at /mcp, and by ken chat.", c.Tools.keys()},
		{"telemetry", "What is recorded about turns.", c.Telemetry.keys()},
		{"policy", "Which model calls that go through ken serve get knowledge, and which are learned from. Calls that no rule is about get it and are learned from, but for agents' side calls, such as titles.", policyKeys(&c.Gateway.Policy)},
		{"gateway", "What ken serve does: a proxy in front of the model that any client points its base URL at.", c.Gateway.keys()},
	}
	for _, s := range all {
		for i := range s.keys {
			s.keys[i].path = strings.TrimSuffix(s.name+"."+s.keys[i].path, ".")
		}
	}
	return all
}

// isList reports whether a list stands where others have keys.
func (s *section) isList() bool { return len(s.keys) == 1 && s.keys[0].path == s.name }

// keys lists every key bound to its field of c, in the order of the file.
func (c *Config) keys() []key {
	var all []key
	for _, s := range c.sections() {
		all = append(all, s.keys...)
	}
	return all
}

// Default returns the configuration of an empty file.
func Default() Config {
	var c Config
	for _, k := range c.keys() {
		k.reset()
	}
	return c
}

// Validate reports the first setting that is not allowed, as an ErrInvalid with
// its dotted key; of agents that don't fit together, all faults, joined. Load and Parse have done that already; call it on a Config
// that a program filled or changed.
func (c Config) Validate() error {
	for _, k := range c.keys() { // of this copy
		if err := k.check(); err != nil {
			return err
		}
	}
	if err := c.Gateway.check(); err != nil {
		return err
	}
	if err := plan.Check(c.Agents); err != nil {
		return err
	}
	k := &c.Knowledge
	switch {
	case k.TopK > c.Retrieval.Pool:
		return wrong("knowledge.top_k", strconv.Itoa(k.TopK)+" is more than retrieval.pool, "+strconv.Itoa(c.Retrieval.Pool),
			"Lower knowledge.top_k or raise retrieval.pool.")
	case c.Harvest.Model != "" && c.Harvest.Model != HarvestOff && len(c.Harvest.Command) > 0:
		return wrong("harvest.command", "harvest.model is set as well", "Keep one of the two: a program chooses its model by its arguments.")
	case c.HarvestModel() != "" && c.HarvestBaseURL() == "":
		return wrong("harvest.model", "there is no address to ask it at", "Set upstream.base_url or harvest.base_url, or leave harvest.model out.")
	case !k.Embeddings:
		return nil
	case k.Provider == ProviderStatic && k.EmbedPath == "":
		return wrong("knowledge.embed_provider", "static needs knowledge.embed_path",
			"Name the folder of a model2vec model in knowledge.embed_path.")
	case k.Provider == ProviderOpenAI && c.EmbedBaseURL() == "":
		return wrong("knowledge.embed_provider", "openai needs an address", "Set upstream.base_url or knowledge.embed_base_url.")
	case k.Provider == ProviderOpenAI && k.EmbedModel == "":
		return wrong("knowledge.embed_provider", "openai needs knowledge.embed_model",
			"Name a model that your gateway serves; GET /v1/models lists them.")
	}
	return nil
}
