package middleware

import (
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/openai"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/table"
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
	l.vectorCause = vectorOff(&l.cfg)
	switch {
	case l.vectorCause != "":
	case e.Model() == embed.None().Model():
		l.vectorCause = "switched off: knowledge.embed_provider is none"
	default:
		if l.background = e; !embed.IsLocal(e) {
			l.background = embed.Retry(e, embed.RetryOptions{})
		}
	}
	return nil
}

// vectorOff says by which switch there is no vector leg; "" when by none.
func vectorOff(c *config.Config) string {
	switch {
	case !c.Middleware.Vector:
		return "switched off: middleware.vector is false"
	case !c.Knowledge.Embeddings:
		return "switched off: knowledge.embeddings is false"
	}
	return ""
}

func (l *Layer) configured() (embed.Embedder, error) {
	if l.o.Embedder != nil {
		return l.o.Embedder, nil
	}
	k := &l.cfg.Knowledge
	switch l.cfg.EmbedProvider() {
	case config.ProviderBuiltin:
		return l.builtin()
	case config.ProviderStatic:
		path := config.InProject(l.o.Root, k.EmbedPath)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return table.Read(path)
		}
		return static.Open(path)
	case config.ProviderOpenAI:
		return openai.New(openai.Options{BaseURL: l.cfg.EmbedBaseURL(), Key: l.cfg.EmbedAPIKey(), Model: k.EmbedModel,
			Dimensions: k.EmbedDimensions})
	}
	return embed.None(), nil
}

// builtin is the built-in table, or its copy that was adapted to this project. A
// copy that can't be read is told of and left aside.
func (l *Layer) builtin() (embed.Embedder, error) {
	base, err := builtin.Open()
	if err != nil {
		return nil, err
	}
	path, ok := adapt.Find(l.cfg.State(l.o.Root), base.Model())
	if !ok {
		return base, nil
	}
	adapted, err := table.Read(path)
	if err != nil {
		l.o.Log.Warn("the built-in embedder is used instead of the adapted one", "cause", err, "try", "Run ken embed adapt again, or ken embed adapt --remove.")
		return base, nil
	}
	return adapted, nil
}

// retrieval translates the configuration.
func retrieval(c *config.Config) retriever.Options {
	o := retriever.Options{Pool: c.Retrieval.Pool, K: float64(c.Retrieval.RRFK),
		Limits: map[string]int{retriever.LegKeyword: c.Retrieval.Legs.Keyword, retriever.LegVector: c.Retrieval.Legs.Vector,
			retriever.LegStructure: c.Retrieval.Legs.Structure, retriever.LegSessions: c.Knowledge.Sessions, retriever.LegPlaybooks: c.Knowledge.Playbooks},
		Order: retriever.Order(c.Retrieval.Rank), VectorWeight: c.Retrieval.RRFWeight, TopK: c.Knowledge.TopK, Deadline: c.Retrieval.Deadline,
		DecayDays: c.Knowledge.DecayDays, Weights: (*retriever.Weights)(&c.Retrieval.Signals), Floor: c.Retrieval.Floor}
	o.Structure = structural(c)
	if !c.Middleware.Floor || c.Retrieval.Floor == 0 {
		o.Floor = -1
	}
	return o
}

// legs returns the legs of a turn: all that are switched on, or none when the turn
// asks for nothing. One that asks to go on with the last sessions gets those and what
// is pinned. noVector says why there is no vector leg.
func (l *Layer) legs(c *config.Config, p store.Projections, s *ken.Signals, noVector string) []retriever.Leg {
	asks := s.Asks
	var out []retriever.Leg
	m := &c.Middleware
	if asks && m.Keyword {
		out = append(out, retriever.Keyword(p))
	}
	if asks && noVector == "" {
		out = append(out, retriever.Vector(p, l.embedder))
	}
	if (asks || s.Resumes) && m.Pinned {
		out = append(out, retriever.Pinned(p))
	}
	if (asks || s.Resumes) && m.Sessions && c.Knowledge.Sessions > 0 {
		out = append(out, retriever.Sessions(p))
	}
	if asks && m.Playbooks && c.Knowledge.Playbooks > 0 {
		out = append(out, retriever.Playbooks(p, l.playbooks))
	}
	return out
}

func (l *Layer) indexing() repository.Options {
	r := &l.cfg.Repository
	return repository.Options{Progress: func(p repository.Progress) { l.o.Progress(string(p.Stage), p.Done, p.Total) },
		MaxFileBytes: int64(r.MaxFileBytes), MaxChunk: r.ChunkChars, Standing: l.stillHolds(),
		Exclude: r.Exclude, MaxCommits: r.GitCommits, NoHistory: r.GitCommits == 0}
}
