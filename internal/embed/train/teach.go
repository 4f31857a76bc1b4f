package train

import (
	"context"
	"fmt"
	"strings"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/table"
)

const (
	// taughtTexts is the approximate number of texts of the pairs that the teacher
	// embeds, if there are as many. Two cores embed some 2,000 in a second with
	// all-MiniLM-L6-v2 in 8 bits.
	taughtTexts = 400_000
	// taughtQueries is the share of queries among these texts.
	taughtQueries = 0.6
	// taughtEpochs is the number of times that the table sees each of these texts.
	taughtEpochs = 5
	// taughtRate is the maximum learning rate of these epochs.
	taughtRate = 0.002
	// taughtBytes is the maximum length of these texts; longer ones are cut.
	taughtBytes = 240
	// taughtAtOnce is the number of texts that the teacher embeds in one call.
	taughtAtOnce = 256
)

// teacher is a sentence encoder from whose vectors a table learns.
type teacher struct {
	embed.Embedder
	// directions are those in which its vectors of single tokens differ most (principal
	// component analysis), strongest first: Dim() rows of Dim() numbers.
	directions []float32
}

// newTeacher returns the teacher with its vectors of the tokens, in o.Dim dimensions.
func newTeacher(ctx context.Context, tokens []string, o *Options) (*teacher, []float32, error) {
	t := &teacher{Embedder: o.Teacher}
	vectors, err := t.vectors(ctx, "tokens", tokens, o.Progress)
	if err != nil {
		return nil, nil, err
	}
	k := t.Dim()
	covariance := make([]float64, k*k)
	parallel(ctx, o.Workers, k, func(a int) {
		row := covariance[a*k : (a+1)*k]
		for i := range tokens {
			v := vectors[i*k : (i+1)*k]
			for b, x := range v {
				row[b] += float64(v[a]) * float64(x)
			}
		}
	})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	_, t.directions = eigen(covariance, k)
	return t, t.project(ctx, vectors, o), ctx.Err()
}

// vectors returns the teacher's vectors of the texts, less their mean.
func (t *teacher) vectors(ctx context.Context, stage string, texts []string, progress func(Progress)) ([]float32, error) {
	n, k := len(texts), t.Dim()
	vectors, mean := make([]float32, n*k), make([]float32, k)
	for from := 0; from < n; from += taughtAtOnce {
		report(progress, Progress{Stage: stage, Done: from, Total: n})
		some, err := t.Embed(ctx, texts[from:min(from+taughtAtOnce, n)])
		if err != nil {
			return nil, fmt.Errorf("embed %s with the teacher %s: %w", stage, t.Model(), err)
		}
		for i, v := range some { // an empty one if the teacher knows no part of the text
			copy(vectors[(from+i)*k:(from+i+1)*k], v)
			vek32.Add_Inplace(mean, vectors[(from+i)*k:(from+i+1)*k])
		}
	}
	report(progress, Progress{Stage: stage, Done: n, Total: n})
	vek32.MulNumber_Inplace(mean, 1/float32(max(n, 1)))
	for i := range n {
		vek32.Sub_Inplace(vectors[i*k:(i+1)*k], mean)
	}
	return vectors, nil
}

// project returns the vectors in o.Dim dimensions: along the strongest directions. Those
// that the teacher lacks are 0.
func (t *teacher) project(ctx context.Context, vectors []float32, o *Options) []float32 {
	k := t.Dim()
	n := len(vectors) / k
	projected := make([]float32, n*o.Dim)
	parallel(ctx, o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for i := from; i < to; i++ {
			for j := range min(o.Dim, k) {
				projected[i*o.Dim+j] = vek32.Dot(vectors[i*k:(i+1)*k], t.directions[j*k:(j+1)*k])
			}
		}
	})
	return projected
}

// taught returns distinct texts of the pairs, in their order. A source has as many of them
// as its weight in an epoch says.
func taught(pairs []Pair, o *Options) []string {
	weights := 0.0
	for _, p := range pairs {
		weights += o.Weight(p.Src)
	}
	r := draw(o.Seed, streamTaught)
	var texts []string
	seen := map[string]bool{}
	add := func(s string, probability float64) {
		if r.Float64() >= probability {
			return
		}
		if s = shorten(s); !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	for _, p := range pairs {
		expected := taughtTexts * o.Weight(p.Src) / weights
		add(p.Q, expected*taughtQueries)
		add(p.P, expected*(1-taughtQueries))
	}
	return texts
}

// shorten cuts a long text between two words, or within one that is very long.
func shorten(s string) string {
	if len(s) <= taughtBytes {
		return s
	}
	s = strings.ToValidUTF8(s[:taughtBytes], "")
	if i := strings.LastIndexAny(s, " \n"); i > taughtBytes/2 {
		return s[:i]
	}
	return s
}

// teach moves the rows until the sum of a text's rows points where the teacher's vector
// of the text does.
func (r *run) teach(ctx context.Context, t *teacher, pairs []Pair) error {
	o, d := r.o, r.state.Dim
	v, err := table.NewVocabulary(r.state.Tokens)
	if err != nil {
		return err
	}
	texts := taught(pairs, o)
	vectors, err := t.vectors(ctx, "texts", texts, o.Progress)
	if err != nil {
		return err
	}
	targets := t.project(ctx, vectors, o)
	vectors = nil // many megabytes
	tokens := make([][]int32, len(texts))
	parallel(ctx, o.Workers, len(texts), func(i int) {
		tokens[i] = v.Append(nil, texts[i])
		y := targets[i*d : (i+1)*d]
		vek32.MulNumber_Inplace(y, inverse(y))
	})
	tr := &trainer{o: o, table: r.state.rows}
	size := min(o.Batch, len(texts))
	total := taughtEpochs * (len(texts) / size)
	step := 0
	for e := range taughtEpochs {
		order := draw(o.Seed, streamTaught+1+uint64(e)).Perm(len(texts))
		for ; len(order) >= size; order = order[size:] {
			tr.batch.ids, tr.batch.ends = tr.batch.ids[:0], tr.batch.ends[:0]
			for _, i := range order[:size] {
				tr.batch.ids = append(tr.batch.ids, tokens[i]...)
				tr.batch.ends = append(tr.batch.ends, int32(len(tr.batch.ids)))
			}
			tr.toward(ctx, order[:size], targets)
			tr.users.collect(&tr.batch, tr.table.len())
			tr.table.update(ctx, tr, float32(taughtRate*warm(step, total)))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			step++
			report(o.Progress, Progress{Stage: "teach", Done: step, Total: total})
		}
	}
	tr.table.restart()
	return nil
}

// toward computes the gradients of the mean cosine between each text's sum and its
// target, reversed. With the cosine s of u and y, and |y| = 1, ds/du = y/|u| - s u/|u|².
func (t *trainer) toward(ctx context.Context, texts []int, targets []float32) {
	b, d := &t.batch, t.table.dim
	t.sums, t.grad = grow(t.sums, b.texts()*d), grow(t.grad, b.texts()*d)
	parallel(ctx, t.o.Workers, chunks(len(texts)), func(c int) {
		from, to := chunk(c, len(texts))
		for i := from; i < to; i++ {
			sum, g := t.addRows(i), t.grad[i*d:(i+1)*d]
			y := targets[texts[i]*d : (texts[i]+1)*d]
			inv := inverse(sum)
			vek32.MulNumber_Into(g, sum, vek32.Dot(sum, y)*inv*inv)
			vek32.Sub_Inplace(g, y)
			vek32.MulNumber_Inplace(g, inv/float32(len(texts)))
		}
	})
}
