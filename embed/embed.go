package embed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
)

// Embedder turns texts into vectors of one space. Implementations are safe for
// concurrent use and pass the suite of package embedtest.
type Embedder interface {
	// Embed returns one vector a text, in the order of the texts, all of unit
	// length and of one dimension. A text in which there is nothing to embed
	// (empty, blank, no token that the model knows) gets a nil vector: callers
	// store and compare nothing for it. No texts: no vectors and no error.
	//
	// All or nothing: with an error there are no vectors. Errors are *ken.Error
	// of code unavailable (try later) or invalid (change the configuration), or
	// the context's own when the caller cancelled.
	//
	// The texts are not changed; the vectors are changed by nobody.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the vector space, qualified by its provider. Vectors are
	// compared only when their names are equal. It is constant.
	Model() string
	// Dim is the number of dimensions, 0 while it isn't known.
	Dim() int
}

// IsLocal reports whether e works in this process, without a network; an
// embedder says so with a method Local() bool.
func IsLocal(e Embedder) bool {
	l, ok := e.(interface{ Local() bool })
	return ok && l.Local()
}

// IsInline reports whether e may be used while somebody waits, because a text costs
// microseconds: it is local, and no method Background() bool says that it takes
// longer. Any other belongs behind a [Guard] on a turn and in the background otherwise.
func IsInline(e Embedder) bool {
	b, ok := e.(interface{ Background() bool })
	return IsLocal(e) && !(ok && b.Background())
}

// Queries returns the embedder for questions: of the same space, for models that
// put something else before a question than before what is searched. An embedder
// that tells them apart has a method Queries() Embedder; any other is its own.
func Queries(e Embedder) Embedder {
	if q, ok := e.(interface{ Queries() Embedder }); ok {
		return q.Queries()
	}
	return e
}

// parallelFrom is the number of texts from which several cores share the work;
// below it, starting goroutines costs more than it saves.
const parallelFrom = 16

// Batch is Embed for an embedder that works in this process, text by text: one is
// called for each, from several goroutines when there are many texts. It returns
// ctx's error, and no vectors, when ctx ends first. A text that one panics on has no
// vector, and slog.Default hears of it.
func Batch(ctx context.Context, texts []string, one func(text string) []float32) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(texts) {
				return
			}
			err := caught.Run(func() error {
				vectors[i] = one(texts[i])
				return nil
			})
			if err != nil {
				vectors[i] = nil
				slog.Default().ErrorContext(ctx, "a text can't be embedded and is found by its words alone", "cause", err, "stack", caught.Stack(err))
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(texts)/parallelFrom+1) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// unitTolerance is how far a vector's length may be from 1: float32 rounding over
// some thousand dimensions, with room to spare.
const unitTolerance = 1e-3

// Unit scales v to length 1, in place. A vector without a direction (all zero,
// NaN or infinite numbers) is an error of code unavailable.
func Unit(v []float32) error {
	n := norm(v)
	switch {
	case len(v) == 0:
		return broken("it has no dimensions")
	case math.IsNaN(n) || math.IsInf(n, 0):
		return broken("it holds NaN or an infinite number")
	case n == 0:
		return broken("it is all zeros")
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / n)
	}
	return nil
}

// Check reports what is wrong with an embedder's answer for n texts: the count,
// a dimension other than dim (0: other than the first vector's), numbers that are
// no numbers, a length other than 1. A nil vector is right: see [Embedder].
func Check(vectors [][]float32, n, dim int) error {
	if len(vectors) != n {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the embedder answered %d vectors for %d texts", len(vectors), n)}
	}
	for i, v := range vectors {
		if v == nil {
			continue
		}
		if dim == 0 {
			dim = len(v)
		}
		l := norm(v)
		switch {
		case len(v) != dim || dim == 0:
			return broken(fmt.Sprintf("vector %d has %d dimensions instead of %d", i, len(v), dim))
		case math.IsNaN(l) || math.IsInf(l, 0):
			return broken(fmt.Sprintf("vector %d holds NaN or an infinite number", i))
		case math.Abs(l-1) > unitTolerance:
			return broken(fmt.Sprintf("vector %d has length %.3g instead of 1", i, l))
		}
	}
	return nil
}

// CheckDistinct reports an embedder that answers the same vector for different texts, which finds
// nothing by meaning. It needs eight vectors, because a few texts may differ in nothing that a
// model sees.
func CheckDistinct(vectors [][]float32) error {
	const fewest = 8
	n, first := 0, []float32(nil)
	for _, v := range vectors {
		switch {
		case v == nil:
			continue
		case first == nil:
			first = v
		case !slices.Equal(v, first):
			return nil
		}
		n++
	}
	if n < fewest {
		return nil
	}
	return broken(fmt.Sprintf("it is the same for %d different texts", n))
}

func broken(detail string) error {
	return &ken.Error{
		Code: ken.CodeUnavailable,
		Msg:  "the embedder answered an unusable vector: " + detail,
		Try:  "Try the model by hand with a short text; ken doctor shows what it answers.",
	}
}

// norm adds in float64: the squares of some models' raw vectors overflow float32.
func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// ErrOff is the error of the embedder None: nothing failed, there is no vector
// search.
var ErrOff error = &ken.Error{
	Code: ken.CodeUnavailable,
	Msg:  "embeddings are off",
	Try:  "Set knowledge.embed_provider to static or openai to search by meaning as well.",
}

// None returns the embedder that embeds nothing and answers ErrOff.
func None() Embedder { return none{} }

type none struct{}

func (none) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, ErrOff
}

func (none) Model() string { return "none" }
func (none) Dim() int      { return 0 }
func (none) Local() bool   { return true }

// Hash identifies a text by its content: the first 16 bytes of its SHA-256.
func Hash(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// Throttled is the cause of an unavailable error whose endpoint said how long to
// wait before the next call.
type Throttled struct {
	After time.Duration
	Err   error // what the endpoint said; may be nil
}

// Error names the wait and the cause.
func (t *Throttled) Error() string {
	s := fmt.Sprintf("asked to wait %v", t.After)
	if t.Err != nil {
		s += ": " + t.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (t *Throttled) Unwrap() error { return t.Err }
