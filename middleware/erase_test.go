package middleware_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// wantGone looks for words in every file of the state folder.
func wantGone(t *testing.T, root string, words ...string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, ".ken"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // folders and sockets
			return err
		}
		b, err := os.ReadFile(path)
		for _, w := range words {
			if i := bytes.Index(bytes.ToLower(b), []byte(strings.ToLower(w))); i >= 0 {
				t.Errorf("%q is in %s: …%q…", w, d.Name(), b[max(0, i-120):min(len(b), i+80)])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// the one fact about a person, and another that stays.
const (
	private  = "Remember that the on-call phone of Priya is +49 151 2345678."
	harmless = "We decided to drop Oracle and keep PostgreSQL 16, because nobody can run Oracle locally."
)

// factOf finds the harvested fact that holds words.
func factOf(t *testing.T, l *middleware.Layer, words string) ken.Claim {
	t.Helper()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == ken.KindFact && strings.Contains(c.Text, words) {
			return c
		}
	}
	t.Fatalf("no fact says %q", words)
	return ken.Claim{}
}

// talk is a session in which a person's number is said, injected and said again.
func talk(t *testing.T, l *middleware.Layer, id string) *chat {
	c := converse(t, l, serve(t, "Noted: Priya can be reached at +49 151 2345678.", "Fine.", "I carry on."), ken.Turn{Session: id})
	c.ask(private, false)
	c.answered("Noted: Priya can be reached at +49 151 2345678.")
	c.ask(harmless, false)
	c.answered("Fine.")
	return c
}

// What is forgotten is forgotten: after a harvest its words are in no claim, no
// summary, no journal, no checkpoint, nowhere on the disk; the rest is still known.
func TestForgettingReachesTheJournalOfAHarvestedSession(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	// Another session was told, and goes on.
	c := converse(t, l, serve(t, "It is +49 151 2345678."), ken.Turn{Session: "s2"})
	c.ask("What is the on-call phone of Priya?", false)
	userText(t, l, "", "s2")
	out, err := l.Forget(t.Context(), "", factOf(t, l, "2345678").ID, "asked for", ken.Actor{Type: "user", ID: "ada"})
	if err != nil || len(out.Claims) < 2 || len(out.Redacted) != 1 || out.Messages == 0 {
		t.Errorf("%+v, %v", out, err)
	}
	wantGone(t, root, "2345678")
	info, err := l.Journal("").Info(t.Context(), "s1")
	if err != nil || info.Messages != 0 || info.State != session.Harvested {
		t.Errorf("%+v, %v", info, err)
	}
	if r := l.Assemble(t.Context(), asked("Which database did we decide to keep, Oracle or PostgreSQL?")).Receipt; !strings.Contains(r.Block, "PostgreSQL 16") {
		t.Errorf("the rest is gone as well: %s", r.Block)
	}
	for _, question := range []string{"What is the on-call phone of Priya?", "What happened in earlier sessions?"} {
		if r := l.Assemble(t.Context(), asked(question)).Receipt; strings.Contains(r.Block, "2345678") {
			t.Errorf("it is still told: %s", r.Block)
		}
	}
	// Nor does what is harvested next bring it back.
	c.answered("It is +49 151 2345678.")
	c.ask("Thanks, and which database do we keep?", false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = within(t, root)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for c, err := range s.Claims(t.Context()) {
		if err != nil || strings.Contains(c.Text+string(c.Body), "2345678") {
			t.Errorf("%v, %s: %s", err, c.Kind, c.Text)
		}
	}
}

// Of a session that goes on, the messages that hold it go, the others stay, and the
// client sending all of them again brings nothing back.
func TestForgettingReachesTheJournalOfAnOpenSession(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	c := talk(t, l, "s1")
	ids := learn(t, l, fact(t, "The on-call phone of Priya is +49 151 2345678."))
	out, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{})
	if err != nil || out.Messages != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	wantGone(t, root, "2345678")
	wantSaid(t, l, "s1", "user: "+harmless, "assistant: Fine.")
	c.ask("Carry on.", false)
	wantSaid(t, l, "s1", "user: "+harmless, "assistant: Fine.", "user: Carry on.", "assistant: I carry on.")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, root, "2345678")
}

// Forgetting an episode forgets its session's messages.
func TestForgettingAnEpisode(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	info, err := l.Journal("").Info(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), "", info.Outcome.Episode, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	if got := userText(t, l, "", "s1"); len(got) != 0 {
		t.Errorf("the journal has %q", got)
	}
	factOf(t, l, "2345678") // what was learned stays until somebody forgets it
}

func TestForgettingWhatIsNotThere(t *testing.T) {
	l := open(t, settings())
	if _, err := l.Forget(t.Context(), "", "0195616d-8c00-7000-8000-0000003f9a1c", "", ken.Actor{}); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A session that was given only what was derived from a claim says its words as well.
func TestForgettingReachesTheSessionsThatWereGivenWhatIsDerived(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	ids := learn(t, l, fact(t, "The signal of the pier is kept under the label vexmark0199qy by the night shift."))
	derived := fact(t, "`vexmark0199qy` is in compass.txt.")
	derived.Evidence = append(derived.Evidence, ken.FromRepositoryMemory(ids[0]))
	child := learn(t, l, derived)
	learn(t, l, notes(t, 20)...)
	turn := ken.Turn{Session: "s1", Messages: []ken.Message{{Role: "user", Text: "What is in compass.txt?"}}}
	a := l.Assemble(t.Context(), turn)
	for _, it := range a.Receipt.Items {
		if it.ID == ids[0] {
			t.Fatal("the turn was given the claim itself")
		}
	}
	if !slices.ContainsFunc(a.Receipt.Items, func(it ken.Item) bool { return it.ID == child[0] }) {
		t.Fatalf("the turn was not given what is derived: %+v", a.Receipt.Items)
	}
	l.Answered(turn, ken.Message{Role: "assistant", Text: "The label there: vexmark0199qy."})
	must(t, l.Recorded(t.Context()))
	if _, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	wantGone(t, root, "vexmark0199qy")
}
