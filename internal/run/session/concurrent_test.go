package session_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Requests of one session that overtake each other, in two processes at that: every
// message is there once, and in the conversation's order.
func TestConcurrentTurnsKeepEachMessageOnce(t *testing.T) {
	b := newBench(t, session.Options{Process: "one"})
	other := session.NewJournal(b.shelf, session.Options{Process: "two", Now: b.clock.now})
	var all []ken.Message
	var want []string
	for i := range 60 {
		want = append(want, fmt.Sprintf("message %d", i))
		all = append(all, user(want[i]))
	}
	var mu sync.Mutex
	returned := map[string]int{}
	var wg sync.WaitGroup
	for w := range 8 {
		j := b.Journal
		if w%4 == 0 {
			j = other
		}
		wg.Go(func() {
			for n := w + 1; n <= len(all); n += 1 + w%3 {
				entries, err := j.Append(context.Background(), session.About{ID: "s"}, all[:n])
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, e := range entries {
					returned[e.Message.Text]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.append(t, "s", all...)
	tr := b.read(t, "s")
	if diff := cmp.Diff(want, texts(tr.Entries)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for text, n := range returned {
		if n != 1 {
			t.Errorf("%q was returned as new %d times", text, n)
		}
	}
	if tr.Info.Messages != len(all) || tr.Info.Last != uint64(len(all)) {
		t.Errorf("counted %d up to %d, want %d", tr.Info.Messages, tr.Info.Last, len(all))
	}
}

// A session that goes on while it is ended, harvested, swept and forgotten: nothing
// hangs, and what is left is whole.
func TestConcurrentLives(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, session.Options{Process: "one"})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var msgs []ken.Message
			for i := range 50 {
				msgs = append(msgs, user(fmt.Sprintf("%d-%d", w, i)))
				if _, err := b.Append(ctx, session.About{ID: fmt.Sprint("s", i%3)}, msgs); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 150 {
			id := fmt.Sprint("s", i%3)
			_, _ = b.End(ctx, id, session.Idle)
			if info, err := b.Info(ctx, id); err == nil {
				_ = b.Harvested(ctx, id, info.Last, session.Outcome{})
			}
			_, _ = b.Sweep(ctx, 0)
			if i%10 == 0 {
				_ = b.Forget(ctx, id)
			}
		}
	})
	wg.Wait()
	list, err := b.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		tr := b.read(t, info.ID)
		if len(tr.Entries) != tr.Info.Messages {
			t.Errorf("%s: %d entries, %d counted", info.ID, len(tr.Entries), tr.Info.Messages)
		}
		seen := map[string]bool{}
		for _, text := range texts(tr.Entries) {
			if seen[text] {
				t.Errorf("%s has %q twice", info.ID, text)
			}
			seen[text] = true
		}
	}
}

// A call that waits for another of its session ends with its context.
func TestAppendWaitsNoLongerThanItsContext(t *testing.T) {
	busy, free := make(chan struct{}), make(chan struct{})
	b := newBench(t, session.Options{Annotate: func(context.Context, *session.Entry, *ken.ToolCall) {
		close(busy)
		<-free
	}})
	done := make(chan error)
	go func() {
		_, err := b.Append(context.Background(), session.About{ID: "s"}, []ken.Message{user("a")})
		done <- err
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := b.Append(ctx, session.About{ID: "s"}, []ken.Message{user("b")})
		waiting <- err
	}()
	cancel()
	if err := <-waiting; err != context.Canceled {
		t.Errorf("the waiting call: %v", err)
	}
	close(free)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := texts(b.read(t, "s").Entries); len(got) != 1 || got[0] != "a" {
		t.Errorf("kept %v", got)
	}
}
