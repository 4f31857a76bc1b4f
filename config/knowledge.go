package config

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken"
)

// Knowledge configures the store and the embeddings of its content.
type Knowledge struct {
	DBPath string // the state folder; relative to the project's root unless absolute
	Owner  string // isolation boundary of all stored data

	// Shares lists the owners whose repository content and approved claims every other owner
	// may read as well.
	Shares []string

	// Embeddings turns vector search on or off. The fields below say where vectors come from;
	// Config.EmbedProvider and related methods resolve them.
	Embeddings      bool
	Provider        Provider      // how texts are embedded
	EmbedModel      string        // a model that the gateway serves
	EmbedBaseURL    string        // empty means Upstream.BaseURL
	EmbedAPIKeyEnv  string        // empty means Upstream.APIKeyEnv, if the address is the same
	EmbedDimensions int           // 0 uses the model's default
	EmbedPath       string        // folder of a sentence encoder or a model2vec table, or a table file
	EmbedInt8       bool          // use 8-bit weights in a sentence encoder
	EmbedTimeout    time.Duration // timeout of one embeddings call

	Facts     bool  // extract facts when a session ends
	TrustUser *bool // whether a user's statement in a session may become a rule; nil: see TrustsUser
	TopK      int   // maximum number of items in a block
	Sessions  int   // maximum number of recent sessions in a block; 0 for none
	Nearest   int   // minimum number of claims in the block of a conversation's first turn, even without evidence; 0 for none
	Playbooks int   // maximum number of playbooks in a block; 0 for none
	DecayDays int   // see ken.Support.At; 0 disables decay
}

// TrustsUser reports whether a user's statement in a session may become a rule.
func (k *Knowledge) TrustsUser() bool { return k.TrustUser != nil && *k.TrustUser }

// trustedUnlessSet is the value that TrustUserUnlessSet sets. The address of this variable
// distinguishes it from a configured value.
var trustedUnlessSet = true

// TrustUserUnlessSet trusts the user of sessions, unless the configuration sets TrustUser.
func (k *Knowledge) TrustUserUnlessSet() {
	if k.TrustUser == nil {
		k.TrustUser = &trustedUnlessSet
	}
}

// TrustsAnyTurn reports whether the configuration itself trusts the user, so that
// ken.Turn.DistrustUser has no effect.
func (k *Knowledge) TrustsAnyTurn() bool { return k.TrustsUser() && k.TrustUser != &trustedUnlessSet }

