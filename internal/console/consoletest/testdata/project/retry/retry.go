// Package retry repeats calls to the bank that may succeed later.
package retry

import (
	"context"
	"time"
)

// Attempts is how often a call is made.
const Attempts = 3

// Do calls f until it succeeds, at most Attempts times, with a pause in between.
func Do(ctx context.Context, f func() error) error {
	var err error
	for n := range Attempts {
		if err = f(); err == nil {
			return nil
		}
		select {
		case <-time.After(Backoff(n)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}
