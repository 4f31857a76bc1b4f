package tools

import "context"

// Progress is told how far a call is: done of total, 0 for unknown.
type Progress func(stage string, done, total int)

type progressKey struct{}

// WithProgress returns a context whose calls report to p, on their own goroutine.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

func progress(ctx context.Context, stage string, done, total int) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p(stage, done, total)
	}
}
