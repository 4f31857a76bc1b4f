package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// A claim that team forgets on one node is deleted from the records of a reader, even if that
// node has never opened the reader's store.
func TestForgettingReachesReadersOfOtherNodes(t *testing.T) {
	url := logtest.StartNATS(t, 1).URL()
	engine := func(c *config.Config) { c.Store.URL = url }
	one, other := open(t, settings(sharing, engine)), open(t, settings(sharing, engine))
	s, release, err := one.Store(t.Context(), "team")
	must(t, err)
	id, err := s.WriteClaim(t.Context(), humanClaim(t, retryFact))
	must(t, err)
	release()
	turn := asked(question)
	turn.Owner, turn.Session, turn.ID = "ana", "s", "first"
	if a := other.Assemble(t.Context(), turn); len(a.Insertions) != 1 {
		t.Fatalf("insertions %+v, degraded %q", a.Insertions, a.Receipt.Degraded)
	}
	records := func() string {
		kept, err := other.Operator().Turn(t.Context(), "ana", "first")
		must(t, err)
		tr, err := other.Operator().Transcript(t.Context(), "ana", "s")
		must(t, err)
		return written(t, kept) + written(t, tr.Injected)
	}
	if !strings.Contains(records(), "three times") {
		t.Fatal("the test looks for something that is not there")
	}
	if _, err := one.Forget(t.Context(), "team", id, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	if text := records(); strings.Contains(text, "three times") {
		t.Errorf("ana's records still tell it: %s", text)
	}
}
