package middleware

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
)

// Work that ended in time leaves nothing on the count of what is overdue, and work that did
// not is on it until it ends.
func TestBoundedCountsWhatIsOverdue(t *testing.T) {
	l := &Layer{}
	for range 1000 {
		if n, ok := bounded(t.Context(), l, time.Minute, func(context.Context) int { return 7 }); n != 7 || !ok {
			t.Fatalf("%d, %v", n, ok)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		for range 3 {
			if _, ok := bounded(t.Context(), l, time.Second, func(context.Context) int { <-stuck; return 7 }); ok {
				t.Error("what is stuck ended in time")
			}
		}
		synctest.Wait()
		if n := l.overdue.Load(); n != 3 {
			t.Errorf("%d overdue, 3 are stuck", n)
		}
		close(stuck)
		synctest.Wait()
		if n := l.overdue.Load(); n != 0 {
			t.Errorf("%d overdue, none is left", n)
		}
	})
}

// Ten thousand conversations are more than memory holds. Those that it dropped have their
// blocks from the store.
func TestBlocksThatMemoryDroppedComeFromTheStore(t *testing.T) {
	l := openBare(t)
	l.blocks = newBlockCache(2)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := ken.NewClaim("Ferry tickets cost nine crowns for residents.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ask := ken.Message{Role: "user", Text: "How much do ferry tickets cost for residents?"}
	turn := func(session string, msgs ...ken.Message) Assembly {
		a := l.Assemble(t.Context(), ken.Turn{Session: session, Messages: msgs})
		if err := l.Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	sessions := []string{"a", "b", "c", "d", "e"}
	first := map[string]string{}
	for _, id := range sessions {
		first[id] = turn(id, ask).Receipt.Block
	}
	for _, id := range sessions {
		a := turn(id, ask, ken.Message{Role: "assistant", Text: "Nine crowns."}, ken.Message{Role: "user", Text: "And in summer?"})
		if len(a.Insertions) == 0 || a.Insertions[0].Before != 0 || a.Insertions[0].Text != first[id] || first[id] == "" {
			t.Errorf("session %s: %+v, first %q", id, a.Insertions, first[id])
		}
	}
	if n := len(l.blocks.at); n != 2 {
		t.Errorf("%d blocks in memory", n)
	}
}
