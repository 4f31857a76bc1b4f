package guard

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
)

const (
	maxAttempts = 5           // for one batch
	firstWait   = time.Second // before the second attempt, doubled for each further one
	maxWait     = time.Minute // limits every wait, including the endpoint's
)

// Retry returns an embedder for background work: when e is unavailable, it waits and
// tries again, a few times or until ctx ends. A longer wait that the endpoint requests
// is used instead. batch is the number of texts in an attempt, so that a failure repeats
// little; <= 0 means 64. Never use it in a turn.
func Retry(e embed.Embedder, batch int) embed.Embedder {
	return &retrying{wrapped{e}, cmp.Or(max(batch, 0), 64)}
}

type retrying struct {
	wrapped
	batch int
}

// Embed implements Embedder.
func (r *retrying) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), r.batch)
		some, err := r.embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, some...)
		texts = texts[n:]
	}
	return vectors, nil
}

func (r *retrying) embed(ctx context.Context, texts []string) ([][]float32, error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		vectors, err := r.Embedder.Embed(ctx, texts)
		if err == nil || attempt == maxAttempts || ctx.Err() != nil || !worthRetrying(err) {
			return vectors, err
		}
		pause := wait
		if t, ok := errors.AsType[*embed.Throttled](err); ok {
			pause = max(pause, t.After)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(min(pause, maxWait)):
		}
		wait *= 2
	}
}

func worthRetrying(err error) bool {
	return errors.Is(err, ken.ErrUnavailable) && !errors.Is(err, embed.ErrOff)
}
