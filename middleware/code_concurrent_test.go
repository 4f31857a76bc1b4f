package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// Turns, edits that are followed, and the end of the layer come at once. Whatever a turn
// is told stood in a file at some time, and a turn after the end has none of it stale.
func TestTurnsAndEditsAtOnce(t *testing.T) {
	root := shop(t)
	c := settings()
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: c, Watch: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReadCode(t.Context()); err != nil {
		t.Fatal(err)
	}
	rounds := race.Pick(30, 8)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range rounds {
				turn := asked(fmt.Sprintf("What do FillShelf, Turn%d and depot.Shelf do?", i))
				turn.Session = fmt.Sprint("s", w)
				r := l.Assemble(context.Background(), turn).Receipt
				for id, card := range cardsIn(&r) {
					if card.Text == "" || card.Source == "" {
						t.Errorf("%s: %+v", id, card)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range rounds {
			put(t, root, map[string]string{"cart/turn.go": fmt.Sprintf("package cart\n\n// Turn%d is one of many.\nfunc Turn%d() { FillShelf(nil) }\n", i, i)})
		}
	})
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if r := l.Assemble(context.Background(), asked("What does `FillShelf` do?")).Receipt; len(r.Items) > 0 && len(cardsIn(&r)) == 0 {
		t.Errorf("after the end:\n%s", r.Block)
	}
}
