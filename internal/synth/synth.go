// Package synth makes claims, questions and vectors for benchmarks: the same ones for
// the same seed, with word frequencies like those of real text. Use it to measure
// speed; it says nothing about quality.
package synth

import (
	"context"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// Vocabulary is the number of words, and Words the number of words in a claim.
const (
	Vocabulary = 50_000
	Words      = 100
)

// Source generates texts. It must not be used concurrently.
type Source struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

// New returns a source for a seed.
func New(seed uint64) *Source {
	rng := rand.New(rand.NewPCG(seed, 0))
	// The exponent is about that of English.
	return &Source{rng: rng, zipf: rand.NewZipf(rng, 1.07, 2, Vocabulary-1)}
}

var syllables = strings.Fields("ba ce di fo gu ha ji ke lo mu na pe qui ro su ta ve wi xo zu bra cli dro fle gri ple stra tro")

// word spells number n. Words have about the length of English ones.
func word(n uint64) string {
	var b strings.Builder
	for n += uint64(len(syllables)); n > 0; n /= uint64(len(syllables)) {
		b.WriteString(syllables[n%uint64(len(syllables))])
	}
	return b.String()
}

// Text returns n words.
func (s *Source) Text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = word(s.zipf.Uint64())
	}
	return strings.Join(words, " ")
}

// Claim returns a claim of Words words.
func (s *Source) Claim() ken.Claim {
	c, err := ken.NewClaim(s.Text(Words), ken.FromUserStatement("s", "m"))
	if err != nil {
		panic(err) // the text is never empty
	}
	return c
}

// Question returns ten words, none of the hundred most frequent, like a question
// without its stop words.
func (s *Source) Question() string {
	words := make([]string, 10)
	for i := range words {
		n := s.zipf.Uint64()
		for n < 100 {
			n = s.zipf.Uint64()
		}
		words[i] = word(n)
	}
	return strings.Join(words, " ")
}

// Embedder is a static embedder over this vocabulary: each word has a random vector,
// and a text the sum of its words' vectors. It costs the same as a real token table: a
// look-up and an addition for each word.
type Embedder struct {
	dim   int
	table [][]float32
	seed  maphash.Seed
}

// NewEmbedder returns an embedder with dim dimensions.
func NewEmbedder(dim int) *Embedder {
	rng := rand.New(rand.NewPCG(7, 7))
	e := &Embedder{dim: dim, seed: maphash.MakeSeed(), table: make([][]float32, 1<<14)}
	for i := range e.table {
		e.table[i] = make([]float32, dim)
		for j := range e.table[i] {
			e.table[i][j] = float32(rng.NormFloat64())
		}
	}
	return e
}

// Embed implements embed.Embedder.
func (e *Embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, e.dim)
		for w := range strings.FieldsSeq(text) {
			for j, x := range e.table[maphash.String(e.seed, w)%uint64(len(e.table))] {
				v[j] += x
			}
		}
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if sum == 0 {
			continue
		}
		scale := float32(1 / math.Sqrt(sum))
		for j := range v {
			v[j] *= scale
		}
		out[i] = v
	}
	return out, nil
}

// Model implements embed.Embedder.
func (e *Embedder) Model() string { return "static:synthetic" }

// Dim implements embed.Embedder.
func (e *Embedder) Dim() int { return e.dim }

// Local reports true: it uses no network.
func (e *Embedder) Local() bool { return true }

// Sizes returns the store sizes that a benchmark runs with: 1,000 and 10,000, or those
// in KEN_BENCH_SIZES, such as 1000,100000,1000000. Large stores take minutes to fill.
func Sizes(b *testing.B) []int {
	b.Helper()
	env := os.Getenv("KEN_BENCH_SIZES")
	if env == "" {
		return []int{1_000, 10_000}
	}
	var out []int
	for part := range strings.SplitSeq(env, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			b.Fatalf("KEN_BENCH_SIZES: %v", err)
		}
		out = append(out, n)
	}
	return out
}

// Percentiles reports the median and the 99th percentile in milliseconds.
func Percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	for name, p := range map[string]float64{"p50-ms": .5, "p99-ms": .99} {
		b.ReportMetric(float64(took[int(p*float64(len(took)-1))].Microseconds())/1000, name)
	}
}
