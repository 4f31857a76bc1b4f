package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/receipt"
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

// After a Forget and a harvest, the text is in no claim, summary, journal or
// checkpoint, and nowhere on the disk. Everything else is still known.
func TestForgettingReachesTheJournalOfAHarvestedSession(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	// Another session received it, and continues.
	c := converse(t, l, serve(t, "It is +49 151 2345678."), ken.Turn{Session: "s2"})
	c.ask("What is the on-call phone of Priya?", false)
	journaledTexts(t, l, "", "s2")
	out, err := l.Forget(t.Context(), "", factOf(t, l, "2345678").ID, "asked for", ken.Actor{Type: "user", ID: "ada"})
	if err != nil || len(out.Claims) < 2 || len(out.Redacted) != 1 || out.Messages == 0 {
		t.Errorf("%+v, %v", out, err)
	}
	wantGone(t, root, "2345678")
	info, err := l.Operator().Journal("").Info(t.Context(), "s1")
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
	// The next harvest does not bring it back either.
	c.answered("It is +49 151 2345678.")
	c.ask("Thanks, and which database do we keep?", false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openWithin(t, root)
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
	l := openWithin(t, root)
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
	l := openWithin(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	info, err := l.Operator().Journal("").Info(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), "", info.Outcome.Episode, "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	if got := journaledTexts(t, l, "", "s1"); len(got) != 0 {
		t.Errorf("the journal has %q", got)
	}
	factOf(t, l, "2345678") // what was learned stays until it is forgotten
}

func TestForgettingWhatIsNotThere(t *testing.T) {
	l := open(t, settings())
	if _, err := l.Forget(t.Context(), "", "0195616d-8c00-7000-8000-0000003f9a1c", "", ken.Actor{}); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A session that received only a derived claim contains the text as well.
func TestForgettingReachesTheSessionsThatWereGivenWhatIsDerived(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
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
	must(t, l.Operator().Recorded(t.Context()))
	if _, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	wantGone(t, root, "vexmark0199qy")
}

// Forgotten text does not get on the shelf again, whatever the order of events.
func TestTheShelfRefusesWhatWasForgotten(t *testing.T) {
	root := t.TempDir()
	one, other := openWithin(t, root), openWithin(t, root)
	const words = "The vault of the Brandywhistle archive opens with the code quux7719."
	ids := learn(t, one, fact(t, words), fact(t, "%s", portFact))
	turn := asked("With which code does the vault of the archive open?")
	turn.Session = "s1"
	other.Assemble(t.Context(), turn)
	must(t, other.Operator().Recorded(t.Context()))
	if _, err := one.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	j := other.Operator().Journal("")
	must(t, j.Injected(t.Context(), "s1", []ken.Item{{ID: ids[0], Text: "something"}, {ID: "x", Text: words}}))
	_, err := j.Append(t.Context(), session.About{ID: "s1"}, []ken.Message{{Role: "assistant", Text: "It is " + words}, {Role: "tool", Text: "quux7719"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "c", Name: "bash", Arguments: `{"command":"open --code quux7719"}`}}}, {Role: "user", Text: "Thank you."}})
	must(t, err)
	must(t, j.Record(t.Context(), []session.Note{{About: session.About{ID: "s1"}, Messages: []ken.Message{{Role: "user", Text: "Thank you."}, {Role: "user", Text: words}, {Role: "assistant", Text: "read"}},
		Step: &session.Step{Signals: ken.Signals{Entities: []string{"quux7719", "vault"}}}}}, nil)[0].Err)
	must(t, other.Operator().Receipts("").Put(t.Context(), receipt.Record{Receipt: ken.Receipt{Turn: "t9", At: time.Now(), Signals: ken.Signals{Keywords: []string{"code", "quux7719"}},
		Items: []ken.Item{{ID: ids[0], Kind: ken.KindFact, Tier: ken.Verified}}}}))
	wantGone(t, root, "quux7719", "Brandywhistle")
	if cp, ok, err := j.Checkpoint(t.Context(), "s1"); err != nil || !ok || cp.LastStep != "read" || len(cp.Entities) != 1 || cp.Goal != "" {
		t.Errorf("%+v, %v, %v", cp, ok, err)
	}
	rec, err := other.Operator().Receipts("").Get(t.Context(), "t9")
	if err != nil || rec.Items[0].Tier != 0 || rec.Items[0].Kind != "" {
		t.Errorf("%+v, %v", rec, err)
	}
	got := journaledTexts(t, other, "", "s1")
	if !slices.Equal(got, []string{"user: Thank you.", "assistant: read"}) {
		t.Errorf("%q", got)
	}
	// What a person says anew is new.
	_, err = j.Append(t.Context(), session.About{ID: "s2"}, []ken.Message{{Role: "user", Text: words}})
	must(t, err)
	if got := journaledTexts(t, other, "", "s2"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// forgets is how many claims are forgotten while clients talk, and talkers how many
// these are. KEN_FORGETS says more.
func forgets() (claims, talkers int) {
	claims, talkers = race.Pick(20, 6), 20
	if n := os.Getenv("KEN_FORGETS"); n != "" {
		_, _ = fmt.Sscan(n, &claims)
	}
	return claims, talkers
}

// Claims are forgotten while twenty clients of three processes use them: their turns
// get the claims, and answers and tool calls repeat them. Afterwards no file has any
// of their words, and nor has one when the processes have ended and harvested.
func TestNothingIsLeftOfWhatIsForgottenWhileClientsTalk(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{openWithin(t, root), openWithin(t, root), openWithin(t, root)}
	claims, talkers := forgets()
	topics := []string{"invoices", "backups", "turbine", "ferry", "compass"}
	marker := func(i int) string { return fmt.Sprintf("quux%04dzz", 7700+i) }
	var facts []ken.Claim
	for i := range claims {
		facts = append(facts, fact(t, "The %s of site %d are kept under the label %s by the night shift.", topics[i%len(topics)], i, marker(i)))
	}
	ids := learn(t, layers[0], facts...)
	learn(t, layers[0], notes(t, 20)...)

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var turns, given atomic.Int64
	const each = 2                              // turns of each client while one claim is forgotten
	tokens := make(chan struct{}, each*talkers) // for a turn
	for n := range talkers {
		wg.Go(func() {
			l := layers[n%len(layers)]
			for round := 0; ctx.Err() == nil; round++ {
				turn := ken.Turn{Session: fmt.Sprintf("client %d, %d", n, round)}
				for i := range 6 {
					select {
					case <-tokens:
					case <-ctx.Done():
						return
					}
					at := (n + round + i) % claims
					turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: fmt.Sprintf("Under which label are the %s of site %d kept?", topics[at%len(topics)], at)})
					a := l.Assemble(ctx, turn)
					turns.Add(1)
					answer := "I don't know."
					for _, it := range a.Receipt.Items { // a model repeats its block
						if strings.Contains(it.Text, "quux") {
							given.Add(1)
							answer = "As noted: " + it.Text
							call := ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: fmt.Sprint("c", i), Name: "bash", Arguments: fmt.Sprintf(`{"command":"grep -rn %q ."}`, label(it.Text))}}}
							result := ken.Message{Role: "tool", ToolCallID: fmt.Sprint("c", i), Text: "site.txt:3: " + it.Text}
							turn.Messages = append(turn.Messages, call, result)
							break
						}
					}
					m := ken.Message{Role: "assistant", Text: answer}
					l.Answered(turn, m)
					turn.Messages = append(turn.Messages, m)
					if l.Operator().Recorded(ctx) != nil { // a model takes its time, too
						return
					}
				}
			}
		})
	}
	for i, id := range ids {
		for range cap(tokens) {
			tokens <- struct{}{}
		}
		if _, err := layers[i%len(layers)].Forget(t.Context(), "", id, "asked for", ken.Actor{Type: "user", ID: "ada"}); err != nil {
			t.Fatalf("forget %d: %v", i, err)
		}
	}
	stop()
	wg.Wait()
	for _, l := range layers {
		must(t, l.Operator().Recorded(t.Context()))
	}
	look := func(when string) {
		t.Helper()
		for i := range claims {
			if in := filesNaming(t, root, marker(i)); len(in) > 0 {
				t.Errorf("%s: %s is in %v", when, marker(i), in)
			}
		}
	}
	look("while the processes run")
	for _, l := range layers {
		must(t, l.Close())
	}
	look("after a harvest")
	t.Logf("%d turns, %d with a claim that was to be forgotten", turns.Load(), given.Load())
	if given.Load() == 0 {
		t.Error("no turn was given any of them: the test shows nothing")
	}
}

// label finds the label in a claim of the test.
func label(text string) string {
	_, after, _ := strings.Cut(text, "label ")
	l, _, _ := strings.Cut(after, " ")
	return l
}

// filesNaming lists the files of the state folder that contain a word, ignoring case.
func filesNaming(t *testing.T, root, word string) (in []string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(root, ".ken"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		b = bytes.ToLower(b)
		if i := bytes.Index(b, []byte(word)); i >= 0 {
			in = append(in, fmt.Sprintf("%s: …%q…", d.Name(), b[max(0, i-150):min(len(b), i+60)]))
		}
		return err
	}))
	return in
}
