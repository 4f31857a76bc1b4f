package config

import (
	"strconv"

	"github.com/kenlayer/ken/internal/code/plan"
)

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
	case c.Harvest.Model != "" && c.HarvestBaseURL() == "":
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
