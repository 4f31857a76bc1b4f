package session

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// trail calls what a program hung on a session's actions, one call at a time, and
// waits for none longer than it may.
type trail struct {
	wait time.Duration
	log  *slog.Logger
	turn chan struct{} // holds a token while no call runs
	hung atomic.Bool   // nobody waits any more for the call that runs
}

func newTrail(wait time.Duration, log *slog.Logger) *trail {
	t := &trail{wait: wait, log: log, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// call runs fn within the time there is, and otherwise leaves it to itself. While
// one that was left so still runs, the next ones are not tried: an action waits for
// a hanging logger once.
func (t *trail) call(ctx context.Context, what string, a Action, fn func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	if !t.take(ctx) {
		cancel()
		t.warn(what, a, fmt.Errorf("an earlier call has not returned"))
		return
	}
	done := make(chan error, 1)
	go func() {
		defer cancel()
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			done <- err
			t.hung.Store(false)
			t.turn <- struct{}{}
		}()
		err = fn(ctx)
	}()
	select {
	case err := <-done:
		t.warn(what, a, err)
	case <-ctx.Done():
		select {
		case err := <-done: // both at once
			t.warn(what, a, err)
		default:
			t.hung.Store(true)
			t.warn(what, a, fmt.Errorf("no answer: %w", ctx.Err()))
		}
	}
}

// take waits for the call that runs, unless nobody waits for that one any more.
func (t *trail) take(ctx context.Context) bool {
	if t.hung.Load() {
		select {
		case <-t.turn:
			return true
		default:
			return false
		}
	}
	select {
	case <-t.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

// warn tells of an entry that may not be in the trail, with all that it says.
func (t *trail) warn(what string, a Action, err error) {
	if err == nil {
		return
	}
	t.log.Warn(what, "cause", err, "event", a.Event, "claim_id", a.ClaimID, "claim_status", a.ClaimStatus,
		"evidence_count", a.EvidenceCount, "evidence_kinds", a.EvidenceKinds, "scope_type", a.ScopeType, "scope_id", a.ScopeID,
		"actor_type", a.ActorType, "actor_id", a.ActorID, "branch_id", a.BranchID, "session_id", a.SessionID, "timestamp", a.Timestamp)
}

// log tells the logger of an action that is about to be done.
func (s *Session) log(ctx context.Context, a Action) {
	if s.o.Logger != nil {
		s.trail.call(ctx, "log a knowledge action", a, func(ctx context.Context) error { return s.o.Logger(ctx, a) })
	}
}

// reject tells of a claim that was refused for want of evidence.
func (s *Session) reject(ctx context.Context, a Action, text string, err error) {
	if s.o.Rejected != nil {
		s.trail.call(ctx, "tell of a refused claim", a, func(ctx context.Context) error {
			s.o.Rejected(ctx, a, text, err)
			return nil
		})
	}
}
