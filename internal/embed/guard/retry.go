package guard

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
)

// RetryOptions configures Retry. The zero value is the default.
type RetryOptions struct {
	// Attempts is the maximum number of attempts for one batch; <= 0 means 5.
	Attempts int
	// Wait is the pause before the second attempt, doubled for each further one; <= 0
	// means 1 s. A longer wait that the endpoint requests is used instead.
	Wait time.Duration
	// MaxWait limits every wait, including the endpoint's; <= 0 means 1 minute.
	MaxWait time.Duration
	// Batch is the number of texts in an attempt, so that a failure repeats
	// little; <= 0 means 64.
	Batch int
}

// Retry returns an embedder for background work: when e is unavailable, it waits and
// tries again, as configured by o or until ctx ends. Never use it in a turn.
func Retry(e embed.Embedder, o RetryOptions) embed.Embedder {
	o.Attempts = cmp.Or(max(o.Attempts, 0), 5)
	o.Wait = cmp.Or(max(o.Wait, 0), time.Second)
	o.MaxWait = cmp.Or(max(o.MaxWait, 0), time.Minute)
	o.Batch = cmp.Or(max(o.Batch, 0), 64)
	return &retrying{wrapped{e}, o}
}

type retrying struct {
	wrapped
	opts RetryOptions
}

// Embed implements Embedder.
func (r *retrying) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), r.opts.Batch)
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
	wait := r.opts.Wait
	for attempt := 1; ; attempt++ {
		vectors, err := r.Embedder.Embed(ctx, texts)
		if err == nil || attempt == r.opts.Attempts || ctx.Err() != nil || !worthRetrying(err) {
			return vectors, err
		}
		pause := wait
		if t, ok := errors.AsType[*embed.Throttled](err); ok {
			pause = max(pause, t.After)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(min(pause, r.opts.MaxWait)):
		}
		wait *= 2
	}
}

func worthRetrying(err error) bool {
	return errors.Is(err, ken.ErrUnavailable) && !errors.Is(err, embed.ErrOff)
}
