package middleware_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

// While as many turns as may be are composed, another one goes on at once: without a
// block of its own, with those of its conversation, and the receipt says why. The next
// step of a turn that has its block is no turn to compose.
func TestTurnsBeyondTheBoundDoNotWait(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	l := open(t, settings(patient, func(c *config.Config) { c.Retrieval.AtOnce = 2 }), func(o *middleware.Options) {
		o.Use = append(o.Use, func(next middleware.Handler) middleware.Handler {
			return func(ctx context.Context, st *middleware.State) error {
				if strings.HasPrefix(st.Turn.Session, "slow") {
					entered <- struct{}{}
					<-hold
				}
				return next(ctx, st)
			}
		})
	})
	learn(t, l, fact(t, "The payments service retries three times."))
	d := spoken[0]
	opening := []string{d.user("How often does the payments service retry?")}
	if x := begin(t, l, d, d.body("", opening...), inSession("before")); x.Busy || !strings.Contains(string(x.Body), "three times") {
		t.Fatalf("busy %v: %s", x.Busy, x.Body)
	}
	var slow sync.WaitGroup
	for _, s := range []string{"slow1", "slow2"} {
		slow.Go(func() {
			if x, err := l.Begin(context.Background(), d.Dialect, []byte(d.body("", opening...)), as(s)); err != nil || x.Busy || !strings.Contains(string(x.Body), "three times") {
				t.Errorf("a turn that was let in: %+v, %v", x, err)
			}
		})
		<-entered
	}
	fresh := d.body("", opening...)
	x := begin(t, l, d, fresh, inSession("fresh"))
	if !x.Busy || string(x.Body) != fresh || len(x.Receipt.Degraded) != 1 || x.Receipt.Mode != ken.ModeNone {
		t.Errorf("a fresh turn: busy %v, %+v, %s", x.Busy, x.Receipt, x.Body)
	}
	step := begin(t, l, d, d.body("", append(opening[:1:1], d.call, d.result)...), inSession("before"))
	if step.Busy || !step.Receipt.Reused || !strings.Contains(string(step.Body), "three times") {
		t.Errorf("a step of a turn: busy %v, %s", step.Busy, step.Body)
	}
	next := begin(t, l, d, d.body("", append(append(opening[:1:1], d.said("Three times.")...), d.user("And when?"))...), inSession("before"))
	if !next.Busy || strings.Count(string(next.Body), "[Pipeline Knowledge]") != 1 {
		t.Errorf("a conversation's next turn: busy %v, %s", next.Busy, next.Body)
	}
	if got := preview(t, l, d, fresh, as("fresh")); got != fresh {
		t.Errorf("counted as %s", got)
	}
	close(hold)
	slow.Wait()
	if x := begin(t, l, d, fresh, inSession("fresh")); x.Busy || !strings.Contains(string(x.Body), "three times") {
		t.Errorf("afterwards: busy %v, %s", x.Busy, x.Body)
	}
}

func as(session string) func(*wire.Request) ken.Turn {
	return func(*wire.Request) ken.Turn { return inSession(session) }
}
