package middleware_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// inBackground has a layer do its own work, as a server's does.
func inBackground(o *middleware.Options) { o.Foreground = false }

// awaitClaim returns the store's claims once an event after since is shown and one of them
// has the text: then searches find it.
func awaitClaim(t *testing.T, s store.Engine, since uint64, text string) []ken.Claim {
	t.Helper()
	for {
		if err := s.Wait(t.Context(), since); err != nil {
			t.Fatalf("no claim has %q: %v", text, err)
		}
		since = s.Seq()
		claims, err := s.Query(t.Context(), ken.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(claims, func(c ken.Claim) bool { return strings.Contains(c.Text, text) }) {
			return claims
		}
	}
}

const decision = "We decided to use PostgreSQL 15 for the ledger service, because of logical replication."

// What a user states is known to the next conversation without an end of the first one;
// the first one is not told what it says itself; and the harvest finds it known.
func TestWhatAUserStatesIsKnownAtOnce(t *testing.T) {
	l := open(t, settings(), inBackground)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	since := s.Seq()
	first := ken.Turn{Session: "monday", Messages: []ken.Message{{Role: "user", Text: decision}}}
	l.Assemble(t.Context(), first)
	claims := awaitClaim(t, s, since, "PostgreSQL 15")
	if len(claims) != 1 || claims[0].Session != "monday" || claims[0].Constraint {
		t.Errorf("%+v", claims)
	}
	ask := ken.Message{Role: "user", Text: "Which database did we choose for the ledger service?"}
	other := l.Assemble(t.Context(), ken.Turn{Session: "another", Messages: []ken.Message{ask}})
	for range 1000 { // a search may see the claim a moment after the log has it
		if strings.Contains(other.Receipt.Block, "PostgreSQL 15") {
			break
		}
		other = l.Assemble(t.Context(), ken.Turn{Session: "another", Messages: []ken.Message{ask, {Role: "assistant", Text: "I don't know."}, ask}})
	}
	if !strings.Contains(other.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("another conversation is told %q: %+v", other.Receipt.Block, other.Receipt.Cut)
	}
	first.Messages = append(first.Messages, ken.Message{Role: "assistant", Text: "Noted."}, ask)
	own := l.Assemble(t.Context(), first)
	if strings.Contains(own.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("the conversation that says it is told %q", own.Receipt.Block)
	}
	first.Messages = first.Messages[1:] // the client dropped what said it
	if own = l.Assemble(t.Context(), first); !strings.Contains(own.Receipt.Block, "PostgreSQL 15") {
		t.Errorf("the conversation that lost it is told %q: %+v", own.Receipt.Block, own.Receipt.Cut)
	}
	if err := l.End(t.Context(), "", "monday", session.Closed); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	n := 0
	if claims, err = s.Query(t.Context(), ken.Query{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.Kind == ken.KindFact && strings.Contains(c.Text, "PostgreSQL 15") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d facts say it after the harvest", n)
	}
}

// A conversation that goes on in another process is not told either what it says itself, until
// a person has confirmed it.
func TestAResumedConversationIsNotToldWhatItSays(t *testing.T) {
	root := t.TempDir()
	in := func(o *middleware.Options) { o.Root = root }
	turn := ken.Turn{Session: "monday", Messages: []ken.Message{{Role: "user", Text: decision}}}
	l := open(t, settings(), inBackground, in)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	since := s.Seq()
	l.Assemble(t.Context(), turn)
	id := awaitClaim(t, s, since, "PostgreSQL 15")[0].ID
	release()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, settings(), in)
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Noted."}, ken.Message{Role: "user", Text: "Which database did we choose for the ledger service?"})
	if r := l.Assemble(t.Context(), turn).Receipt; !slices.ContainsFunc(r.Cut, func(c ken.Cut) bool { return c.ID == id && c.Reason == ken.CutDuplicate }) {
		t.Errorf("told %q, cut %+v", r.Block, r.Cut)
	}
	if s, release, err = l.Store(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Transition(t.Context(), ken.Transition{ID: id, To: ken.StatusVerified, Reason: "checked", Actor: ken.Actor{Type: "human", ID: "ana"},
		Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", monday, "It holds.")}}); err != nil {
		t.Fatal(err)
	}
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "PostgreSQL."}, ken.Message{Role: "user", Text: "Which database does the ledger service need, PostgreSQL?"})
	if r := l.Assemble(t.Context(), turn).Receipt; !slices.ContainsFunc(r.Items, func(i ken.Item) bool { return i.ID == id }) {
		t.Errorf("what ana confirmed is not told: %q, cut %+v", r.Block, r.Cut)
	}
}

// Questions, orders, what the model says and what is said incognito are not learned at once,
// nor is anything where that is switched off.
func TestWhatIsNotLearnedAtOnce(t *testing.T) {
	said := func(role, text string) ken.Turn {
		return ken.Turn{Session: "s " + text, Messages: []ken.Message{{Role: "user", Text: "Hello."}, {Role: role, Text: text}, {Role: "user", Text: "Hm?"}}}
	}
	incognito := ken.Turn{Session: "i", Incognito: true, Messages: []ken.Message{{Role: "user", Text: decision}}}
	for name, c := range map[string]*config.Config{"on": settings(), "off": settings(func(c *config.Config) { c.Harvest.AtOnce = false })} {
		t.Run(name, func(t *testing.T) {
			l := open(t, c, inBackground)
			s, release, err := l.Store(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			since := s.Seq()
			for _, turn := range []ken.Turn{incognito, said("assistant", decision), said("tool", decision),
				said("user", "Which database did we choose for the ledger service?")} {
				l.Assemble(t.Context(), turn)
			}
			last := "The harbour office moved to 14 Quay Street in March."
			l.Assemble(t.Context(), ken.Turn{Session: "last", Messages: []ken.Message{{Role: "user", Text: last}}})
			if err := l.Recorded(t.Context()); err != nil {
				t.Fatal(err)
			}
			var claims []ken.Claim
			if name == "on" { // what was said before it was looked at before it
				claims = awaitClaim(t, s, since, "Quay Street")
			} else if claims, err = s.Query(context.Background(), ken.Query{}); err != nil {
				t.Fatal(err)
			}
			if want := map[string]int{"on": 1, "off": 0}[name]; len(claims) != want {
				t.Errorf("%d claims: %+v", len(claims), claims)
			}
		})
	}
}
