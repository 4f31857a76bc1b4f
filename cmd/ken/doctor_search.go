package main

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/middleware"
)

// examineSearch says how search fares on questions made of the owner's records,
// and measures it if that is due.
func examineSearch(ctx context.Context, l *middleware.Layer, owner string) finding {
	const check = "search"
	cfg := l.Config()
	if !cfg.Retrieval.Calibrate {
		return passed(check, "not measured: retrieval.calibrate is false")
	}
	c, err := l.Calibrate(ctx, owner)
	switch {
	case err != nil:
		return failed(check, err)
	case c == nil:
		return passed(check, "not measured: that takes %d records with a vector", calibrate.MinRecords)
	case c.Questions == 0:
		return passed(check, "not measured: no questions can be made of these records")
	}
	f := finding{Check: check, State: stateOK, Data: c, Detail: fmt.Sprintf(
		"%d questions made of the records: recall@10 %.2f by words, %.2f by likeness, %.2f by both; MRR %.2f, %.2f, %.2f. %s",
		c.Questions, c.Keyword.RecallAt10, c.Vector.RecallAt10, both(c).RecallAt10, c.Keyword.MRR, c.Vector.MRR, both(c).MRR, verdict(c))}
	if c.Factor < 1 {
		f.State, f.Try = stateWarn, another(&cfg)
	}
	return f
}

// both is how words and likeness fare together where the likeness counts, for
// comparison also where calibration leaves it out.
func both(c *calibrate.Calibration) calibrate.Figures {
	for _, t := range c.Tried {
		if t.Factor == 1 && c.Harms() {
			return t.Figures
		}
	}
	return c.Hybrid
}

// verdict says in a sentence what calibration made of the figures.
func verdict(c *calibrate.Calibration) string {
	switch {
	case c.Harms():
		return "The embedder does not help here: turns search by words alone (factor 0)"
	case c.Factor < 1:
		return fmt.Sprintf("The embedder is weak here: its likeness counts %g of the usual", c.Factor)
	case c.Gain.Low > 0 && c.Keyword.MRR > 0:
		return fmt.Sprintf("Both together do %.0f %% better than words alone (factor %g)", 100*c.Gain.Mean/c.Keyword.MRR, c.Factor)
	}
	return fmt.Sprintf("The embedder is good enough for its likeness to count in full (factor %g): people's words differ more than these questions'", c.Factor)
}

// another says how to come by a better embedder.
func another(cfg *config.Config) string {
	switch cfg.EmbedProvider() {
	case config.ProviderBuiltin:
		return "Run ken embed adapt, or set knowledge.embed_model to one that your gateway serves."
	case config.ProviderStatic:
		return "Remove knowledge.embed_path for the built-in table, or set knowledge.embed_model to one that your gateway serves."
	}
	return "Set knowledge.embed_model to another model, or knowledge.embed_provider to builtin."
}
