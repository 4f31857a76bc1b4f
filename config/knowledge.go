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
	Nearest   int   // number of claims up to which the block of a conversation's first turn is filled; 0 for none
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
			"The folder of the log and its indexes, relative to the project's root.").withConsentRule(inFolder(".ken")),
		bind("owner", &k.Owner, ken.DefaultOwner, owner(),
			"The owner of this knowledge. Owners share no files, indexes or queries.").withConsentRule(ownerUnlessShared("whose knowledge is seen, in stores that your projects share")),
		bindList("shares", &k.Shares, owner(),
			"Owners whose knowledge the turns and searches of every other owner may read, but not change: repository content, and claims that "+
				"a person wrote, approved or verified. Sessions, findings, hypotheses and disputed claims stay private. A team lists the owner of "+
				"the repository, such as [team]. If knowledge.owner is in the list, other owners' turns also get the project's code and "+
				"decisions.").withConsentRule(ownerUnlessShared("whose knowledge is seen, in stores that your projects share")),
		bind("embeddings", &k.Embeddings, true, flag(),
			"Search by words and by meaning. false: keyword search only.").withConsentRule(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("embed_provider", &k.Provider, ProviderAuto, choice(ProviderAuto, ProviderBuiltin, ProviderOpenAI, ProviderStatic, ProviderNone),
			"What computes embeddings. builtin is the table that comes with Ken, or its adapted copy if ken embed adapt made a better one for "+
				"this repository. openai calls an OpenAI-compatible gateway. static runs the table or the sentence encoder in embed_path. none "+
				"uses only keyword search. auto is static when embed_path is set, openai when embed_model and a base URL are set, and builtin "+
				"otherwise.").withConsentRule(stricter("whether texts are sent to an embeddings service", string(ProviderOpenAI), string(ProviderAuto), string(ProviderStatic), string(ProviderBuiltin), string(ProviderNone))),
		bind("embed_model", &k.EmbedModel, "", optional(),
			"The embedding model. It must be a model that your gateway serves, and it differs from the chat model: text-embedding-3-small at "+
				"OpenAI, nomic-embed-text on many Ollama installations, qwen3-embedding on the protoLabs gateway. GET /v1/models lists what your "+
				"key can use. There is no default, because every call fails with a model that the gateway does not serve.").withConsentRule(needsConsent(reachModel)),
		bind("embed_base_url", &k.EmbedBaseURL, "", address(),
			"The address of the embeddings API, if it differs from upstream.base_url.").withConsentRule(needsConsent(reachAddress)),
		bind("embed_api_key_env", &k.EmbedAPIKeyEnv, "", variable(),
			"The environment variable that holds the key of the embeddings API. Empty: upstream.api_key_env when the address is "+
				"the same, and no key when it is not, so that a key is only sent to the service it belongs to.").withConsentRule(needsConsent(reachKey)),
		bind("embed_dimensions", &k.EmbedDimensions, 0, whole(0, 16384),
			"The number of dimensions to request from the model. 0: the model's default."),
		bind("embed_path", &k.EmbedPath, "", optionalPath(),
			"A model that runs in Ken: the folder of a sentence encoder of the BERT family, such as all-MiniLM-L6-v2, as "+
				"sentence-transformers writes it; the folder of a static table, as model2vec writes it; a file that ken embed train wrote; or the "+
				"name of an encoder that ken embed install put into your data folder. An encoder finds more, and takes milliseconds per text. "+
				"Until a named encoder is installed, the built-in table is used.").withConsentRule(inFolder("")),
		bind("embed_int8", &k.EmbedInt8, false, flag(),
			"Store the weights of a sentence encoder in 8 bits: a quarter of the memory, some three times the speed, slightly worse results. "+
				"Its vectors are not compared with those of the same model in float32. No effect on a static table."),
		bind("embed_timeout", &k.EmbedTimeout, 2*time.Second, span(10*time.Millisecond, time.Minute),
			"The timeout of one embeddings call. A turn waits less: see retrieval.deadline."),
		bind("trust_user", &k.TrustUser, nil, optionalFlag(),
			"Whether a rule about a named thing that the user states in a session applies at once. Set it to true if one person owns the "+
				"store and all its sessions. false: the rule waits for ken memory review. auto: true in ken chat and in a gateway on loopback "+
				"without keys, unless a program started the gateway with --child or --shared. auto is false for an agent's hooks, because a "+
				"program may have written the message. What the process that received a session decided holds whichever process harvests it. "+
				"Only rules of the configured owner apply at once; those of other owners, such as with X-Ken-Owner, wait for review.").withConsentRule(needsConsent("whose words become rules")),
		bind("facts", &k.Facts, true, flag(),
			"Extract facts when a session ends. false: keep only its summary, findings and patterns."),
		bind("top_k", &k.TopK, 12, whole(1, 1000),
			"The maximum number of items in a block. Twelve items usually fill budget.chars."),
		bind("nearest", &k.Nearest, 12, whole(0, 100),
			"If fewer claims than this have enough evidence in the first turn of a conversation, the claims nearest to the question are added, "+
				"as memory: a task rarely names the rule or fact that it needs. A claim without a word of the question, and not like it, "+
				"is not added. 0: none are added."),
		bind("sessions", &k.Sessions, 3, whole(0, 50),
			"The number of recent sessions whose digests a block includes, of some 700 characters each. They share budget.memory_chars with "+
				"the items that are always included, and come after them."),
		bind("playbooks", &k.Playbooks, 2, whole(0, 10),
			"The maximum number of playbooks in a turn, of up to 3,000 characters each. Only playbooks that match the turn are included."),
		bind("decay_days", &k.DecayDays, 90, whole(0, 36500),
			"After this many days without new evidence, a Verified item counts as Inferred. 0: items don't decay. confidence_decay_days in "+
				"lifecycle.yaml takes precedence."),
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
			"The model that extracts facts, writes the summary and files claims; a cheap one is enough. Empty: upstream.model, if it is set "+
				"and the address is the same. off: only rules do it, and the summary says so.").withConsentRule(offOnly(reachModel)),
		bindList("command", &h.Command, name(),
			"A program, with its arguments, that reads a prompt from its standard input and prints an answer. It is used instead of an "+
				"address: [claude, -p], [codex, exec, --skip-git-repo-check, \"-\"], [llm], [ollama, run, llama3.2]. It runs without a shell, in an "+
				"empty folder, for at most harvest.timeout. When it fails, rules extract.").withConsentRule(needsConsent(reachCommand)),
		bind("sampling", &h.Sampling, false, flag(),
			"If neither a model nor a command is configured, extract with the model of an MCP client that offers sampling, while the client "+
				"is connected to ken mcp. Most clients ask their user first. Clients of MCP 2026-07-28 and later don't support it.").withConsentRule(stricter(reachModel, "true", "false")),
		bind("tokens_per_day", &h.Tokens, 1_000_000, whole(0, 1_000_000_000),
			"The maximum number of tokens per day (UTC) for requests about one owner's sessions and claims, as the endpoint reports or as "+
				"estimated. Beyond it, rules do the work until the next day, and the result says so. 0: no model is called.").withConsentRule(atMostUser("what a model costs")),
		bind("base_url", &h.BaseURL, "", address(), "The address of that model, if it differs from upstream.base_url.").withConsentRule(needsConsent(reachAddress)),
		bind("api_key_env", &h.APIKeyEnv, "", variable(),
			"The environment variable that holds the key for it. Empty: upstream.api_key_env when the address is the same, and no key when "+
				"it is not.").withConsentRule(needsConsent(reachKey)),
		bind("timeout", &h.Timeout, 2*time.Minute, span(time.Second, time.Hour),
			"The timeout of one call. Only the background job waits for it."),
		bind("window", &h.Window, 32_000, whole(2000, 2_000_000),
			"The number of tokens that the model reads at once, its answer included. Of a longer session, tool outputs are shortened; then it "+
				"is split between messages and read in parts."),
		bind("max_facts", &h.MaxFacts, 30, whole(0, 1000), "The maximum number of facts that a model may extract from a session."),
		bind("fact_chars", &h.FactChars, 300, whole(40, 4000), "The maximum number of characters of a fact."),
		bind("at_once", &h.AtOnce, true, flag(),
			"Keep a user's statement as soon as the turn is journaled, so that the next conversation has it a second later. false: at the "+
				"session's end."),
		bindList("tools", &h.Tools, name(),
			"Tools of your agent that Ken does not know, as role:name or role:name:argument, such as [\"read:open_doc:doc_path\"]. Roles: read, "+
				"search, list, write, delete, move, run, fetch. -name removes a known tool.").withConsentRule(needsConsent("how far the results of tools are believed")),
		bind("ingest_chars", &h.IngestChars, 4000, whole(100, 100_000),
			"The maximum number of characters of a stored tool output, if middleware.ingest is on.").withConsentRule(atMostUser("how much of what tools return is kept")),
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
			"A session without a message for this long has ended, and is harvested. If it continues later, it is harvested again."),
		bind("message_bytes", &s.MessageBytes, 16<<10, whole(1<<10, 1<<20),
			"The maximum size of a message in the journal, in bytes; of a longer one, the beginning and the end are kept.").withConsentRule(atMostUser("how much of conversations is kept")),
		bind("receipts", &s.Receipts, 2000, whole(0, 100_000),
			"The number of newest turn receipts that are kept for each owner; 0 keeps none. They say what was injected and why, as ids and "+
				"numbers, without the text of claims. No receipt is kept longer than lifecycle.yaml allows for the messages of a session.").withConsentRule(atMostUser("how much of conversations is kept")),
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
			"Find the entities that a turn is about, include their constraints and those of their dependencies, and prefer their attributes. "+
				"false: constraints are found like any other item."),
		bind("focal", &s.Focal, 8, whole(1, 100),
			"The maximum number of a turn's entities whose attributes are searched, the most certain first. Constraints of every entity that "+
				"the turn names are included."),
		bind("aspects", &s.Aspects, 10, whole(1, 100), "The maximum number of aspects of an entity that are searched, the most important first."),
		bind("attributes", &s.Attributes, 20, whole(1, 100), "The maximum number of attributes of an aspect that are searched."),
		bind("dependencies", &s.Dependencies, 30, whole(1, 1000),
			"The maximum number of an entity's dependencies that are followed to attributes, the strongest first, if the weight is high. "+
				"Constraints are found through all dependencies."),
		bind("min_strength", &s.MinStrength, 0.3, fraction(1),
			"The minimum strength of a dependency that is followed. Constraints behind a weaker one are not included. 0: all are followed."),
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
			"What determines in the background what a claim is about, and what depends on what. auto: harvest.model if it is set, and rules. "+
				"model: only the model determines dependencies. rules: no model is called. off: no background filing."),
		bind("classify_facts", &f.ClassifyFacts, 40, whole(1, 100),
			"The maximum number of claims in one request. The facts of a session are sent in one request if there are no more than this. A "+
				"small model may skip some of many claims; those stay as the rules filed them."),
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
			"Whether items are ordered by what earlier answers used. auto: learn and log, swap the two items at the cut in one of twenty "+
				"turns to learn about items that are left out, and change the order once logged turns show that it is better; see ken eval "+
				"scorer. off: none of that. Constraints are not reordered. Needs sessions and session.receipts. At most 20 turns a second are "+
				"evaluated."),
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
			"The target length of a chunk of a file, in characters. A function or a type may be eight times as long."),
		bind("git_commits", &r.GitCommits, 2000, whole(0, 1_000_000),
			"The number of newest commits that are read. 0: no history."),
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
			"Check the types of Go packages in the background, if a go command is installed, to know exactly what refers to what. false: "+
				"match by names.").withConsentRule(stricter("whether the go command is run", "true", "false")),
		bind("generated", &g.Generated, false, flag(), "Include the declarations of generated files. false: only their imports are known."),
		bind("symbols", &g.Symbols, 4, whole(0, 50),
			"The maximum number of symbols that a turn describes, the most certain first: what they are, what depends on them, and which "+
				"decision governs them."),
		bind("watch", &g.Watch, true, flag(),
			"Let long-running processes, ken serve and ken mcp, follow file changes. Without it, only files that a tool call writes are "+
				"noticed at once.").withConsentRule(stricter("whether files are followed", "true", "false")),
	}
}

// Decisions configures the folders of architecture decisions.
type Decisions struct {
	Folders []string // relative to the project's root; empty uses the usual folders
}

func (d *Decisions) keys() []key {
	return []key{
		bindList("folders", &d.Folders, folder(),
			"Folders of the project with one Markdown file per decision. Empty: docs/adr, docs/decisions, doc/adr and other usual folders.").withConsentRule(inFolder("")),
	}
}

// Objectives configures goals that span several sessions.
type Objectives struct {
	Folder string // relative to the project's root
	Chars  int    // maximum length of the text about active objectives in a turn
}

func (o *Objectives) keys() []key {
	return []key{
		bind("folder", &o.Folder, ".ken/knowledge/objectives", folder(), "The folder of the project with one YAML file per objective.").withConsentRule(inFolder("")),
		bind("chars", &o.Chars, 1200, whole(0, 100_000),
			"The maximum length, in characters, of the text about active objectives in a turn. 0: none."),
	}
}