func (k *Knowledge) keys() []key {
	return []key{
		bind("db_path", &k.DBPath, ".ken/state", path(),
			"The folder of the log and its indexes, relative to the project's root.").withConsentRule(inFolder(".ken", reachPath)),
		bind("owner", &k.Owner, ken.DefaultOwner, owner(),
			"Whose knowledge this is. Owners share no file, index or query.").withConsentRule(alone("whose knowledge is seen, in stores that your projects share")),
		bindList("shares", &k.Shares, owner(),
			"Owners whose knowledge every other owner's turns and searches may read as well, and not change: the content of the "+
				"repository, and claims that a person wrote, approved or verified. Sessions, findings, hypotheses and what is "+
				"disputed stay private. A team names the owner of the repository, such as [team]. If knowledge.owner is among them, "+
				"other owners' turns have the code and the decisions of the project, too.").withConsentRule(alone("whose knowledge is seen, in stores that your projects share")),
		bind("embeddings", &k.Embeddings, true, flag(),
			"Hybrid search by words and by meaning. false is keyword only.").withConsentRule(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("embed_provider", &k.Provider, ProviderAuto, choice(ProviderAuto, ProviderBuiltin, ProviderOpenAI, ProviderStatic, ProviderNone),
			"Who computes embeddings. builtin is the table that comes with Ken, or its adapted copy where ken embed adapt made one "+
				"that is better for this repository; openai asks an OpenAI-compatible gateway; static runs the table or the sentence encoder in embed_path; "+
				"none leaves search to the words. auto is static when embed_path is set, openai when embed_model and a base URL are "+
				"set, and builtin otherwise.").withConsentRule(stricter("whether texts are sent to an embeddings service", string(ProviderOpenAI), string(ProviderAuto), string(ProviderStatic), string(ProviderBuiltin), string(ProviderNone))),
		bind("embed_model", &k.EmbedModel, "", optional(),
			"The embedding model. It must be one that your gateway serves, and is not the chat model: text-embedding-3-small "+
				"at OpenAI, nomic-embed-text on many Ollama installations, qwen3-embedding on the protoLabs gateway. GET /v1/models lists "+
				"what your key can use. There is no default, because a name that the gateway does not serve fails on every "+
				"call and leaves keyword search alone.").withConsentRule(needsConsent(reachModel)),
		bind("embed_base_url", &k.EmbedBaseURL, "", address(),
			"Where the embeddings API lives, if elsewhere than upstream.base_url.").withConsentRule(needsConsent(reachAddress)),
		bind("embed_api_key_env", &k.EmbedAPIKeyEnv, "", variable(),
			"The environment variable that holds the key of the embeddings API. Empty: upstream.api_key_env when the address is "+
				"the same, and no key when it is not, so that a key is only sent to the service it belongs to.").withConsentRule(needsConsent(reachKey)),
		bind("embed_dimensions", &k.EmbedDimensions, 0, whole(0, 16384),
			"The length of vectors to ask the model for. 0 leaves it to the model."),
		bind("embed_path", &k.EmbedPath, "", optionalPath(),
			"A model that runs in Ken: the folder of a sentence encoder of the BERT family, such as all-MiniLM-L6-v2, as "+
				"sentence-transformers writes it; the folder of a static table, as model2vec writes it; or a file that ken embed train "+
				"wrote. An encoder finds more, and takes milliseconds a text. Or the name of an encoder that ken embed install has put into your "+
				"data folder; while it is not there, the built-in table is used.").withConsentRule(inFolder("", reachPath)),
		bind("embed_int8", &k.EmbedInt8, false, flag(),
			"Keep a sentence encoder's weights in 8 bits: a quarter of the memory, some three times the speed, slightly less found. "+
				"Its vectors are not compared with those of the same model in float32. A static table is not changed."),
		bind("embed_timeout", &k.EmbedTimeout, 2*time.Second, span(10*time.Millisecond, time.Minute),
			"The longest that one embeddings call may take. A turn never waits this long: see retrieval.deadline."),
		bind("trust_user", &k.TrustUser, nil, optionalFlag(),
			"Whether a rule about a named thing that the user says in a session is one at once. Set it where one person owns the "+
				"store and all its sessions. false leaves it to ken memory review. With auto, ken chat and a gateway on loopback without "+
				"keys trust their user, unless a program started the gateway with --child or --shared. Nothing else does: not an agent's hooks, "+
				"because a program may have written the message.").withConsentRule(needsConsent("whose words become rules")),
		bind("facts", &k.Facts, true, flag(),
			"Extract facts when a session ends. false keeps its summary, findings and patterns alone."),
		bind("top_k", &k.TopK, 12, whole(1, 1000),
			"The most items in a block. Twelve items usually fill budget.chars."),
		bind("nearest", &k.Nearest, 12, whole(0, 100),
			"With less evidence than so many claims, the first turn of a conversation also gets the claims nearest to its question, as memory: "+
				"a task rarely names the rule or the fact that bears on it. 0: none."),
		bind("sessions", &k.Sessions, 3, whole(0, 50),
			"The most recent sessions whose digests a block has, of some 700 characters each. They share budget.memory_chars with "+
				"what always surfaces, and come last in it."),
		bind("playbooks", &k.Playbooks, 2, whole(0, 10),
			"The most playbooks that a turn is given, of up to 3,000 characters each. A turn that none is for gets none."),
		bind("decay_days", &k.DecayDays, 90, whole(0, 36500),
			"After this many days without new evidence, a Verified item counts as Inferred. 0: nothing decays. confidence_decay_days in "+
				"lifecycle.yaml has precedence where it is set."),
	}
}

// Harvest configures what is kept of a session when it ends.
type Harvest struct {
	Model     string        // for the calls that extract; empty means Upstream.Model, HarvestOff none
	Command   []string      // program with arguments that is run instead of calling an API
	Sampling  bool          // use the model of a connected MCP client if no other is configured
	Tokens    int           // limit for an owner's requests per day
	BaseURL   string        // empty means Upstream.BaseURL
	APIKeyEnv string        // empty means Upstream.APIKeyEnv, if the address is the same
	Timeout   time.Duration // timeout of one call
	Window    int           // number of tokens that the model reads at once

	MaxFacts    int      // maximum from one extraction by a model
	FactChars   int      // maximum length of a fact
	AtOnce      bool     // extract a user's statements as soon as the turn is journaled
	Tools       []string // role:name[:argument] to add a tool, or -name to remove it
	IngestChars int      // maximum length of a stored tool output, with middleware.ingest
}

func (h *Harvest) keys() []key {
	return []key{
		bind("model", &h.Model, "", optional(),
			"The model that extracts facts, writes the summary and files claims; a cheap one is enough. Empty: upstream.model, where it is set and the "+
				"address is the same. off: rules do it alone, and the summary says so.").withConsentRule(offOnly(reachModel)),
		bindList("command", &h.Command, name(),
			"A program that reads a prompt from its standard input and prints an answer, with its arguments, in place of an address: "+
				"[claude, -p], [codex, exec, --skip-git-repo-check, \"-\"], [llm], [ollama, run, llama3.2]. It runs without a shell, in an empty folder, for "+
				"at most harvest.timeout. When it fails, rules extract.").withConsentRule(needsConsent(reachCommand)),
		bind("sampling", &h.Sampling, false, flag(),
			"Where neither a model nor a command is configured, have the model of an MCP client that offers sampling extract, while the client is "+
				"connected to ken mcp. Most clients ask their user first. Clients of MCP 2026-07-28 and later can't be asked.").withConsentRule(stricter(reachModel, "true", "false")),
		bind("tokens_per_day", &h.Tokens, 1_000_000, whole(0, 1_000_000_000),
			"The most tokens that requests about one owner's sessions and claims may take in a day (UTC), by what the endpoint reports or an "+
				"estimate. Beyond it rules do the work until the next day, and the outcome says so. 0: no model is asked.").withConsentRule(less("what a model costs")),
		bind("base_url", &h.BaseURL, "", address(), "Where that model is served, if elsewhere than upstream.base_url.").withConsentRule(needsConsent(reachAddress)),
		bind("api_key_env", &h.APIKeyEnv, "", variable(),
			"The environment variable that holds the key for it. Empty: upstream.api_key_env when the address is the same, and no key when "+
				"it is not.").withConsentRule(needsConsent(reachKey)),
		bind("timeout", &h.Timeout, 2*time.Minute, span(time.Second, time.Hour),
			"The longest that one call may take. Nobody waits for it but the job."),
		bind("window", &h.Window, 32_000, whole(2000, 2_000_000),
			"Tokens that the model reads at once, its answer included. A longer session is cut between messages and read in parts, after what tools printed was shortened."),
		bind("max_facts", &h.MaxFacts, 30, whole(0, 1000), "The most facts that a model may extract from a session."),
		bind("fact_chars", &h.FactChars, 300, whole(40, 4000), "The most characters of a fact."),
		bind("at_once", &h.AtOnce, true, flag(),
			"Keep what a user states as soon as the turn is journaled, so that the next conversation knows it a second later. Off: at the session's end."),
		bindList("tools", &h.Tools, name(),
			"Tools of your agent that are not known by default, as role:name or role:name:argument, such as [\"read:open_doc:doc_path\"]. "+
				"Roles: read, search, list, write, delete, move, run, fetch. -name takes one off the list.").withConsentRule(needsConsent("how far the results of tools are believed")),
		bind("ingest_chars", &h.IngestChars, 4000, whole(100, 100_000),
			"What is kept of one tool output, in characters, when middleware.ingest is on.").withConsentRule(less("how much of what tools return is kept")),
	}
}

// HarvestOff is the value of harvest.model that turns off all models for the harvest,
// whatever else is configured.
const HarvestOff = "off"

// HarvestModel returns the model that harvests and files claims through an API; empty if
// there is none.
func (c Config) HarvestModel() string {
	switch {
	case c.Harvest.Model == HarvestOff, len(c.Harvest.Command) > 0:
		return ""
	case c.Harvest.Model == "" && c.Upstream.BaseURL != "" && c.HarvestBaseURL() == c.Upstream.BaseURL:
		return c.Upstream.Model
	}
	return c.Harvest.Model
}

// HarvestCommand returns the program that is run instead of calling an API; nil for none.
func (c Config) HarvestCommand() []string {
	if c.Harvest.Model == HarvestOff {
		return nil
	}
	return c.Harvest.Command
}

// HarvestSampling reports whether the model of an MCP client is used.
func (c Config) HarvestSampling() bool {
	return c.Harvest.Sampling && c.Harvest.Model != HarvestOff && c.HarvestModel() == "" && len(c.Harvest.Command) == 0
}

// HarvestBaseURL returns the base URL of the model that extracts claims.
func (c Config) HarvestBaseURL() string { return cmp.Or(c.Harvest.BaseURL, c.Upstream.BaseURL) }

// HarvestAPIKey returns the key for HarvestBaseURL, "" for none. The upstream's key is only
// used at the upstream's address.
func (c Config) HarvestAPIKey() string {
	if v := c.Harvest.APIKeyEnv; v != "" {
		return os.Getenv(v)
	}
	if c.HarvestBaseURL() == c.Upstream.BaseURL {
		return c.Upstream.APIKey()
	}
	return ""
}

// Session configures when a conversation ends, and what is kept of it.
type Session struct {
	Idle         time.Duration // time without a message after which it ends
	MessageBytes int           // maximum size of a journaled message
	Receipts     int           // maximum number of turn receipts that are kept
}

func (s *Session) keys() []key {
	return []key{
		bind("idle", &s.Idle, 30*time.Minute, span(time.Minute, 30*24*time.Hour),
			"A session without a message for this long is over, and is harvested. One that goes on later is harvested again."),
		bind("message_bytes", &s.MessageBytes, 16<<10, whole(1<<10, 1<<20),
			"What the journal keeps of one message, in bytes; of a longer one, its beginning and end.").withConsentRule(less("how much of conversations is kept")),
		bind("receipts", &s.Receipts, 2000, whole(0, 100_000),
			"How many receipts of turns are kept for each owner, the newest; 0 keeps none. They say what was injected and why, in ids "+
				"and figures, without the words of claims. None is kept longer than lifecycle.yaml has the messages of a session kept.").withConsentRule(less("how much of conversations is kept")),
	}
}

// InProject returns path, or if it is relative, the path below the project's root.
func InProject(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// State returns the folder that holds the stores of the project in root, one for each owner.
func (c Config) State(root string) string { return InProject(root, c.Knowledge.DBPath) }

// Structure configures how a turn uses the names that claims are about. The defaults are
// those of package structure.
type Structure struct {
	Enabled      bool    // include constraints of the turn's entities, and search their attributes
	Focal        int     // maximum number of entities whose attributes are searched
	Aspects      int     // maximum number per entity
	Attributes   int     // maximum number per aspect
	Dependencies int     // maximum number per entity
	MinStrength  float64 // minimum strength of a dependency

	Filing   // how claims are assigned to entities
	Learning // reranking by earlier use
}

func (s *Structure) keys() []key {
	return append([]key{
		bind("enabled", &s.Enabled, true, flag(),
			"Find the entities that a turn is about, surface their constraints and those of what they depend on, and look among their "+
				"attributes first. false leaves a constraint to be found like any other item."),
		bind("focal", &s.Focal, 8, whole(1, 100),
			"Entities of a turn whose attributes are looked at, the surest first. Constraints are those of every entity that the turn names."),
		bind("aspects", &s.Aspects, 10, whole(1, 100), "Aspects of an entity that are looked at, the weightiest first."),
		bind("attributes", &s.Attributes, 20, whole(1, 100), "Attributes of an aspect that are looked at."),
		bind("dependencies", &s.Dependencies, 30, whole(1, 1000),
			"Dependencies of an entity that are followed to attributes, the strongest first, where the weight is high. Constraints are followed over all."),
		bind("min_strength", &s.MinStrength, 0.3, fraction(1),
			"The least strength of a dependency that is followed. Constraints of what is behind a weaker one don't surface; 0 follows all."),
	}, append(s.Filing.keys(), s.Learning.keys()...)...)
}

// ClassifyBy selects what assigns claims to entities in the background, after rules did so
// when the claims were written.
type ClassifyBy string

// Values of ClassifyBy.
const (
	ClassifyAuto  ClassifyBy = "auto"  // the model of harvest.model and the rules; without a model, only the rules
	ClassifyModel ClassifyBy = "model" // the model; only the model assigns dependencies
	ClassifyRules ClassifyBy = "rules" // only the rules
	ClassifyOff   ClassifyBy = "off"   // nothing in the background
)

// Filing configures how claims are assigned to entities in the background.
type Filing struct {
	Classify      ClassifyBy
	ClassifyFacts int // maximum number of claims in one request
}

func (f *Filing) keys() []key {
	return []key{
		bind("classify", &f.Classify, ClassifyAuto, choice(ClassifyAuto, ClassifyModel, ClassifyRules, ClassifyOff),
			"Who finds out in the background what a claim is about and what depends on what. auto: harvest.model where one is set, and rules. "+
				"model: the model alone finds dependencies. rules: no model is asked. off: no background filing."),
		bind("classify_facts", &f.ClassifyFacts, 40, whole(1, 100),
			"Claims in one request. The facts of one session are one request, if they are no more than this. What a small model drops of many is left as the rules filed it."),
	}
}

// ClassifyModel reports whether a model assigns claims to entities.
func (c Config) ClassifyModel() bool {
	return (c.HarvestModel() != "" || len(c.HarvestCommand()) > 0) && (c.Structure.Classify == ClassifyAuto || c.Structure.Classify == ClassifyModel)
}

// ScorerMode selects when the order learned from earlier use applies.
type ScorerMode string

// Values of ScorerMode.
const (
	ScorerAuto ScorerMode = "auto" // once it has proved better than the default order
	ScorerOff  ScorerMode = "off"  // never; nothing is explored either
	ScorerOn   ScorerMode = "on"   // from the first turn with feedback
)

// Learning configures what is learned from which items answers used.
type Learning struct {
	Scorer ScorerMode
}

func (l *Learning) keys() []key {
	return []key{
		bind("scorer", &l.Scorer, ScorerAuto, choice(ScorerAuto, ScorerOff, ScorerOn),
			"Whether items are ordered by what answers used before. auto learns and logs, swaps the two items at the cut in one turn of twenty to "+
				"see what is left out, and changes the order once that has proved to be better on logged turns; see ken eval scorer. off does "+
				"none of it. Constraints are not reordered. Needs sessions and session.receipts. At most 20 turns a second are judged."),
	}
}

// Repository configures which of the project's files and history are indexed.
type Repository struct {
	Index        bool     // make files searchable
	MaxFileBytes int      // larger files are skipped
	ChunkChars   int      // target length of a chunk of a file
	GitCommits   int      // number of newest commits to read; 0 reads no history
	Exclude      []string // patterns in the syntax of .gitignore
}

func (r *Repository) keys() []key {
	return []key{
		bind("index", &r.Index, true, flag(), "Make the repository's files searchable.").withConsentRule(stricter("whether files are read", "true", "false")),
		bind("max_file_bytes", &r.MaxFileBytes, 1<<20, whole(1<<10, 1<<30), "Larger files are skipped: 1048576 is 1 MiB."),
		bind("chunk_chars", &r.ChunkChars, 1200, whole(200, 100_000),
			"The length that pieces of a file aim at, in characters. A function or a type may have eight times as many."),
		bind("git_commits", &r.GitCommits, 2000, whole(0, 1_000_000),
			"How many of the newest commits are read. 0: no history."),
		bindList("exclude", &r.Exclude, name(),
			"Files to leave out besides those that git ignores, in the syntax of .gitignore, such as [testdata/, \"*.min.js\"].").withConsentRule(unlessSet("which files are not read")),
	}
}

// Graph configures the graph of the repository's code.
type Graph struct {
	Types     bool // use Go's type checker
	Generated bool // include the declarations of generated files
	Symbols   int  // maximum number of symbols in a turn
	Watch     bool // long-running processes follow file changes
}

func (g *Graph) keys() []key {
	return []key{
		bind("types", &g.Types, true, flag(),
			"Check the types of Go packages in the background, where a go command is, so that who refers to what is known exactly. false goes by names.").withConsentRule(stricter("whether the go command is run", "true", "false")),
		bind("generated", &g.Generated, false, flag(), "Know what generated files declare as well, and not what they import alone."),
		bind("symbols", &g.Symbols, 4, whole(0, 50),
			"The most symbols that a turn is told about, the surest first, with what they are, who depends on them and which decision governs them."),
		bind("watch", &g.Watch, true, flag(), "Let processes that stay, ken serve and ken mcp, follow files as they change. Without, what a tool call writes is noticed all the same.").withConsentRule(stricter("whether files are followed", "true", "false")),
	}
}

// Decisions configures the folders of architecture decisions.
type Decisions struct {
	Folders []string // relative to the project's root; empty uses the usual folders
}

func (d *Decisions) keys() []key {
	return []key{
		bindList("folders", &d.Folders, folder(),
			"Folders of the project with a Markdown file for each decision. Empty: docs/adr, docs/decisions, doc/adr and others that teams use.").withConsentRule(inFolder("", reachPath)),
	}
}

// Objectives configures goals that span several sessions.
type Objectives struct {
	Folder string // relative to the project's root
	Chars  int    // maximum length of the text about active objectives in a turn
}

func (o *Objectives) keys() []key {
	return []key{
		bind("folder", &o.Folder, ".ken/knowledge/objectives", folder(), "The folder of the project with a YAML file for each objective.").withConsentRule(inFolder("", reachPath)),
		bind("chars", &o.Chars, 1200, whole(0, 100_000),
			"What a turn is told about the objectives that are active, in characters. 0 tells nothing."),
	}
}
