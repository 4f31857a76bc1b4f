package middleware

import (
	"path/filepath"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/openai"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/repository"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// openEmbedder makes the configured embedder twice over: guarded for turns, and
// with retries for the background.
func (l *Layer) openEmbedder() error {
	e, err := l.configured()
	if err != nil {
		return err
	}
	k := &l.cfg.Knowledge
	l.embedder = embed.NewGuard(e, embed.GuardOptions{Timeout: k.EmbedTimeout, Failures: l.cfg.Breaker.Failures,
		ProbeEvery: l.cfg.Breaker.Open, Cache: embed.NewMemory(0)})
	switch {
	case !l.cfg.Middleware.Vector:
		l.vectorCause = "switched off: middleware.vector is false"
	case !k.Embeddings:
		l.vectorCause = "switched off: knowledge.embeddings is false"
	case e.Model() == embed.None().Model():
		l.vectorCause = "no embedder is configured: set knowledge.embed_path or knowledge.embed_model"
	default:
		if l.background = e; !embed.IsLocal(e) {
			l.background = embed.Retry(e, embed.RetryOptions{})
		}
	}
	return nil
}

func (l *Layer) configured() (embed.Embedder, error) {
	if l.o.Embedder != nil {
		return l.o.Embedder, nil
	}
	k := &l.cfg.Knowledge
	switch l.cfg.EmbedProvider() {
	case config.ProviderStatic:
		path := k.EmbedPath
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.o.Root, path)
		}
		return static.Open(path)
	case config.ProviderOpenAI:
		return openai.New(openai.Options{BaseURL: l.cfg.EmbedBaseURL(), Key: l.cfg.EmbedAPIKey(), Model: k.EmbedModel,
			Dimensions: k.EmbedDimensions})
	}
	return embed.None(), nil
}

// retrieval translates the configuration.
func retrieval(c *config.Config) retriever.Options {
	o := retriever.Options{Pool: c.Retrieval.Pool, K: float64(c.Retrieval.RRFK),
		Limits: map[string]int{retriever.LegKeyword: c.Retrieval.Legs.Keyword, retriever.LegVector: c.Retrieval.Legs.Vector},
		Order:  retriever.Order(c.Retrieval.Rank), TopK: c.Knowledge.TopK, Deadline: c.Retrieval.Deadline,
		DecayDays: c.Knowledge.DecayDays, Floor: retriever.DefaultFloor}
	o.Floor.Share = c.Retrieval.Floor
	if !c.Middleware.Floor || c.Retrieval.Floor == 0 {
		o.Floor = retriever.Floor{Share: -1, Cosine: -1}
	}
	return o
}

// legs is what a turn asks: everything that is switched on, or only what is
// pinned when the turn asks for nothing.
func (l *Layer) legs(p store.Projections, asks bool) []retriever.Leg {
	var out []retriever.Leg
	m := &l.cfg.Middleware
	if asks && m.Keyword {
		out = append(out, retriever.Keyword(p))
	}
	if asks && l.vectorCause == "" {
		out = append(out, retriever.Vector(p, l.embedder))
	}
	if m.Pinned {
		out = append(out, retriever.Pinned(p))
	}
	return out
}

func (l *Layer) indexing() repository.Options {
	r := &l.cfg.Repository
	return repository.Options{Progress: func(p repository.Progress) { l.o.Progress(string(p.Stage), p.Done, p.Total) },
		MaxFileBytes: int64(r.MaxFileBytes), MaxChunk: r.ChunkChars,
		Exclude: r.Exclude, MaxCommits: r.GitCommits, NoHistory: r.GitCommits == 0}
}
