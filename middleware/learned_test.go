package middleware_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// textsOf returns the texts of all claims, by id.
func textsOf(t *testing.T, l *middleware.Layer) map[string]string {
	t.Helper()
	s, release, err := l.Store(t.Context(), "")
	must(t, err)
	defer release()
	out := map[string]string{}
	for c, err := range s.Claims(t.Context()) {
		must(t, err)
		out[c.ID] = c.Text
	}
	return out
}

// Everything that one session left goes. What another session said as well stays.
func TestForgettingWhatASessionTaught(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	c := talk(t, l, "s1")
	harvested(t, l, "s1")
	other := converse(t, l, serve(t, "Right.", "Noted."), ken.Turn{Session: "s2"})
	other.ask(harmless, false)
	other.answered("Right.")
	other.ask("Remember that the badge printer stands in room 204.", false)
	other.answered("Noted.")
	harvested(t, l, "s2")
	number, shared := factOf(t, l, "2345678"), factOf(t, l, "PostgreSQL 16")
	derived := derivedFrom(t, "Somebody is on call at night.", number.ID)
	derived.Session = "s3"
	learn(t, l, derived)
	before := textsOf(t, l)
	would, err := l.Operator().WouldForgetLearned(t.Context(), "", "s1")
	must(t, err)
	if got := textsOf(t, l); len(got) != len(before) {
		t.Fatal("the preview changed something")
	}
	out, err := l.Operator().ForgetLearned(t.Context(), "", "s1", "private", ken.Actor{Type: "user", ID: "ada"})
	must(t, err)
	var ids []string
	for _, c := range would.Claims {
		ids = append(ids, c.ID)
		if (c.Why == inspect.OnlySaid) != (c.Session == "s1") {
			t.Errorf("%s: %s", c.Text, c.Why)
		}
	}
	if !slices.Equal(ids, out.Claims) || would.Messages != out.Messages || out.Messages == 0 || len(out.Looked) == 0 {
		t.Errorf("would erase %v and %d messages; erased %v and %d", ids, would.Messages, out.Claims, out.Messages)
	}
	if len(would.Kept) != 1 || would.Kept[0].ID != shared.ID || !slices.Equal(out.Kept, []string{shared.ID}) {
		t.Errorf("kept %v, announced %+v", out.Kept, would.Kept)
	}
	wantGone(t, root, "2345678", "Somebody is on call")
	for id, text := range textsOf(t, l) {
		if slices.Contains(out.Claims, id) && !slices.Contains(out.Redacted, id) {
			t.Errorf("still there: %s", text)
		}
	}
	factOf(t, l, "badge printer")
	s, release, err := l.Store(t.Context(), "")
	must(t, err)
	defer release()
	h, err := s.History(t.Context(), number.ID)
	must(t, err)
	if last := h[len(h)-1]; last.Type != ken.EventForgotten || last.Actor.ID != "ada" || last.Reason != "session s1 is forgotten: private" {
		t.Errorf("the log says %+v", last)
	}
	// The client sends the conversation again: nothing of it is learned again.
	c.answered("I carry on.")
	c.ask("And where is the badge printer?", false)
	harvested(t, l, "s1")
	wantGone(t, root, "2345678")
	// A second call returns what was erased.
	again, err := l.Operator().ForgetLearned(t.Context(), "", "s1", "", ken.Actor{})
	must(t, err)
	if !slices.Contains(again.Claims, number.ID) || !slices.Equal(again.Kept, out.Kept) {
		t.Errorf("again: %+v", again)
	}
}

// Claims know their session without its journal. A claim of the session that a person approved, and a person's claim
// that says the same, stay.
func TestForgettingWhatALongGoneSessionTaught(t *testing.T) {
	l := open(t, settings())
	of := func(text, id string, more ...ken.Evidence) ken.Claim {
		c := fact(t, "%s", text)
		c.Session, c.SourceType = id, "harvest"
		c.Evidence = append([]ken.Evidence{ken.FromMessage(id, "1", text)}, more...)
		return c
	}
	person := ken.FromHumanAssertion("ada", time.Time{}, "")
	ids := learn(t, l,
		of("The vault opens at nine.", "gone"),
		of("The vault closes at five.", "gone", person),
		of("The harbour freezes in May.", "gone", ken.FromMessage("s2", "1", "It freezes in May.")),
		humanClaim(t, "The vault opens at nine, says the guard."),
		of("The vault opens at eight.", "s2"),
		episode(t, "s2", "Goal: learn about the bank.\nThe vault opens at nine.\nThe harbour was measured.\nNobody was hurt."))
	s, release, err := l.Store(t.Context(), "")
	must(t, err)
	defer release()
	must(t, s.Supersede(t.Context(), ids[4], ids[0]))
	out, err := l.Operator().ForgetLearned(t.Context(), "", "gone", "", ken.Actor{})
	must(t, err)
	if !slices.Equal(out.Claims, []string{ids[0], ids[5]}) || len(out.Redacted) != 1 || !slices.Equal(out.Kept, ids[1:3]) || !slices.Equal(out.Replaced, ids[4:5]) {
		t.Errorf("of %v: %+v", ids, out)
	}
	if got := textsOf(t, l)[out.Redacted[0]]; strings.Contains(got, "vault") || !strings.Contains(got, "harbour") {
		t.Errorf("the episode of another session: %q", got)
	}
	if r := l.Assemble(t.Context(), asked("When does the vault open and close?")).Receipt; !strings.Contains(r.Block, "says the guard") || !strings.Contains(r.Block, "closes at five") {
		t.Errorf("what was kept is not told: %s", r.Block)
	}
	if c, err := s.Get(t.Context(), ids[4]); err != nil || c.Status != ken.StatusSuperseded {
		t.Errorf("a replaced claim: %+v, %v", c, err)
	}
	for _, id := range []string{"nobody", ""} {
		if _, err := l.Operator().ForgetLearned(t.Context(), "", id, "", ken.Actor{}); !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := l.Operator().WouldForgetLearned(t.Context(), "", id); !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A session that taught nothing loses what was said in it, and what it asked of people.
func TestForgettingASessionThatTaughtNothing(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	c := converse(t, l, serve(t, "I see."), ken.Turn{Session: "s1"})
	c.ask("Who is Zarniwoop?", false)
	if _, err := l.Session(ken.Turn{Session: "s1"}).Learn(t.Context(), "Zarniwoop is a landlord.", nil); err == nil {
		t.Fatal("learned without evidence")
	}
	out, err := l.Operator().ForgetLearned(t.Context(), "", "s1", "", ken.Actor{})
	if err != nil || len(out.Claims) != 0 || out.Messages == 0 || len(out.Looked) == 0 {
		t.Errorf("%+v, %v", out, err)
	}
	wantGone(t, root, "Zarniwoop")
	if info, err := l.Operator().Journal("").Info(t.Context(), "s1"); err != nil || info.State != session.Open || info.Messages != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}
