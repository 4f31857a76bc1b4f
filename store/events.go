package store

import (
	"context"
	"iter"
)

// AllEvents yields a log that is read in pages, as Log.Events does. page returns what
// follows from a sequence number on, and nothing at the log's end.
func AllEvents(ctx context.Context, from uint64, page func(ctx context.Context, from uint64) ([]*Event, error)) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for next := from; ; {
			events, err := page(ctx, next)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(events) == 0 {
				return
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			next = events[len(events)-1].Seq + 1
		}
	}
}
