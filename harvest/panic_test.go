package harvest_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// fragile panics when it is to write a certain text.
type fragile struct{ claims }

func (f fragile) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	if strings.Contains(c.Text, "exploder") {
		panic("what a text")
	}
	return f.claims.WriteClaim(ctx, c)
}

// A text that makes a write panic fails its own session's job, not the process; another
// session is harvested.
func TestHarvestSurvivesAText(t *testing.T) {
	r := newRig(t)
	h := over(t, r.clock, fragile{r.store})
	for id, text := range map[string]string{"bad": "We decided to use the exploder for the billing queue.", "good": "We decided to use PostgreSQL for the billing queue."} {
		h.say(t, id, ken.Message{Role: "user", Text: text}, ken.Message{Role: "assistant", Text: "Noted: " + text})
		h.clock.pass(time.Minute)
		if _, err := h.journal.End(t.Context(), id, session.Closed); err != nil {
			t.Fatal(err)
		}
	}
	q := jobs.NewQueue(r.store.Shelf(), jobs.Options{Process: "p1", Alive: nobody, Now: r.clock.now, Log: slog.New(slog.DiscardHandler)})
	rep, err := q.Drain(t.Context(), h.handlers())
	if err != nil || rep.Done != 1 || rep.Retried != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, j := range rep.Jobs {
		if j.State == jobs.Queued && !strings.Contains(j.Error, "what a text") {
			t.Errorf("%+v", j)
		}
	}
}
