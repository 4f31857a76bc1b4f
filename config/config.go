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
		{"upstream", "The model that Ken passes requests to: any OpenAI-compatible endpoint.", c.Upstream.keys()},
		{"knowledge", "What is stored, and how texts are embedded.", c.Knowledge.keys()},
		{"store", "Where knowledge is stored: in a folder, or in an engine that several machines share.", c.Store.keys()},
		{"middleware", "Switches: every part of a turn can be turned off.", c.Middleware.keys()},
		{"retrieval", "How a turn finds knowledge.", c.Retrieval.keys()},
		{"retrieval.signals", "The weight of each signal, compared with the words, which count 1 for the turn's best hit. 0 turns a signal off. They apply if retrieval.rank is evidence.", c.Retrieval.Signals.keys()},
		{"retrieval.legs", "How many hits each search leg contributes before fusion. To turn a leg off, use its switch under middleware.", c.Retrieval.Legs.keys()},
		{"structure", "What a turn includes about its entities: people, projects, systems. Constraints are included whatever the ranking says.", c.Structure.keys()},
		{"budget", "How much of the prompt the block may use. Characters are Unicode code points, so that a budget means the same in every script.", c.Budget.keys()},
		{"injection", "How the block is put into the request.", c.Injection.keys()},
		{"rerank", "A service that reorders what a turn found: a cross-encoder reads the question together with each record. Off until base_url is set.", c.Rerank.keys()},
		{"breaker", "When to stop calling an embedding service or a reranker that fails, and when to try again. Meanwhile turns use only keyword search, or Ken's own order.", c.Breaker.keys()},
		{"repository", "What is indexed of the repository that the agent works in.", c.Repository.keys()},
		{"graph", "The code graph: what files declare, and what refers to what.", c.Graph.keys()},
		{"decisions", "Where architecture decisions are stored.", c.Decisions.keys()},
		{"objectives", "Goals that span several sessions.", c.Objectives.keys()},
		{"agents", "The agents of a plan, and what each one waits for: ken plan shows the plan, ken plan run runs it. Empty: there is no plan.", agentKeys(&c.Agents)},
		{"session", "When a session ends, and what is kept of it.", c.Session.keys()},
		{"harvest", "What is kept of a session when it ends, and which model extracts it. Without a model, rules extract what they can.", c.Harvest.keys()},
		{"tools", "The tools that ken mcp, ken serve at /mcp, and ken chat list to an agent.", c.Tools.keys()},
		{"telemetry", "What is recorded about turns.", c.Telemetry.keys()},
		{"policy", "Which model calls through ken serve get knowledge, and from which Ken learns. Both apply to calls that no rule matches, except agents' side calls, such as titles.", policyKeys(&c.Gateway.Policy)},
		{"gateway", "Settings of ken serve: a proxy in front of the model. Clients use its address as their base URL.", c.Gateway.keys()},
	}
	for _, s := range all {
		for i := range s.keys {
			s.keys[i].path = strings.TrimSuffix(s.name+"."+s.keys[i].path, ".")
		}
	}
	return all
}

// isList reports whether the section is a list instead of a mapping.
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

// Validate returns an error for the first setting that is not allowed: an ErrInvalid with
// its dotted key. For agents that contradict each other, it returns all errors, joined. Load
// and Parse call it already; call it on a Config that a program filled or changed.
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
