package config

import "os"

// Provider says who computes embeddings.
type Provider string

// Providers.
const (
	ProviderAuto    Provider = "auto"    // decided by Config.EmbedProvider
	ProviderOpenAI  Provider = "openai"  // an OpenAI-compatible gateway
	ProviderBuiltin Provider = "builtin" // the token-embedding table that comes with Ken
	ProviderStatic  Provider = "static"  // another token-embedding table, in EmbedPath
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
