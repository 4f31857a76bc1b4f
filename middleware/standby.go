package middleware

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/embed/openai"
	"github.com/kenlayer/ken/internal/embed/guard"
	"github.com/kenlayer/ken/internal/embed/install"
	"github.com/kenlayer/ken/internal/retriever/calibrate"
	"github.com/kenlayer/ken/store"
)

// standbys holds the embedders of models that the configured one replaces: see
// bolt.Options.Standby. The zero value is ready.
type standbys struct {
	mu sync.Mutex // guards m
	m  map[string]embed.Embedder
}

// standby returns the embedder of a model for which a store has vectors; nil if it is not
// available. For "" it returns the built-in table if the configured embedder is slow. Available are
// the built-in table and its adapted copy, models that ken embed install has installed, and other
// models of the configured embedding service. It never asks a service that is no longer configured.
func (l *Layer) standby(model string) embed.Embedder {
	l.standbys.mu.Lock()
	defer l.standbys.mu.Unlock()
	if e, ok := l.standbys.m[model]; ok {
		return e
	}
	e := l.findStandby(model)
	if l.standbys.m == nil {
		l.standbys.m = map[string]embed.Embedder{}
	}
	l.standbys.m[model] = e
	return e
}

func (l *Layer) findStandby(model string) embed.Embedder {
	if l.vectorCause != "" || model == "" && embed.IsInline(l.embedder) {
		return nil
	}
	var tables []func() (embed.Embedder, error)
	tables = append(tables, l.builtinEmbedder, func() (embed.Embedder, error) { return builtin.Open() })
	for _, m := range install.Models() {
		if path, ok := m.Path(install.Folder()); ok && model != "" {
			tables = append(tables, func() (embed.Embedder, error) { return l.openPath(path) })
		}
	}
	for _, open := range tables {
		if e, err := open(); err == nil && (model == "" || e.Model() == model) {
			return e
		}
	}
	name, remote := strings.CutPrefix(model, "openai:")
	if !remote || l.o.Embedder != nil || l.cfg.EmbedProvider() != config.ProviderOpenAI {
		return nil
	}
	var dimensions int
	if before, after, ok := strings.Cut(name, "@"); ok {
		if _, err := fmt.Sscanf(after, "%d", &dimensions); err == nil {
			name = before
		}
	}
	e, err := openai.New(openai.Options{BaseURL: l.cfg.EmbedBaseURL(), Key: l.cfg.EmbedAPIKey(), Model: name, Dimensions: dimensions})
	if err != nil || e.Model() != model {
		return nil
	}
	return e
}

// question holds the embedder for a turn's questions to one store.
type question struct {
	embedder        embed.Embedder // nil if there is no vector search
	noVector        string         // why there is no vector search
	embedded, total int            // number of records in the store
	joined          *joined        // nil unless two models are used
}

// questionFor selects the embedder for questions to a store. While records lack a vector of the
// layer's model, it joins that model with the standby's. A noVector other than "" is the reason why
// there is no vector search. deadline is that of the search.
func (l *Layer) questionFor(p store.Projections, noVector string, deadline time.Duration) question {
	q := question{noVector: noVector}
	if q.embedded, q.total = p.Coverage(); noVector != "" {
		return q
	}
	q.embedder = l.embedder
	if q.embedded == q.total {
		return q
	}
	model := p.Standby()
	var old embed.Embedder
	if model != "" {
		old = l.standby(model)
	}
	if old != nil {
		q.joined = &joined{Guard: l.embedder, old: embed.Queries(old), known: q.embedded > 0, wait: deadline / 2}
		q.embedder = q.joined
	}
	return q
}

// lacksVectors reports whether the store has records but none has a vector. The embedder is asked even
// then, because its error may be the cause.
func (q *question) lacksVectors() bool { return q.total > 0 && q.embedded == 0 && q.joined == nil }

// disable switches the vector search off if noVector is not "".
func (q *question) disable(noVector string) {
	if noVector != "" {
		q.embedder, q.noVector = nil, noVector
	}
}

// questionCalibration returns the calibration for an owner's questions. While two models are used,
// it is that of the replaced model, whose scale the similarities have.
func (l *Layer) questionCalibration(owner string, q *question) *calibrate.Calibration {
	if q.joined == nil {
		return l.Operator().Calibration(owner)
	}
	if !l.usesCalibration() {
		return nil
	}
	if c := l.calibrationOf(l.ownerOrDefault(owner)).previous; c.For(q.joined.old.Model()) {
		return c
	}
	return nil
}

// noVectors is the cause in receipts of a search by words alone while no record has a vector.
const noVectors = "no record has a vector yet: run ken index"

// degraded describes which records the vector search could not compare; "" if none.
func (q *question) degraded() string {
	if q.embedder == nil || q.embedded == q.total {
		return ""
	}
	why := fmt.Sprintf("only %d of %d records have a vector of this model yet", q.embedded, q.total)
	if q.joined != nil {
		why += ", the others are compared by " + q.joined.old.Model()
		if err := q.joined.failure(); err != nil {
			why += "; this turn used only that model: " + err.Error()
		}
	}
	return why
}

// joined embeds a question with the layer's model and with the model that it replaces. A result is
// the concatenation of both vectors: see store.Projections.Standby. If one model does not answer
// within wait, the vector of the other is used alone.
type joined struct {
	*guard.Guard
	old   embed.Embedder
	known bool // the store has vectors of the new model
	wait  time.Duration

	mu  sync.Mutex // guards err
	err error      // last error of the new model
}

func (j *joined) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Embed implements embed.Embedder.
func (j *joined) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	type answer struct {
		vectors [][]float32
		err     error
	}
	wait, cancel := context.WithTimeout(ctx, j.wait)
	defer cancel()
	fresh := make(chan answer, 1)
	go func() {
		vectors, err := j.Guard.Embed(wait, texts)
		fresh <- answer{vectors, err}
	}()
	old, oldErr := j.old.Embed(wait, texts)
	if oldErr == nil {
		oldErr = embed.Check(old, len(texts), j.old.Dim())
	}
	n := <-fresh
	j.mu.Lock()
	j.err = n.err
	j.mu.Unlock()
	if n.err != nil && (oldErr != nil || ctx.Err() != nil) {
		return nil, n.err
	}
	if oldErr != nil && !j.known {
		return nil, oldErr
	}
	out := make([][]float32, len(texts))
	for i := range texts {
		var a, b []float32
		if n.err == nil {
			a = n.vectors[i]
		}
		if oldErr == nil {
			b = old[i]
		}
		switch {
		case a == nil && b == nil:
			continue
		case a == nil:
			a = make([]float32, max(j.Guard.Dim(), 1))
		case b == nil && j.old.Dim() == 0:
			out[i] = a
			continue
		case b == nil:
			b = make([]float32, j.old.Dim())
		}
		out[i] = append(append(make([]float32, 0, len(a)+len(b)), a...), b...)
	}
	return out, nil
}
