package train

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Train makes a table of pairs alone. Errors are *ken.Error of code invalid (too
// few pairs, a checkpoint of another run) or corrupt (a checkpoint), or the
// context's own.
func Train(ctx context.Context, pairs []Pair, o Options) (*table.Model, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(pairs) < 2 {
		return nil, tooFew(len(pairs))
	}
	r := &run{o: &o}
	if err := r.resume(ctx, pairs); err != nil {
		return nil, err
	}
	if r.state.rows == nil {
		if err := r.begin(ctx, pairs); err != nil {
			return nil, err
		}
	} else if err := r.cut(ctx, pairs); err != nil {
		return nil, err
	}
	if err := r.epochs(ctx); err != nil {
		return nil, err
	}
	return r.export()
}

func tooFew(n int) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("train embedding table: %d pairs are not enough", n),
		Try: "Give it some thousand pairs of texts that belong together."}
}

// run is one training with what its phases have made so far.
type run struct {
	o      *Options
	corpus *corpus
	state  state
}

// resume continues a checkpoint, if there is one.
func (r *run) resume(ctx context.Context, pairs []Pair) error {
	if r.o.Checkpoint == "" {
		return nil
	}
	k, err := key(ctx, pairs, r.o)
	if err != nil {
		return err
	}
	s, err := load(r.o.Checkpoint, k)
	if err != nil {
		return err
	}
	if s != nil {
		r.state = *s
	}
	r.state.Key = k
	return nil
}

func (r *run) save() error {
	if r.o.Checkpoint == "" {
		return nil
	}
	return r.state.save(r.o.Checkpoint)
}

// begin makes the vocabulary and the initial table.
func (r *run) begin(ctx context.Context, pairs []Pair) error {
	words, err := countWords(ctx, pairs, r.o)
	if err != nil {
		return err
	}
	r.state.Dim, r.state.Tokens = r.o.Dim, buildVocabulary(words, r.o.Tokens)
	if err := r.cut(ctx, pairs); err != nil {
		return err
	}
	if r.state.rows, err = initial(ctx, r.corpus, r.state.Tokens, r.o); err != nil {
		return err
	}
	return r.save()
}

func (r *run) cut(ctx context.Context, pairs []Pair) error {
	v, err := table.NewVocabulary(r.state.Tokens)
	if err != nil {
		return err
	}
	if r.corpus, err = cut(ctx, pairs, v, r.o); err != nil {
		return err
	}
	if r.corpus.len() < 2 {
		return tooFew(r.corpus.len())
	}
	return nil
}

// warm is the part of the steps in which the rate rises.
const warm = 0.05

// epochs runs the epochs that are not done.
func (r *run) epochs(ctx context.Context) error {
	o := r.o
	if r.state.Epochs >= o.Epochs {
		return nil
	}
	total := 0
	for e := range o.Epochs {
		total += len(epoch(r.corpus, o.Batch, e, o))
	}
	var hard [][]int32
	if o.Hard > 0 {
		var err error
		if hard, err = mine(ctx, r.corpus, len(r.state.Tokens), o); err != nil {
			return err
		}
	}
	tr := &trainer{o: o, table: r.state.rows}
	for r.state.Epochs < o.Epochs {
		if err := r.epoch(ctx, tr, hard, total); err != nil {
			return err
		}
		r.state.Epochs++
		if err := r.save(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) epoch(ctx context.Context, tr *trainer, hard [][]int32, total int) error {
	mean := 0.0
	for i, pairs := range epoch(r.corpus, r.o.Batch, r.state.Epochs, r.o) {
		step := r.state.Step
		tr.batch.fill(r.corpus, pairs, hard, uint64(step), r.o)
		at := float64(step+1) / float64(total)
		loss, err := tr.step(ctx, step, r.o.Rate*min(at/warm, (1-at)/(1-warm)+1e-3))
		if err != nil {
			return err
		}
		r.state.Step++
		if i == 0 {
			mean = loss
		}
		mean += (loss - mean) / 50
		report(r.o.Progress, Progress{Stage: "train", Done: r.state.Step, Total: total, Loss: mean})
	}
	return nil
}

// export rounds the table to eight bits.
func (r *run) export() (*table.Model, error) {
	o := r.o
	info := o.Info
	info.Recipe = fmt.Sprintf("recipe %d: %d pairs, %d epochs of batches of %d, rate %g, temperature %g, %d hard negatives, seed %d",
		recipe, r.corpus.len(), o.Epochs, o.Batch, o.Rate, o.Temperature, o.Hard, o.Seed)
	return table.New(r.state.Tokens, r.state.rows.values, r.state.Dim, info)
}
