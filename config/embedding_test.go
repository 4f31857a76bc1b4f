package config_test

import (
	"testing"

	"github.com/kenlayer/ken/config"
)

func TestEmbedProvider(t *testing.T) {
	const url = "base_url: http://h/v1"
	for _, tt := range []struct {
		in   string
		want config.Provider
	}{
		{"", config.ProviderBuiltin},
		{"upstream: {" + url + "}", config.ProviderBuiltin}, // no model is guessed
		{"knowledge: {embed_model: m}", config.ProviderBuiltin},
		{"upstream: {" + url + "}\nknowledge: {embed_model: m}", config.ProviderOpenAI},
		{"knowledge: {embed_model: m, embed_" + url + "}", config.ProviderOpenAI},
		{"knowledge: {embed_model: m, embed_" + url + ", embed_path: d}", config.ProviderStatic},
		{"knowledge: {embed_provider: none, embed_path: d}", config.ProviderNone},
		{"knowledge: {embeddings: false, embed_path: d}", config.ProviderNone},
		{"knowledge: {embeddings: false, embed_provider: static}", config.ProviderNone},
	} {
		c, err := config.Parse([]byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.EmbedProvider(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
}

// A key must not be sent to a service that it was not made for.
func TestEmbedAPIKeyStaysWithItsService(t *testing.T) {
	t.Setenv("CHAT_KEY", "chat")
	t.Setenv("EMBED_KEY", "embed")
	for in, want := range map[string]string{
		"": "chat",
		"knowledge: {embed_base_url: http://chat/v1}":                                  "chat",
		"knowledge: {embed_base_url: http://other/v1}":                                 "",
		"knowledge: {embed_base_url: http://other/v1, embed_api_key_env: EMBED_KEY}":   "embed",
		"knowledge: {embed_api_key_env: EMBED_KEY}":                                    "embed",
		"knowledge: {embed_base_url: http://other/v1, embed_api_key_env: NOT_SET_KEY}": "",
	} {
		c, err := config.Parse([]byte("upstream: {base_url: http://chat/v1, api_key_env: CHAT_KEY}\n" + in))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.EmbedAPIKey(); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if got := (config.Upstream{}).APIKey(); got != "" {
		t.Errorf("no variable gave %q", got)
	}
}
