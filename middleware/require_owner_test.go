package middleware_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

// A program with many users never serves a turn without an owner as that of the configured owner.
func TestRequireOwner(t *testing.T) {
	l := open(t, settings(), func(o *middleware.Options) { o.RequireOwner = true })
	ana := ken.WithTurn(t.Context(), ken.Turn{Owner: "ana"})
	nobody := ken.WithTurn(t.Context(), ken.Turn{Session: "s1"})
	if _, err := l.Session(ken.Turn{Owner: l.Config().Knowledge.Owner, Session: "s0"}).Learn(ana, "The ledger is in Oslo.", []ken.Evidence{ken.FromUserStatement("s0", "m1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Remember(nobody, "The ledger is in Rome."); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("Remember: %v", err)
	}
	if found, err := l.Recall(nobody, "Where is the ledger?"); !errors.Is(err, ken.ErrInvalid) || len(found.Claims) > 0 {
		t.Errorf("Recall: %v, %v", found.Claims, err)
	}
	s := l.Session(ken.Turn{Session: "s1"})
	if id, err := s.Learn(nobody, "The ledger is in Rome.", []ken.Evidence{ken.FromUserStatement("s1", "m1")}); id != "" || err != nil {
		t.Errorf("Learn: %q, %v", id, err)
	}
	turn := asked("Where is the ledger?")
	turn.Owner, turn.Session = "", "s1"
	a := l.Assemble(t.Context(), turn)
	l.Answered(turn, ken.Message{Role: "assistant", Text: "The ledger is in Rome."})
	if len(a.Insertions) > 0 || a.Receipt.Block != "" || a.Receipt.Cause == "" {
		t.Errorf("block %q, cause %q", a.Receipt.Block, a.Receipt.Cause)
	}
	if err := l.End(t.Context(), "", "no such session"); err != nil { // waits for the journal
		t.Fatal(err)
	}
	if tr, err := l.Operator().Journal("").Read(t.Context(), "s1"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("the journal has %+v, %v", tr.Entries, err)
	}
	converse(t, l, serve(t, "Rome."), ken.Turn{}).ask("Where is the ledger?", false)
	if err := l.End(t.Context(), "", "no such session"); err != nil { // waits for the journal
		t.Fatal(err)
	}
	if list, err := l.Operator().Journal("").List(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("a transport without an owner left %+v, %v", list, err)
	}
	if _, err := l.Remember(ana, "The ledger is in Bergen."); err != nil {
		t.Error(err)
	}
	turn.Owner = "ana"
	if got := l.Assemble(t.Context(), turn).Receipt.Block; got == "" {
		t.Error("a turn with an owner has no block")
	}
}

// What a person states is logged as the person's, in the owner's own file of events.
func TestEventsOfOwners(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Middleware.Events = true }))
	for _, owner := range []string{"", "ana"} {
		if _, err := l.Remember(ken.WithTurn(t.Context(), ken.Turn{Owner: owner, Session: "standup"}), "We like tea."); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(l.Operator().EventsDir(owner), "standup.jsonl"))
		who := cmp.Or(owner, l.Config().Knowledge.Owner)
		if err != nil || strings.Count(string(b), "\n") != 1 || !strings.Contains(string(b), `"actor_type":"user"`) || !strings.Contains(string(b), `"actor_id":"`+who+`"`) {
			t.Errorf("%q: %s %v", owner, b, err)
		}
	}
}
