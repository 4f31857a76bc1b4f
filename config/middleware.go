package config

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
			"Take the model's reasoning and earlier blocks out of what the other stages read. What is injected is always cleaned.").judged(stricter("whether texts are cleaned before they are read", "false", "true")),
		bind("intent", &m.Intent, true, flag(),
			"Read keywords, symbols and failures from the messages. false searches with the last user message as it stands."),
		bind("keyword", &m.Keyword, true, flag(), "The leg that matches words."),
		bind("vector", &m.Vector, true, flag(),
			"The leg that matches meaning. Needs an embedding provider; see knowledge.embed_provider.").judged(stricter("whether texts are sent to an embeddings service", "true", "false")),
		bind("pinned", &m.Pinned, true, flag(),
			"The leg of what always surfaces: hot facts, approved patterns, active objectives."),
		bind("sessions", &m.Sessions, true, flag(),
			"The leg of recent sessions: a short digest of each of the newest. Episodes that bear on a turn are found by its words without it."),
		bind("playbooks", &m.Playbooks, true, flag(),
			"The leg of playbooks: those that fit the turn, by what they say of when to use them."),
		bind("graph", &m.Graph, true, flag(),
			"Say what the symbols are that a turn names, and who depends on them; what is known about their surroundings counts for the turn, too.").judged(stricter("whether the code is read", "true", "false")),
		bind("decisions", &m.Decisions, true, flag(), "Say which decisions govern the symbols and files that a turn names. Needs middleware.graph."),
		bind("objectives", &m.Objectives, true, flag(), "Say in every turn which objectives are active, and how far they have come."),
		bind("floor", &m.Floor, true, flag(),
			"Leave out hits with too little evidence that they bear on the turn. false injects the best hits, however poor."),
		bind("inject", &m.Inject, true, flag(),
			"Put the block into the request. false composes it and writes the receipt, and the model never sees it: a dry run."),
		bind("journal", &m.Journal, true, flag(),
			"Keep the messages of sessions until they were harvested. false keeps none, so that nothing is learned from them.").judged(stricter("whether conversations are kept", "true", "false")),
		bind("harvest", &m.Harvest, true, flag(),
			"When a session ends, keep what it taught: a summary, facts, findings, and candidates for patterns.").judged(stricter("whether Ken learns from conversations", "true", "false")),
		bind("ingest", &m.Ingest, false, flag(),
			"Keep the outputs of tools as findings as well. They are external: anybody may have written what a tool reads.").judged(stricter("whether what tools return is kept", "true", "false")),
		bind("events", &m.Events, true, flag(), "Write one line per turn to telemetry.events.").judged(stricter("whether turns are recorded", "true", "false")),
	}
}
