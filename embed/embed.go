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
	// Embed returns one vector per text, in the order of the texts, all of unit length
	// and of one dimension. A text without content to embed (empty, blank, no token
	// that the model knows) gets a nil vector: callers neither store nor compare it.
	// For no texts it returns no vectors and no error.
	//
	// With an error it returns no vectors. Errors are *ken.Error of code unavailable
	// (try later) or invalid (change the configuration), or the context's own when the
	// caller cancelled.
	//
	// Embed doesn't change the texts, and callers must not change the vectors.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model returns the name of the vector space, qualified by its provider. Vectors
	// are compared only when their names are equal. It is constant.
	Model() string
	// Dim returns the number of dimensions, 0 while it isn't known.
	Dim() int
}

// IsLocal reports whether e works in this process, without a network. An embedder
// declares this with a method Local() bool.
func IsLocal(e Embedder) bool {
	l, ok := e.(interface{ Local() bool })
	return ok && l.Local()
}

// IsInline reports whether e is fast enough to call while a caller waits, that is,
// microseconds per text: it is local, and has no method Background() bool that returns
// true. A layer calls any other embedder in a turn only behind a circuit breaker and until the turn's
// deadline, and in the background otherwise.
func IsInline(e Embedder) bool {
	b, ok := e.(interface{ Background() bool })
	return IsLocal(e) && !(ok && b.Background())
}

// Queries returns the embedder for questions, in the same vector space. Some models put
// different prefixes before questions and before other texts; such an embedder has a
// method Queries() Embedder. For any other, Queries returns e.
func Queries(e Embedder) Embedder {
	if q, ok := e.(interface{ Queries() Embedder }); ok {
		return q.Queries()
	}
	return e
}

// parallelFrom is the number of texts from which several cores share the work; below
// it, starting goroutines takes longer than it saves.
const parallelFrom = 16

// Batch implements Embed for an embedder that works in this process: it calls one for
// each text, from several goroutines when there are many texts. It returns ctx's error,
// and no vectors, when ctx ends first. A text on which one panics has no vector, and
// the panic is logged to slog.Default.
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

// unitTolerance is the allowed difference of a vector's length from 1: several times
// the float32 rounding error over some thousand dimensions.
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

// Check returns an error for an invalid result of an embedder for n texts: a wrong
// count, a dimension other than dim (0: other than the first vector's), numbers that
// are NaN or infinite, a length other than 1. Nil vectors are valid: see [Embedder].
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

// CheckDistinct returns an error for an embedder that returns the same vector for
// different texts, which makes vector search useless. It needs eight vectors, because
// for a model, a few different texts may be the same.
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

// norm sums in float64: the squares of some models' raw vectors overflow float32.
func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// ErrOff is the error of the embedder None: there is no vector search.
var ErrOff error = &ken.Error{
	Code: ken.CodeUnavailable,
	Msg:  "embeddings are off",
	Try:  "Set knowledge.embed_provider to static or openai to search by meaning as well.",
}

// None returns an embedder that always returns ErrOff.
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

// Throttled is the cause of an unavailable error if the endpoint said how long to wait
// before the next call.
type Throttled struct {
	After time.Duration
	Err   error // error message of the endpoint; may be nil
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
