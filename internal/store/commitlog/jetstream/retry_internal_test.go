package jetstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// TestAServerThatDoesNothingIsLeft checks that retry leaves a server that answers only with errors,
// and leaves the next one if that does the same.
func TestAServerThatDoesNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 0
		l := &Log{leave: func() { left++ }}
		begun := time.Now()
		err := l.retry(t.Context(), func() error {
			if time.Since(begun) < patience-lastPause {
				return nats.ErrTimeout
			}
			return nil
		})
		if err != nil || left != 0 {
			t.Errorf("left %d times in an election, %v", left, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience+patience/2)
		defer cancel()
		if err := l.retry(ctx, func() error { return nats.ErrNoResponders }); err == nil || left != 3 {
			t.Errorf("left %d times, %v", left, err)
		}
	})
}
