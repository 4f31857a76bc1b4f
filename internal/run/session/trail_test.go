package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

// A logger that does not work must not keep anybody from learning, and what it did
// not write goes elsewhere.
func TestALoggerNeverBlocksAWrite(t *testing.T) {
	for name, c := range map[string]struct {
		logger func(ctx context.Context) error
		says   string
	}{
		"it fails":               {func(context.Context) error { return errors.New("disk full") }, "disk full"},
		"it panics":              {func(context.Context) error { panic("nil map") }, "nil map"},
		"it is slow":             {func(ctx context.Context) error { <-time.After(time.Minute); return nil }, "no answer"},
		"it heeds its context":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "deadline exceeded"},
		"it is slow, not late":   {func(context.Context) error { <-time.After(900 * time.Millisecond); return nil }, ""},
		"it is slow, and panics": {func(context.Context) error { <-time.After(time.Minute); panic("late") }, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				s := session.New(session.HandleOptions{About: about, Store: memory.New(memory.Options{}),
					Log:    slog.New(slog.NewTextHandler(&out, nil)),
					Logger: func(ctx context.Context, _ session.Action) error { return c.logger(ctx) }})
				start := time.Now()
				id, err := s.Learn(t.Context(), "payments uses sagas", sagas())
				if err != nil || id == "" {
					t.Errorf("learn: %q, %v", id, err)
				}
				if waited := time.Since(start); waited > time.Second {
					t.Errorf("it waited %v", waited)
				}
				if got, err := s.Recall(t.Context(), "sagas", session.RecallOptions{}); len(got) != 1 || err != nil {
					t.Errorf("recalled %v, %v", got, err)
				}
				if said := out.String(); c.says == "" && said != "" || !strings.Contains(said, c.says) || c.says != "" && !strings.Contains(said, id) {
					t.Errorf("the log says %q, want %q and the claim", said, c.says)
				}
				<-time.After(time.Hour) // it comes back when nobody waits
			})
		})
	}
}

// While a logger hangs, actions wait for it once. When it is back, it is told again.
func TestAHangingLoggerIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		var told atomic.Int32
		var out bytes.Buffer
		s := session.New(session.HandleOptions{Store: memory.New(memory.Options{}), Log: slog.New(slog.NewTextHandler(&out, nil)),
			Logger: func(context.Context, session.Action) error {
				if told.Add(1) == 1 {
					<-back
				}
				return nil
			}})
		start := time.Now()
		for range 20 {
			if _, err := s.Learn(t.Context(), "payments uses sagas", sagas()); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("20 actions waited %v", waited)
		}
		if n := strings.Count(out.String(), "claim_id="); n != 20 {
			t.Errorf("%d of 20 entries went to the log", n)
		}
		close(back)
		synctest.Wait()
		if err := s.Dispute(t.Context(), "x", "y"); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("dispute: %v", err)
		}
		if told.Load() != 2 {
			t.Errorf("it was told %d times, want 2", told.Load())
		}
	})
}

func TestATellerOfRejectionsThatPanics(t *testing.T) {
	var out bytes.Buffer
	s := session.New(session.HandleOptions{Log: slog.New(slog.NewTextHandler(&out, nil)),
		Rejected: func(context.Context, session.Action, string, error) { panic("boom") }})
	if _, err := s.Learn(t.Context(), "x", nil); !isInvalid(err) {
		t.Errorf("learn: %v", err)
	}
	if !strings.Contains(out.String(), "boom") {
		t.Errorf("the log says %q", out.String())
	}
}

// Entries of many goroutines come one at a time.
func TestLoggerCallsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, told atomic.Int32
		s := session.New(session.HandleOptions{LogWait: time.Hour, Logger: func(context.Context, session.Action) error {
			if inside.Add(1) != 1 {
				t.Error("two calls at once")
			}
			<-time.After(time.Millisecond)
			inside.Add(-1)
			told.Add(1)
			return nil
		}})
		for i := range 50 {
			go func() {
				h := s
				if i%2 == 0 {
					h = s.Branch("b", session.BranchOptions{})
				}
				if _, err := h.Learn(t.Context(), "x", sagas()); err != nil {
					t.Error(err)
				}
			}()
		}
		<-time.After(time.Minute)
		if told.Load() != 50 {
			t.Errorf("told %d times", told.Load())
		}
	})
}
