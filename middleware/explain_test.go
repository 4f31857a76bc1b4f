package middleware_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
)

func askTurn(l *middleware.Layer, id, session, question string) {
	l.Assemble(context.Background(), ken.Turn{ID: id, Session: session, Messages: []ken.Message{{Role: "user", Text: question}}})
}

func plainFact(text string, change ...func(*ken.Claim)) ken.Claim {
	c := ken.Claim{Text: text, Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Evidence: []ken.Evidence{ken.FromFile("a.go", "", "")}}
	for _, f := range change {
		f(&c)
	}
	return c
}

// Every answer that a turn can have given is told from its receipt and from history.
func TestExplain(t *testing.T) {
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	var seconds atomic.Int64
	l := open(t, settings(), func(o *middleware.Options) {
		o.Now = func() time.Time { return at.Add(time.Duration(seconds.Add(1)) * time.Second) }
	})
	ids := learn(t, l,
		plainFact("Payments are retried three times with backoff."),
		plainFact("Deploys are frozen until Friday.", func(c *ken.Claim) { c.Kind = ken.KindHot }),
		plainFact("The zeppelin is moored in the north."),
		plainFact("Payments may be retried ten times.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }),
		plainFact("Xylophones are tuned at dawn.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }),
		plainFact("Obelisks stand in row four.", func(c *ken.Claim) { c.ExpiresAt = at.Add(-time.Hour) }),
		plainFact("Marmots whistle at noon."))
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.Forget(t.Context(), ids[6], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	askTurn(l, "turn-2", "s1", "thanks!")
	later := learn(t, l, plainFact("Payments are retried on Sundays."))[0]
	// What happens afterwards does not change what is said of the turn.
	if err := s.Transition(t.Context(), ken.Transition{ID: ids[4], To: ken.StatusObserved}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, turn, claim string
		verdict           middleware.Verdict
		reason            ken.CutReason
		status            ken.Status
		says              string
	}{
		{"injected", "turn-1", ids[0], middleware.VerdictInjected, "", ken.StatusObserved, "found by keyword at rank 1"},
		{"memory", "turn-1", ids[1], middleware.VerdictInjected, "", ken.StatusObserved, "as memory"},
		{"cut", "turn-1", ids[3], middleware.VerdictCut, ken.CutStatus, ken.StatusHypothesis, "hypothesis"},
		{"not to be recalled then, found by nothing", "turn-1", ids[4], middleware.VerdictCut, ken.CutStatus, ken.StatusHypothesis, "It was"},
		{"expired then", "turn-1", ids[5], middleware.VerdictCut, ken.CutExpired, ken.StatusObserved, "time was over"},
		{"forgotten before", "turn-1", ids[6], middleware.VerdictUnknown, "", "", "forgotten before"},
		{"written later", "turn-1", later, middleware.VerdictUnknown, "", "", "not known yet"},
		{"nothing was asked", "turn-2", ids[2], middleware.VerdictSilent, "", ken.StatusObserved, "asks for nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := l.Explain(t.Context(), "", tt.turn, tt.claim)
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict != tt.verdict || e.Reason != tt.reason || !strings.Contains(e.Why, tt.says) || e.Claim != tt.claim || e.Turn != tt.turn {
				t.Errorf("got %+v", e)
			}
			if tt.status != "" && e.Status != tt.status {
				t.Errorf("status %q, want %q", e.Status, tt.status)
			}
			if (e.Item != nil) != (tt.verdict == middleware.VerdictInjected) {
				t.Errorf("item %+v", e.Item)
			}
		})
	}
	far, err := l.Explain(t.Context(), "", "turn-1", ids[2])
	if err != nil || far.Verdict != middleware.VerdictUnseen && far.Reason != ken.CutFloor || far.Why == "" {
		t.Errorf("a claim that has nothing to do with it: %+v, %v", far, err)
	}
	for _, claim := range []string{"0198c0de-0000-7000-8000-00000000dead", "", "x"} {
		if _, err := l.Explain(t.Context(), "", "turn-1", claim); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("%q: %v", claim, err)
		}
	}
	if _, err := l.Explain(t.Context(), "", "turn-9", ids[0]); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("a turn that was not: %v", err)
	}
	if _, err := l.Explain(t.Context(), "bert", "turn-1", ids[0]); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("another owner: %v", err)
	}
}

// A claim that no leg returned is told from one that was cut, with what was asked.
func TestExplainWhatNoLegFound(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }))
	ids := learn(t, l, plainFact("The zeppelin is moored in the north."), plainFact("Payments are retried."))
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	e, err := l.Explain(t.Context(), "", "turn-1", ids[0])
	if err != nil || e.Verdict != middleware.VerdictUnseen || !strings.Contains(e.Why, "payments") || !strings.Contains(e.Why, "keyword") || e.Try == "" {
		t.Errorf("got %+v, %v", e, err)
	}
}

// A receipt keeps no text: a turn that is read shows the claim as it is now, and says so.
func TestTurnShowsClaimsAsTheyAre(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, plainFact("Payments are retried three times.", func(c *ken.Claim) { c.Key = "retries" }),
		plainFact("Deploys are frozen.", func(c *ken.Claim) { c.Kind = ken.KindHot }))
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	states := func() map[string]middleware.KeptItem {
		v, err := l.Turn(t.Context(), "", "turn-1")
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]middleware.KeptItem{}
		for _, it := range v.Items {
			out[it.ID] = it
		}
		return out
	}
	if got := states(); len(got) != 2 || got[ids[0]].State != middleware.ItemSame || got[ids[0]].Key != "retries" || !strings.Contains(got[ids[0]].Text, "three") {
		t.Fatalf("got %+v", got)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.WriteClaim(t.Context(), plainFact("Payments are retried five times.", func(c *ken.Claim) { c.Key = "retries" })); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), "", ids[1], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	got := states()
	if got[ids[0]].State != middleware.ItemChanged || !strings.Contains(got[ids[0]].Text, "five") {
		t.Errorf("a claim that was revised: %+v", got[ids[0]])
	}
	if it := got[ids[1]]; it.State != middleware.ItemForgotten || it.Text != "" {
		t.Errorf("a claim that was forgotten: %+v", it)
	}
	if e, err := l.Explain(t.Context(), "", "turn-1", ids[1]); err != nil || e.Verdict != middleware.VerdictInjected || !strings.Contains(e.Why, "forgotten since") {
		t.Errorf("asked why: %+v, %v", e, err)
	}
}
