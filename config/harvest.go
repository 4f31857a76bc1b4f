package config

import (
	"cmp"
	"os"
	"time"
)

// Harvest is what is kept of a session when it is over.
type Harvest struct {
	Model     string        // of the calls that extract; empty means that rules extract alone
	BaseURL   string        // empty means Upstream.BaseURL
	APIKeyEnv string        // empty means Upstream.APIKeyEnv, if the address is the same
	Timeout   time.Duration // of one call
	Window    int           // tokens that the model reads at once

	MaxFacts    int      // from one extraction by a model
	FactChars   int      // of one fact
	AtOnce      bool     // learn what a user states when the turn is journaled
	Tools       []string // role:name[:argument], or -name
	IngestChars int      // of one tool output, with middleware.ingest
}

func (h *Harvest) keys() []key {
	return []key{
		bind("model", &h.Model, "", optional(),
			"A cheap model that your gateway serves, which extracts facts and writes the summary. Empty: rules extract, and the summary "+
				"says so.").judged(asks(reachModel)),
		bind("base_url", &h.BaseURL, "", address(), "Where that model is served, if elsewhere than upstream.base_url.").judged(asks(reachAddress)),
		bind("api_key_env", &h.APIKeyEnv, "", variable(),
			"The environment variable that holds the key for it. Empty: upstream.api_key_env when the address is the same, and no key when "+
				"it is not.").judged(asks(reachKey)),
		bind("timeout", &h.Timeout, 2*time.Minute, span(time.Second, time.Hour),
			"The longest that one call may take. Nobody waits for it but the job."),
		bind("window", &h.Window, 16_000, whole(2000, 2_000_000),
			"Tokens that the model reads at once, its answer included. A longer session is cut between messages and read in parts."),
		bind("max_facts", &h.MaxFacts, 12, whole(0, 1000), "The most facts that a model may extract from a session."),
		bind("fact_chars", &h.FactChars, 300, whole(40, 4000), "The most characters of a fact."),
		bind("at_once", &h.AtOnce, true, flag(),
			"Keep what a user states as soon as the turn is journaled, so that the next conversation knows it a second later. Off: at the session's end."),
		bindList("tools", &h.Tools, name(),
			"Tools of your agent that are not known by default, as role:name or role:name:argument, such as [\"read:open_doc:doc_path\"]. "+
				"Roles: read, search, list, write, delete, move, run, fetch. -name takes one off the list.").judged(asks("how far the results of tools are believed")),
		bind("ingest_chars", &h.IngestChars, 4000, whole(100, 100_000),
			"What is kept of one tool output, in characters, when middleware.ingest is on.").judged(less("how much of what tools return is kept")),
	}
}

// HarvestBaseURL is where the extracting model is served.
func (c Config) HarvestBaseURL() string { return cmp.Or(c.Harvest.BaseURL, c.Upstream.BaseURL) }

// HarvestAPIKey is the key for it, "" for none: a key goes only to the service
// that it belongs to.
func (c Config) HarvestAPIKey() string {
	if v := c.Harvest.APIKeyEnv; v != "" {
		return os.Getenv(v)
	}
	if c.HarvestBaseURL() == c.Upstream.BaseURL {
		return c.Upstream.APIKey()
	}
	return ""
}
