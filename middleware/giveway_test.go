package middleware_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// Turns without a pause slow the background down and do not stop it: its sessions are
// harvested all the same.
func TestHarvestsGoOnBesideTurns(t *testing.T) {
	dir := t.TempDir()
	begin := func(foreground, harvests bool) *middleware.Layer {
		return open(t, settings(func(c *config.Config) { c.Middleware.Harvest = harvests }), func(o *middleware.Options) { o.Root, o.Foreground = dir, foreground })
	}
	fill := begin(true, false)
	for i := range 3 {
		id := fmt.Sprint("ended-", i)
		_, err := fill.Journal("").Append(t.Context(), session.About{ID: id}, []ken.Message{{Role: "user", Text: fmt.Sprintf("We decided to move the ledger service to port %d.", 2000+i)}})
		if err == nil {
			_, err = fill.Journal("").End(t.Context(), id, session.Closed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	l := begin(false, true)
	turns := 0
	for {
		for range 20 {
			turns++
			l.Assemble(t.Context(), asked("Which port does the ledger service listen on?"))
		}
		done, err := l.Jobs("").List(t.Context(), jobs.Done)
		if err != nil {
			t.Fatal(err)
		}
		if len(done) == 3 {
			break
		}
	}
	t.Logf("%d turns meanwhile", turns)
}
