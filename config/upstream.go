package config

import "time"

// Upstream is the model that answers.
type Upstream struct {
	BaseURL   string        // of the API, version included; empty means there is none
	Model     string        // the chat model, for requests that Ken makes itself
	APIKeyEnv string        // the environment variable that holds the key; empty sends none
	Timeout   time.Duration // of a whole model call, streaming included
}

func (u *Upstream) keys() []key {
	return []key{
		bind("base_url", &u.BaseURL, "", address(),
			"Where the chat and embeddings API lives, version included, such as https://api.openai.com/v1 or "+
				"http://localhost:11434/v1. Empty: no model is called, and ken ask prints the block alone.").judged(asks(reachAddress)),
		bind("model", &u.Model, "gpt-4o-mini", name(),
			"The chat model for calls that Ken makes itself. Programs that call through Ken name their own.").judged(asks(reachModel)),
		bind("api_key_env", &u.APIKeyEnv, "OPENAI_API_KEY", variable(),
			"The environment variable that holds the API key, never the key itself. Empty: no key is sent.").judged(asks(reachKey)),
		bind("timeout", &u.Timeout, 2*time.Minute, span(time.Second, time.Hour),
			"The longest that one model call may take, streaming included."),
	}
}
