package embed

import (
	"context"

	"github.com/kenlayer/ken"
)

// ErrOff is what the embedder None answers: nothing failed, there is no vector
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
