package calibrate

import (
	"cmp"
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
	N    int    // maximum number of questions; 0 means DefaultN
	Seed uint64 // random seed for the choice of questions
	// Filter selects the records that questions are made from and that may be found, as for turns.
	Filter ken.Filter
	// Progress is called with the number of questions asked so far; nil means no calls.
	Progress func(done, total int)
	Now      func() time.Time // nil means time.Now
}

// DefaultN is the number of questions if Options.N is 0.
const DefaultN = 200

// kinds lists the kinds whose questions don't repeat their record word for word. A heading question
// would find its own copy in the index.
var kinds = []knownitem.Kind{knownitem.KindParaphrase, knownitem.KindQuestion, knownitem.KindKeyword}

// Run asks questions that are made from p's own records: by keyword search, by vector search with
// e, and by both as turns with the options r do, for every factor. It ignores r's Sources and
// Floor. It searches once for each question and ranks the results for each factor.
//
// It embeds all questions in one call and reads at most 1,000 records. The same records, embedder,
// options and seed give the same result, except for At. It returns the errors of the embedder and
// of the store, and ctx's error, with a nil result.
func Run(ctx context.Context, p Source, e embed.Embedder, r retriever.Options, o Options) (*Calibration, error) {
	o.N = cmp.Or(max(o.N, 0), DefaultN)
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
	if !table { // one call for all questions, not one for each
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
