package train

import (
	"context"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/embed/table"
)

// Tune trains base further on pairs and returns a new table; base stays as it is.
// Words that are frequent in the pairs and that base cuts into pieces become
// tokens, with the sum of their pieces as first row, so that nothing changes
// before the first step. Errors are *ken.Error of code invalid or corrupt, as
// Train's, or the context's own.
func Tune(ctx context.Context, base *table.Model, pairs []Pair, o Options) (*table.Model, error) {
	o = o.tuneDefaults(len(pairs))
	o.Dim = base.Dim()
	o.Info.Base = base.Model()
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
		words, err := countWords(ctx, pairs, &o)
		if err != nil {
			return nil, err
		}
		r.state.Dim = o.Dim
		r.state.Tokens, r.state.rows = extend(base, words, o.Tokens)
	}
	if err := r.cut(ctx, pairs); err != nil {
		return nil, err
	}
	if err := r.epochs(ctx); err != nil {
		return nil, err
	}
	return r.export()
}

// extend copies base's tokens and rows and adds at most n frequent words.
func extend(base *table.Model, words counts, n int) ([]string, *rows) {
	v := base.Vocabulary()
	var tokens []string
	for i := range v.Len() {
		tokens = append(tokens, v.Token(i))
	}
	for _, w := range words.ranked(minCount * countScale) {
		if n == 0 {
			break
		}
		if _, known := v.ID(w); !known {
			tokens = append(tokens, w)
			n--
		}
	}
	t := newRows(len(tokens), base.Dim())
	piece := make([]float32, base.Dim())
	for i, w := range tokens {
		if i < v.Len() {
			base.Row(t.row(i), i)
			continue
		}
		for _, id := range v.Append(nil, w) {
			base.Row(piece, int(id))
			vek32.Add_Inplace(t.row(i), piece)
		}
	}
	return tokens, t
}
