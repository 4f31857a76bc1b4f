package jetstream

import (
	"context"
	"time"
)

// Sweep runs one sweep of a log.
func Sweep(ctx context.Context, l *Log, before time.Time) error { return l.sweep(ctx, before) }
