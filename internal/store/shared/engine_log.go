package shared

import (
	"context"
	"iter"

	"github.com/kenlayer/ken/store"
)

// Events implements store.Log. Each page is read from whoever holds the store then.
func (e *engine) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return func(yield func(*store.Event, error) bool) {
		for done := false; !done; {
			stopped := false
			err := e.read(ctx, func(s store.Engine) error {
				for ev, err := range s.Events(ctx, from) {
					if err != nil {
						return err
					}
					from = ev.Seq + 1
					if stopped = !yield(ev, nil); stopped {
						return nil
					}
				}
				done = true
				return nil
			})
			if err != nil {
				yield(nil, err)
			}
			if err != nil || stopped {
				return
			}
		}
	}
}

// Seq implements store.Log.
func (e *engine) Seq() (seq uint64) {
	e.now(func(s store.Engine) { seq = s.Seq() })
	return seq
}

// Wait implements store.Log.
func (e *engine) Wait(ctx context.Context, seq uint64) error {
	return e.read(ctx, func(s store.Engine) error { return s.Wait(ctx, seq) })
}

// Check implements store.Engine.
func (e *engine) Check(ctx context.Context) (r store.CheckReport, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { r, err = s.Check(ctx); return err })
	return r, err
}

// Faults implements store.Engine.
func (e *engine) Faults(ctx context.Context) (f []store.Fault, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { f, err = s.Faults(ctx); return err })
	return f, err
}

// VerifyLog implements store.Log.
func (e *engine) VerifyLog(ctx context.Context) (r store.LogReport, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { r, err = s.VerifyLog(ctx); return err })
	return r, err
}
