package embedtest

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/embed"
)

// Bag is a simple embedder for tests: a vector counts a text's words, each hashed to
// one of 64 dimensions, so texts that share words are near each other. It works in
// process and is deterministic.
type Bag struct{}

const bagDim = 64

// Embed implements embed.Embedder.
func (Bag) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		vectors[i] = bag(t)
	}
	return vectors, nil
}

func bag(text string) []float32 {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return nil
	}
	v := make([]float32, bagDim)
	for _, w := range words {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[h.Sum32()%bagDim]++
	}
	if err := embed.Unit(v); err != nil {
		panic(err) // counts are finite and one is positive
	}
	return v
}

// Model implements embed.Embedder.
func (Bag) Model() string { return "test:bag" }

// Dim implements embed.Embedder.
func (Bag) Dim() int { return bagDim }

// Local reports true.
func (Bag) Local() bool { return true }
