package remote

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// eventPage is how many events are read at once.
const eventPage = 512

// Events implements store.Log.
func (c *Client) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return store.AllEvents(ctx, from, func(ctx context.Context, from uint64) ([]*store.Event, error) {
		return ask[eventsRequest, []*store.Event](ctx, c, kEvents, &eventsRequest{From: from, N: eventPage})
	})
}

// Wait implements store.Log.
func (c *Client) Wait(ctx context.Context, seq uint64) error {
	for {
		err := tell(ctx, c, kWait, &eventsRequest{From: seq})
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != fieldHolder {
			return err
		}
		select { // it is waited for a holder that hangs, too
		case <-time.After(beatEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// VerifyLog implements store.Log. The holder computes it.
func (c *Client) VerifyLog(ctx context.Context) (store.LogReport, error) {
	return ask[nothing, store.LogReport](ctx, c, kVerifyLog, &nothing{})
}

// Check implements store.Engine. The holder checks.
func (c *Client) Check(ctx context.Context) (store.CheckReport, error) {
	return ask[nothing, store.CheckReport](ctx, c, kCheck, &nothing{})
}

// Faults implements store.Engine.
func (c *Client) Faults(ctx context.Context) ([]store.Fault, error) {
	return ask[nothing, []store.Fault](ctx, c, kFaults, &nothing{})
}

// EmbedMissing implements store.Engine. The holder embeds, with its own embedder.
func (c *Client) EmbedMissing(ctx context.Context) (int, error) {
	return ask[nothing, int](ctx, c, kEmbedMissing, &nothing{})
}

// Compact implements store.Engine.
func (c *Client) Compact(ctx context.Context) error { return tell(ctx, c, kCompact, &nothing{}) }

// CopyTo implements store.Copier: the holder writes the copy.
func (c *Client) CopyTo(ctx context.Context, dir string) error {
	return tell(ctx, c, kCopy, &copyRequest{dir})
}

// Rebuild implements store.Engine.
func (c *Client) Rebuild(ctx context.Context) error { return tell(ctx, c, kRebuild, &nothing{}) }
