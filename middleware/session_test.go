package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// A program learns from each message that it adds. A branch that discards keeps no claims, and the
// session's own handle keeps its branch.
func TestSession(t *testing.T) {
	l := open(t, settings())
	s := l.Session(ken.Turn{Session: "s1", Agent: "coder"})
	s.OnMessage(func(ctx context.Context, s *middleware.Session, m middleware.Said) {
		if text, ok := strings.CutPrefix(m.Message.Text, "port: "); ok {
			if _, err := s.Learn(ctx, "The ledger listens on "+text+".", []ken.Evidence{ken.FromMessage(s.Turn().Session, m.ID, m.Message.Text)}); err != nil {
				t.Error(err)
			}
		}
	})
	kept, err := s.Add(t.Context(), ken.Message{Role: "system", Text: "You are helpful."}, ken.Message{Role: "tool", Text: "port: 7443"})
	if err != nil || len(kept) != 1 || kept[0].ID != "m1" {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	b := s.Branch("trial", middleware.BranchOptions{Discard: true})
	if id, err := b.Learn(t.Context(), "The ledger listens on 9000.", []ken.Evidence{ken.FromMessage("s1", "m1", "")}); id != "" || err != nil {
		t.Errorf("a branch that discards learned %q, %v", id, err)
	}
	if found, err := b.Recall(t.Context(), "ledger port", 0); len(found) > 0 || err != nil {
		t.Errorf("a branch that discards recalls %+v, %v", found, err)
	}
	if found, err := s.Recall(t.Context(), "Which port does the ledger listen on?", 0); len(found) != 1 || err != nil {
		t.Errorf("the session recalls %+v, %v", found, err)
	}
	if s.Turn().Branch != "" || b.Turn().Branch != "trial" {
		t.Errorf("branches %q and %q", s.Turn().Branch, b.Turn().Branch)
	}
	found, err := l.Recall(t.Context(), "Which port does the ledger listen on?")
	if err != nil || len(found.Claims) != 1 || !strings.Contains(found.Claims[0].Text, "7443") || found.Claims[0].Session != "s1" || found.Claims[0].Actor.ID != "coder" {
		t.Errorf("found %+v, %v", found.Claims, err)
	}
	if err := s.Verify(t.Context(), found.Claims[0].ID, ken.FromUserStatement("s1", "m2")); err != nil {
		t.Error(err)
	}
	if err := s.Dispute(t.Context(), "0195616d-8c00-7000-8000-0000003f9a1c", "it is not there"); err == nil {
		t.Error("a claim that is not there was disputed")
	}
	if err := s.End(t.Context()); err != nil {
		t.Error(err)
	}
	if info, err := l.Operator().Journal("").Info(t.Context(), "s1"); err != nil || info.State == "open" {
		t.Errorf("%+v, %v", info, err)
	}
}
