package calibrate

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/embed/guard"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/retriever"
)

// Options configures Run. The zero value is the default.
type Options struct {
	N    int    // questions at most; 0 means DefaultN
	Seed uint64 // another seed, other questions
	// Filter says which records are asked for and found: that of the turns.
	Filter ken.Filter
	// Progress is told how many questions were asked; nil means nobody.
	Progress func(done, total int)
	Now      func() time.Time // nil means time.Now
}

// DefaultN is how many questions are asked when Options.N is 0.
const DefaultN = 200

// kinds are those whose questions don't repeat their record word for word. A
// heading's question would find its own copy in a live index.
var kinds = []knownitem.Kind{knownitem.KindParaphrase, knownitem.KindQuestion, knownitem.KindKeyword}

// Run asks questions made of p's own records by words, by the likeness that e
// sees, and by both as turns with the options r do, for every factor. r's sources
// and floor don't count. Each question is searched once and ranked for each
// factor.
//
// It embeds all questions at once and reads at most 1,000 records. The same
// records, embedder, options and seed give the same result but for At. Errors:
// the embedder's, the store's, and ctx's own; no result comes with them.
func Run(ctx context.Context, p Source, e embed.Embedder, r retriever.Options, o Options) (*Calibration, error) {
	if o.N <= 0 {
		o.N = DefaultN
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	_, total := p.Coverage()
	c := &Calibration{Version: Version, Analysis: analysis.Version, Model: e.Model(), Records: total, Factor: 1, At: o.Now().UTC()}
	asked, err := questions(ctx, p, o.N, o.Seed, &o.Filter)
	if err != nil {
		return nil, fmt.Errorf("make questions: %w", err)
	}
	if len(asked) == 0 {
		return c, nil
	}
	texts := make([]string, len(asked))
	for i := range asked {
		texts[i] = asked[i].Text
	}
	e = embed.Queries(e)
	table := embed.IsInline(e)
	if !table { // one call instead of one for each question
		e = guard.Cached(e, guard.NewCache(len(texts)))
		if _, err := e.Embed(ctx, texts); err != nil {
			return nil, fmt.Errorf("embed questions: %w", err)
		}
	}
	m := newMeter(p, e, r, o.Filter)
	searched := make([]searched, len(asked))
	for i := range asked {
		o.Progress(i, len(asked))
		if searched[i], err = m.search(ctx, &asked[i]); err != nil {
			return nil, err
		}
	}
	c.Usual = usual(searched)
	m.o.Usual = c.Usual
	out := make([]outcome, len(asked))
	for i := range searched {
		if out[i] = m.rank(ctx, &searched[i]); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	o.Progress(len(asked), len(asked))
	c.decide(out, table)
	return c, nil
}
