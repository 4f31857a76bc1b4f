package middleware

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure"
)

func openBare(t *testing.T) *Layer {
	t.Helper()
	c := config.Default()
	c.Repository.Index, c.Middleware.Events, c.Knowledge.Embeddings = false, false, false
	l, err := Open(context.Background(), Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	AwaitTurns(l)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// A rule may fall between the moment in which it was found and the one in which it is
// written down. Then the turn goes without it, and says why.
func TestAConstraintThatFallsWhileTheTurnIsMade(t *testing.T) {
	l := openBare(t)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var ids []string
	for _, text := range []string{"Never deploy payments on Fridays.", "Payments are frozen.", "Payments stay on PostgreSQL 15.", "Payments may not log names."} {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err != nil {
			t.Fatal(err)
		}
		c.Entities, c.Constraint, c.AssignedBy = []string{"payments"}, true, ken.AssignedByOperator
		id, err := s.WriteClaim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	l.findCheckpoint = func(ctx context.Context, _ *ken.Turn) (string, time.Time, bool) { // it runs after the legs and before the block
		if err := s.Transition(ctx, ken.Transition{ID: ids[0], To: ken.StatusDisputed, Reason: "no"}); err != nil {
			t.Error(err)
		}
		if _, err := s.Forget(ctx, ids[1], "asked for", ken.Actor{}); err != nil {
			t.Error(err)
		}
		stricter, _ := ken.NewClaim("Payments may log nothing.", ken.FromUserStatement("s", "m2"))
		stricter.Entities, stricter.Constraint, stricter.AssignedBy = []string{"payments"}, true, ken.AssignedByOperator
		id, err := s.WriteClaim(ctx, stricter)
		if err == nil {
			err = s.Supersede(ctx, ids[3], id)
		}
		if ids = append(ids, id); err != nil {
			t.Error(err)
		}
		return "", time.Time{}, false
	}
	r := l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: "deploy payments"}}}).Receipt
	if len(r.Items) != 1 || r.Items[0].ID != ids[2] || r.OverflowedConstraints != 0 {
		t.Errorf("%d overflowed\n%s", r.OverflowedConstraints, r.Block)
	}
	for _, id := range []string{ids[0], ids[1], ids[3]} {
		if !slices.ContainsFunc(r.Cut, func(c ken.Cut) bool { return c.ID == id && c.Reason == ken.CutStatus }) {
			t.Errorf("%s: cut %v", id, r.Cut)
		}
	}
	l.findCheckpoint = nil
	r = l.Assemble(t.Context(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: "deploy payments"}}}).Receipt
	if len(r.Items) != 2 || !slices.ContainsFunc(r.Items, func(it ken.Item) bool { return it.ID == ids[4] }) {
		t.Errorf("the turn after it:\n%s", r.Block)
	}
}

// A process that has not seen the session asks what was kept of it, once; from then on
// it knows better.
func TestWhatIsKeptOfASessionIsCarried(t *testing.T) {
	l := openBare(t)
	st := &State{Turn: ken.Turn{Owner: "o", Session: "s"}, Receipt: &ken.Receipt{}}
	asked := 0
	l.findStoredFocus = func(context.Context, *ken.Turn) ([]string, error) { asked++; return []string{"payments"}, nil }
	if got := l.carriedFocus(t.Context(), st); !slices.Equal(got, []string{"payments"}) {
		t.Errorf("%v", got)
	}
	l.saveFocus(&st.Turn, []structure.Focus{{Name: "payments", From: structure.FromSession}, {Name: "shop", From: structure.FromProject}, {Name: "ledger", From: structure.FromText}})
	if got := l.carriedFocus(t.Context(), st); !slices.Equal(got, []string{"ledger", "payments"}) || asked != 1 {
		t.Errorf("%v, asked %d times", got, asked)
	}
	// If a store does not answer for a moment, the session loses nothing permanently.
	st.Turn.Session = "other"
	for i, broken := range []func(context.Context, *ken.Turn) ([]string, error){
		func(context.Context, *ken.Turn) ([]string, error) { panic("broken") },
		func(context.Context, *ken.Turn) ([]string, error) { return nil, ken.ErrUnavailable },
	} {
		l.findStoredFocus = broken
		if got := l.carriedFocus(t.Context(), st); got != nil || len(st.Receipt.Degraded) != i+1 {
			t.Errorf("%v, degraded %v", got, st.Receipt.Degraded)
		}
	}
	l.findStoredFocus = func(context.Context, *ken.Turn) ([]string, error) { return []string{"ledger"}, nil }
	if got := l.carriedFocus(t.Context(), st); !slices.Equal(got, []string{"ledger"}) {
		t.Errorf("%v when it answers again", got)
	}
}
