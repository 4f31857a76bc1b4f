package embed

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kenlayer/ken/internal/caught"
)

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
