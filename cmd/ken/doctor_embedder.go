package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/middleware"
)

// embedderKind says where vectors come from, as the doctor names it.
type embedderKind string

const (
	kindBuiltin embedderKind = "built-in"
	kindAdapted embedderKind = "adapted"
	kindStatic  embedderKind = "static"
	kindGateway embedderKind = "gateway"
)

// embedderFacts is the embedder in JSON.
type embedderFacts struct {
	Kind  embedderKind  `json:"kind"`
	Model string        `json:"model"`
	Dim   int           `json:"dim"`
	At    string        `json:"at,omitempty"`      // the file, folder or address
	Adapt *adapt.Report `json:"adapted,omitempty"` // what adapting it found
}

// examineEmbedder opens the layer without its store, and asks the embedder for
// a vector. An embedder that can't be opened does not keep the layer from being.
func (a *app) examineEmbedder(ctx context.Context, p *progress, cfg config.Config) (*middleware.Layer, []finding) {
	const check = "embedder"
	cfg.Middleware.Knowledge, cfg.Middleware.Events = false, false
	use := func(o *middleware.Options) { o.Config = &cfg }
	out := examineSettings(&cfg)
	l, err := a.layer(ctx, p, use)
	if err != nil {
		cfg.Knowledge.Embeddings = false
		l, _ = a.layer(ctx, p, use)
		return l, append(out, failed(check, err))
	}
	start := time.Now()
	vecs, err := l.Embedder().Embed(ctx, []string{"ken doctor asks for a vector"})
	took := time.Since(start).Round(10 * time.Microsecond)
	switch {
	case errors.Is(err, embed.ErrOff):
		return l, append(out, warned(check, "none: search is by words alone", ken.Hint(err)))
	case err != nil:
		return l, append(out, failed(check, err))
	case len(vecs) != 1 || vecs[0] == nil:
		return l, append(out, finding{Check: check, State: stateFail, Detail: "the model knows none of six plain English words",
			Try: "Check knowledge.embed_path."})
	}
	facts := embedderOf(l, len(vecs[0]))
	f := passed(check, "%s, answers with %d dimensions in %s", facts.describe(), facts.Dim, took)
	f.Data = facts
	return l, append(out, f)
}

// embedderOf says which embedder a layer uses.
func embedderOf(l *middleware.Layer, dim int) *embedderFacts {
	cfg := l.Config()
	f := &embedderFacts{Model: l.Embedder().Model(), Dim: dim}
	switch cfg.EmbedProvider() {
	case config.ProviderStatic:
		f.Kind, f.At = kindStatic, cfg.Knowledge.EmbedPath
	case config.ProviderOpenAI:
		f.Kind, f.At = kindGateway, cfg.EmbedBaseURL()
	default:
		f.Kind = kindBuiltin
		if r, err := adapt.Load(cfg.State(l.Root())); err == nil && r.Model == f.Model {
			f.Kind, f.Adapt = kindAdapted, &r
		}
	}
	return f
}

func (f *embedderFacts) describe() string {
	switch f.Kind {
	case kindAdapted:
		r := f.Adapt
		return fmt.Sprintf("the built-in table, adapted to this repository on %s (%s): MRR %.3f instead of %.3f on %d questions set aside",
			r.Created.Format(time.DateOnly), f.Model, r.After.MRR, r.Before.MRR, r.HeldOut)
	case kindStatic:
		return fmt.Sprintf("the table in %s (%s)", f.At, f.Model)
	case kindGateway:
		return fmt.Sprintf("%s at %s", f.Model, f.At)
	}
	return fmt.Sprintf("the built-in table (%s)", f.Model)
}

// examineSettings tells of a model that is configured and not asked.
func examineSettings(cfg *config.Config) []finding {
	k := &cfg.Knowledge
	used := cfg.EmbedProvider()
	if k.EmbedModel == "" || used == config.ProviderOpenAI {
		return nil
	}
	why, try := "embed_provider is "+string(k.Provider), "Set knowledge.embed_provider to auto or openai, or remove knowledge.embed_model."
	switch {
	case !k.Embeddings:
		why, try = "embeddings is false", "Set knowledge.embeddings to true, or remove knowledge.embed_model."
	case k.Provider != config.ProviderAuto:
	case used == config.ProviderStatic:
		why, try = "embed_path is set, and goes first", "Remove knowledge.embed_path or knowledge.embed_model."
	default:
		why, try = "no address is known", "Set knowledge.embed_base_url, or upstream.base_url if it serves the model."
	}
	return []finding{warned("embed_model", fmt.Sprintf("knowledge.embed_model %s is not used: %s", k.EmbedModel, why), try)}
}
