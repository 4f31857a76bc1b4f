package config

import (
	"time"

	"github.com/kenlayer/ken"
)

// Knowledge is the store and the embeddings of what it holds.
type Knowledge struct {
	DBPath string // the state folder; relative to the project's root unless absolute
	Owner  string // the isolation boundary of everything that is written

	// Shares are the owners whose repository content and approved claims every other
	// owner may read as well.
	Shares []string

	// Embeddings switches the vector side on or off. The fields below say where
	// vectors come from; Config.EmbedProvider and its neighbours resolve them.
	Embeddings      bool
	Provider        Provider      // how to embed
	EmbedModel      string        // a model that the gateway serves
	EmbedBaseURL    string        // empty means Upstream.BaseURL
	EmbedAPIKeyEnv  string        // empty means Upstream.APIKeyEnv, if the address is the same
	EmbedDimensions int           // 0 leaves it to the model
	EmbedPath       string        // a model2vec folder or a table file
	EmbedTimeout    time.Duration // of one embeddings call

	Facts     bool // statements are extracted when a session ends
	TopK      int  // most items in a block
	Sessions  int  // most recent sessions in a block; 0 is none
	Playbooks int  // most playbooks in a block; 0 is none
	DecayDays int  // see ken.Support.At; 0 means that nothing decays
}

func (k *Knowledge) keys() []key {
	return []key{
		bind("db_path", &k.DBPath, ".ken/state", path(),
			"The folder of the log and its indexes, relative to the project's root.").judged(inFolder(".ken", reachPath)),
		bind("owner", &k.Owner, ken.DefaultOwner, owner(),
			"Whose knowledge this is. Owners share no file, index or query.").judged(alone("whose knowledge is seen, in stores that your projects share")),
		bindList("shares", &k.Shares, owner(),
			"Owners whose knowledge every other owner's turns and searches may read as well, and not change: the content of the "+
				"repository, and claims that a person wrote, approved or verified. Sessions, findings, hypotheses and what is "+
				"disputed stay private. A team names the owner of the repository, such as [team]. If knowledge.owner is among them, "+
				"other owners' turns have the code and the decisions of the project, too.").judged(alone("whose knowledge is seen, in stores that your projects share")),
		bind("embeddings", &k.Embeddings, true, flag(),
			"Hybrid search by words and by meaning. false is keyword only.").judged(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("embed_provider", &k.Provider, ProviderAuto, choice(ProviderAuto, ProviderBuiltin, ProviderOpenAI, ProviderStatic, ProviderNone),
			"Who computes embeddings. builtin is the table that comes with Ken, or its adapted copy where ken embed adapt made one "+
				"that is better for this repository; openai asks an OpenAI-compatible gateway; static uses the table in embed_path; "+
				"none leaves search to the words. auto is static when embed_path is set, openai when embed_model and a base URL are "+
				"set, and builtin otherwise.").judged(stricter("whether texts are sent to an embeddings service", string(ProviderOpenAI), string(ProviderAuto), string(ProviderStatic), string(ProviderBuiltin), string(ProviderNone))),
		bind("embed_model", &k.EmbedModel, "", optional(),
			"The embedding model. It must be one that your gateway serves, and is not the chat model: text-embedding-3-small "+
				"at OpenAI, nomic-embed-text on many Ollama installations, qwen3-embedding on the protoLabs gateway. GET /v1/models lists "+
				"what your key can use. There is no default, because a name that the gateway does not serve fails on every "+
				"call and leaves keyword search alone.").judged(asks(reachModel)),
		bind("embed_base_url", &k.EmbedBaseURL, "", address(),
			"Where the embeddings API lives, if elsewhere than upstream.base_url.").judged(asks(reachAddress)),
		bind("embed_api_key_env", &k.EmbedAPIKeyEnv, "", variable(),
			"The environment variable that holds the key of the embeddings API. Empty: upstream.api_key_env when the address is "+
				"the same, and no key when it is not, so that a key is only sent to the service it belongs to.").judged(asks(reachKey)),
		bind("embed_dimensions", &k.EmbedDimensions, 0, whole(0, 16384),
			"The length of vectors to ask the model for. 0 leaves it to the model."),
		bind("embed_path", &k.EmbedPath, "", optionalPath(),
			"A static model: a folder as model2vec writes it, with model.safetensors and tokenizer.json, or a file that ken embed "+
				"train wrote.").judged(inFolder("", reachPath)),
		bind("embed_timeout", &k.EmbedTimeout, 2*time.Second, span(10*time.Millisecond, time.Minute),
			"The longest that one embeddings call may take. A turn never waits this long: see retrieval.deadline."),
		bind("facts", &k.Facts, true, flag(),
			"Extract facts when a session ends. false keeps its summary, findings and patterns alone."),
		bind("top_k", &k.TopK, 12, whole(1, 1000),
			"The most items in a block. Twelve usual items of 300 to 600 characters fill the 6,000 of budget.chars; fewer waste "+
				"the budget, and more only queue for it."),
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
