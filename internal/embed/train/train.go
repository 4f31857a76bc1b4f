package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Train makes a new table from pairs. Errors are *ken.Error of code invalid (too few
// pairs, a checkpoint of another run) or corrupt (a checkpoint), or the context's own.
func Train(ctx context.Context, pairs []Pair, o Options) (*table.Model, error) {
	o = o.withDefaults()
	r := &run{o: &o}
	return r.all(ctx, pairs, func() error { return r.begin(ctx, pairs) })
}

// all does the whole training. begin makes the first rows and the corpus, if there is no checkpoint.
func (r *run) all(ctx context.Context, pairs []Pair, begin func() error) (*table.Model, error) {
	if err := r.o.check(); err != nil {
		return nil, err
	}
	if len(pairs) < 2 {
		return nil, tooFew(len(pairs))
	}
	if err := r.resume(ctx, pairs); err != nil {
		return nil, err
	}
	if r.state.rows != nil {
		begin = func() error { return r.cut(ctx, pairs) }
	}
	if err := begin(); err != nil {
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

// run is one training with the results of its phases so far.
type run struct {
	o      *Options
	corpus *corpus
	state  state
}

// resume continues from a checkpoint, if there is one.
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
	var t *teacher
	var start []float32
	if r.o.Teacher != nil {
		if t, start, err = newTeacher(ctx, r.state.Tokens, r.o); err != nil {
			return err
		}
	}
	if r.state.rows, err = initial(ctx, r.corpus, r.state.Tokens, start, r.o); err != nil {
		return err
	}
	if t != nil {
		if err := r.teach(ctx, t, pairs); err != nil {
			return err
		}
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

// warmUpShare is the share of the steps in which the rate rises.
const warmUpShare = 0.05

// warm returns the learning rate of a step as a share of the maximum.
func warm(step, total int) float64 {
	at := float64(step+1) / float64(total)
	return min(at/warmUpShare, (1-at)/(1-warmUpShare)+1e-3)
}

// epochs runs the remaining epochs.
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
	for _, pairs := range epoch(r.corpus, r.o.Batch, r.state.Epochs, r.o) {
		step := r.state.Step
		tr.batch.fill(r.corpus, pairs, hard, uint64(step), r.o)
		if err := tr.step(ctx, step, r.o.Rate*warm(step, total)); err != nil {
			return err
		}
		r.state.Step++
		report(r.o.Progress, Progress{Stage: "train", Done: r.state.Step, Total: total})
	}
	return nil
}

// export rounds the table to eight bits.
func (r *run) export() (*table.Model, error) {
	o := r.o
	info := o.Info
	info.Recipe = fmt.Sprintf("recipe %d: %d pairs, %d epochs of batches of %d, rate %g, temperature %g, %d hard negatives, seed %d",
		recipe, r.corpus.len(), o.Epochs, o.Batch, o.Rate, o.Temperature, o.Hard, o.Seed)
	if o.Teacher != nil {
		info.Recipe += ", teacher " + o.Teacher.Model()
	}
	return table.New(r.state.Tokens, r.state.rows.values, r.state.Dim, info)
}

// Progress is the progress of a run.
type Progress struct {
	Stage string // read, decontaminate, vocabulary, cut, tokens, initial table, texts, teach, negatives, train
	// Done of Total; a Total of 0 is unknown. In the stages teach and train, they count steps.
	Done, Total int
}

func report(f func(Progress), p Progress) {
	if f != nil {
		f(p)
	}
}

// Options configures Train and Tune. The zero value is the default; some defaults
// differ between the two.
type Options struct {
	// Dim is the number of dimensions, a multiple of 8; <= 0 means 256. Tune uses its
	// base's.
	Dim int
	// Tokens is the maximum number of tokens in the vocabulary; <= 0 means 29,600,
	// which results in a file of less than 8 MB with 256 dimensions. For Tune it is the
	// maximum number of added tokens; <= 0 means 2,000.
	Tokens int
	// Epochs is the number of epochs over the pairs; <= 0 means 10, with a Teacher 1, for
	// Tune as many as make 300 steps, 2 to 20.
	Epochs int
	// Batch is the number of pairs in a step; <= 0 means 512, for Tune 256 or a quarter
	// of the pairs, if that is less.
	Batch int
	// Rate is the maximum learning rate. It is reached after a twentieth of the steps
	// and then falls to 0. <= 0 means 0.002, with a Teacher 0.0006, for Tune 0.0005.
	Rate float64
	// Temperature divides the cosines in the loss, 0.025 or more; <= 0 means 0.05.
	Temperature float64
	// Weight returns how many times an epoch uses the pairs of a source; a fraction is
	// a probability. Nil means once.
	Weight func(src string) float64
	// Hard is the number of hard negatives for each pair, of which a step selects one:
	// passages of its source that contain its query's rare words. 0 means 1, negative
	// none.
	Hard int
	// Teacher, if not nil, is a sentence encoder. Train then starts from its vectors of
	// single tokens, and learns those of some 400,000 texts of the pairs before it learns
	// the pairs. Otherwise it starts from which tokens are neighbours in the pairs. Tune
	// doesn't use it.
	Teacher embed.Embedder
	// Seed is the seed of all random choices.
	Seed uint64
	// Workers is the number of goroutines; <= 0 means one per processor.
	Workers int
	// Checkpoint is the path of a file in which each phase and epoch stores its result.
	// A run that finds a checkpoint of the same pairs and options continues from it.
	// Empty means none.
	Checkpoint string
	// Progress is called with the progress of the run, from one goroutine. May be nil.
	Progress func(Progress)
	// Info is the information stored in the table; the recipe and a base are added.
	Info table.Info
}

func (o Options) withDefaults() Options {
	o.Dim = cmp.Or(max(o.Dim, 0), 256)
	o.Tokens = cmp.Or(max(o.Tokens, 0), 29_600)
	epochs, rate := 10, 0.002
	if o.Teacher != nil { // the pairs must not undo what it taught
		epochs, rate = 1, 0.0006
	}
	o.Epochs = cmp.Or(max(o.Epochs, 0), epochs)
	o.Batch = cmp.Or(max(o.Batch, 0), 512)
	o.Rate = cmp.Or(max(o.Rate, 0), rate)
	return o.common()
}

// tuneSteps is the default number of steps of a tuning, if that takes at least 2 and at
// most 20 epochs.
const tuneSteps = 300

func (o Options) tuneDefaults(pairs int) Options {
	o.Tokens = cmp.Or(max(o.Tokens, 0), 2000)
	o.Batch = cmp.Or(max(o.Batch, 0), min(256, max(pairs/4, 2)))
	o.Epochs = cmp.Or(max(o.Epochs, 0), min(max(tuneSteps*o.Batch/max(pairs, 1), 2), 20))
	o.Rate = cmp.Or(max(o.Rate, 0), 0.0005)
	return o.common()
}

func (o Options) common() Options {
	o.Temperature = cmp.Or(max(o.Temperature, 0), 0.05)
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.Hard = cmp.Or(o.Hard, 1)
	o.Hard = max(o.Hard, 0)
	if o.Weight == nil {
		o.Weight = func(string) float64 { return 1 }
	}
	return o
}

// minTemperature keeps the exponential of the smallest cosine within float32.
const minTemperature = 0.025

// check returns an error for invalid options.
func (o *Options) check() error {
	switch {
	case o.Dim%8 != 0:
		return wrong("dim", fmt.Sprintf("%d dimensions are not a multiple of 8", o.Dim), "Choose 64, 128 or 256.")
	case o.Temperature < minTemperature:
		return wrong("temperature", fmt.Sprintf("%g is too low", o.Temperature), "Choose 0.025 or more; 0.05 is good.")
	case o.Batch < 2:
		return wrong("batch", "one pair has no negatives", "Choose 2 or more.")
	}
	return nil
}

func wrong(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "train embedding table: " + msg, Try: try}
}

// singleSourceShare is the share of a source's pairs that are in batches of only that source,
// whose negatives are harder.
const singleSourceShare = 0.6

// Streams of random numbers, one for each purpose.
const (
	streamInitial = iota + 1
	streamQuestions
	streamTaught = 1 << 8
	streamEpoch  = 1 << 16
	streamStep   = 1 << 32
)

func draw(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// epoch returns the batches of an epoch, as indexes of pairs, size each.
func epoch(c *corpus, size, number int, o *Options) [][]int32 {
	r := draw(o.Seed, streamEpoch+uint64(number))
	weights := make([]float64, len(c.sources))
	for i, s := range c.sources {
		weights[i] = o.Weight(s)
	}
	bySource := make([][]int32, len(c.sources))
	for i, s := range c.source {
		w := weights[s]
		n := int(w)
		if r.Float64() < w-float64(n) {
			n++
		}
		for range n {
			bySource[s] = append(bySource[s], int32(i))
		}
	}
	var batches [][]int32
	var rest []int32
	for _, list := range bySource {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for range int(singleSourceShare * float64(len(list)) / float64(size)) {
			batches = append(batches, list[:size:size])
			list = list[size:]
		}
		rest = append(rest, list...)
	}
	r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for ; len(rest) >= size; rest = rest[size:] {
		batches = append(batches, rest[:size:size])
	}
	if len(batches) == 0 && len(rest) > 1 {
		batches = append(batches, rest) // fewer pairs than a batch
	}
	r.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	return batches
}

// rowsPerChunk is the number of matrix rows in one piece of parallel work. It is constant,
// so that sums are added in the same order for any number of workers.
const rowsPerChunk = 32

// trainer is a table being trained, with the working memory of a step.
type trainer struct {
	o     *Options
	table *rows
	batch batch

	sums  []float32 // of each text
	sumsT []float32 // the passages' transposed, then the queries'
	grad  []float32 // of the loss by each sum
	short int       // dimensions of the short level
	part  [2]level  // the short and the full level
	low   []float32 // coefficients of the dimensions below short
	turn  []float32 // a matrix of coefficients transposed
	users users
}

// level is one length of the vectors. The loss includes the full vectors and their
// first dimensions, so that the latter can be used alone.
type level struct {
	weight  float32
	inverse []float32 // 1/length of each text
	cosine  []float32 // n x n: of query i and passage j
	prob    []float32 // n x n: exp((cosine-1)/temperature), then the gradient
	hard    []float32 // the cosine of each query's hard negative
	hardBy  []float32 // the gradient by it
	rowSum  []float32
	colSum  []float32
	alpha   []float32 // for each text: sum of gradient times cosine
}

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

func (l *level) resize(n, texts int) {
	l.inverse, l.alpha = grow(l.inverse, texts), grow(l.alpha, texts)
	l.cosine, l.prob = grow(l.cosine, n*n), grow(l.prob, n*n)
	l.hard, l.hardBy = grow(l.hard, n), grow(l.hardBy, n)
	l.rowSum, l.colSum = grow(l.rowSum, n), grow(l.colSum, n)
}

// step trains on the batch.
func (t *trainer) step(ctx context.Context, number int, rate float64) error {
	d := t.table.dim
	t.short = d / 2
	if number%2 == 1 {
		t.short = d / 4
	}
	if _, err := t.gradients(ctx); err != nil {
		return err
	}
	t.users.collect(&t.batch, t.table.len())
	t.table.update(ctx, t, float32(rate))
	return ctx.Err()
}

// gradients computes the mean loss in nats and its gradient by each text's sum.
func (t *trainer) gradients(ctx context.Context) (float64, error) {
	b, d := &t.batch, t.table.dim
	t.sums, t.grad = grow(t.sums, b.texts()*d), grow(t.grad, b.texts()*d)
	t.sumsT = grow(t.sumsT, 2*b.n*d)
	t.part[0].weight, t.part[1].weight = 0.5, 1
	for i := range t.part {
		t.part[i].resize(b.n, b.texts())
	}
	t.pool(ctx)
	t.cosines(ctx)
	loss := 0.0
	for i := range t.part {
		loss += t.softmax(ctx, &t.part[i])
	}
	t.back(ctx)
	return loss, ctx.Err()
}

func chunks(n int) int { return (n + rowsPerChunk - 1) / rowsPerChunk }

func chunk(i, n int) (from, to int) { return i * rowsPerChunk, min((i+1)*rowsPerChunk, n) }

// pool sums the rows of each text.
func (t *trainer) pool(ctx context.Context) {
	b, d := &t.batch, t.table.dim
	parallel(ctx, t.o.Workers, chunks(b.texts()), func(c int) {
		from, to := chunk(c, b.texts())
		for i := from; i < to; i++ {
			sum := t.addRows(i)
			t.part[0].inverse[i] = inverse(sum[:t.short])
			t.part[1].inverse[i] = inverse(sum[:d])
		}
	})
}

// addRows computes the sum of text i.
func (t *trainer) addRows(i int) []float32 {
	sum := t.sum(i)
	clear(sum)
	for _, id := range t.batch.text(i) {
		vek32.Add_Inplace(sum, t.table.row(int(id)))
	}
	return sum
}

func (t *trainer) sum(i int) []float32 { return t.sums[i*t.table.dim : (i+1)*t.table.dim] }

func inverse(v []float32) float32 {
	n := vek32.Dot(v, v)
	if n < 1e-30 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(n)))
}

// cosines computes both levels' cosines of all queries and passages, and of each query
// and its hard negative.
func (t *trainer) cosines(ctx context.Context) {
	n := t.batch.n
	lo, hi := &t.part[0], &t.part[1]
	cosine := func(i, j int) (short, whole float32) {
		u, v := t.sum(i), t.sum(j)
		short = vek32.Dot(u[:t.short], v[:t.short])
		whole = short + vek32.Dot(u[t.short:], v[t.short:])
		return short * lo.inverse[i] * lo.inverse[j], whole * hi.inverse[i] * hi.inverse[j]
	}
	parallel(ctx, t.o.Workers, chunks(n), func(c int) {
		from, to := chunk(c, n)
		for block := 0; block < n; block += 24 { // passages that fit into the first cache
			for i := from; i < to; i++ {
				for j := block; j < min(block+24, n); j++ {
					lo.cosine[i*n+j], hi.cosine[i*n+j] = cosine(i, n+j)
				}
			}
		}
		for i := from; i < to; i++ {
			if h := t.batch.hard[i]; h >= 0 {
				lo.hard[i], hi.hard[i] = cosine(i, int(h))
			}
		}
	})
}
