package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Forget also removes the block with the claim from an ongoing conversation, so
// that deleted text is not sent again.
func TestForgottenClaimLeavesRunningConversations(t *testing.T) {
	ctx := context.Background()
	l := open(t, settings())
	ids := learn(t, l, fact(t, retryFact))
	turn := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: question}}}
	if got := l.Assemble(ctx, turn); len(got.Insertions) != 1 {
		t.Fatalf("insertions %+v", got.Insertions)
	}
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: "And who is told?"})
	if got := l.Assemble(ctx, turn); len(got.Insertions) == 0 || got.Insertions[0].Before != 0 {
		t.Fatalf("the first block is not carried on: %+v", got.Insertions)
	}
	s, release, err := l.Store(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.Forget(ctx, ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	for _, messages := range [][]ken.Message{turn.Messages, turn.Messages[:1]} {
		turn.Messages = messages
		for _, ins := range l.Assemble(ctx, turn).Insertions {
			if strings.Contains(ins.Text, "three times") {
				t.Errorf("after forgetting, %d messages still carry %q", len(messages), ins.Text)
			}
		}
	}
}

// A part of a deleted claim's id does not match another claim.
func TestForgettingByAPartOfAnIDReachesOneClaim(t *testing.T) {
	l := open(t, settings())
	named := func(id, text string) ken.Claim {
		c := fact(t, "%s", text)
		c.ID = id
		return c
	}
	ids := learn(t, l, named("0198c0de-0000-7000-8000-0000000000aa", "The vault opens at nine."), named("0198c0de-0000-7000-8000-0000000000bb", "The harbour freezes in May."))
	if _, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), "", "0198c0de", "", ken.Actor{}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.Get(t.Context(), ids[1]); err != nil {
		t.Error(err)
	}
}

// derivedFrom returns a fact with the claims of ids as its evidence.
func derivedFrom(t testing.TB, text string, ids ...string) ken.Claim {
	c := fact(t, "%s", text)
	for _, id := range ids {
		c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceRepositoryMemory, ID: id})
	}
	return c
}

// littered returns a layer with a person's number in many places, and the id of the
// first claim with it.
func littered(t *testing.T, r *rand.Rand) (*middleware.Layer, string) {
	t.Helper()
	l := open(t, settings(func(c *config.Config) { c.Retrieval.Floor = 0 }), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	texts := []string{"The on-call phone of Priya is +49 151 2345678.", "Call +49 151 2345678 at night.", "The ledger listens on port 8071.",
		"Deploys happen on Tuesdays.", "The on-call phone of Priya is +49 151 2345678, and it is never off."}
	ids := learn(t, l, fact(t, "%s", texts[0]))
	for i := range 4 + r.IntN(8) {
		c := fact(t, "%s", texts[r.IntN(len(texts))])
		switch r.IntN(4) {
		case 0:
			c = episode(t, fmt.Sprint("e", i), "Goal: find out who is on call.\n"+texts[r.IntN(len(texts))]+"\nThe ledger was deployed.\nNobody was woken up.")
		case 1:
			c.Kind = ken.KindHot
		case 2:
			parents := []string{ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]}
			c = derivedFrom(t, fmt.Sprintf("Number %d follows from what is known.", i), parents...)
		}
		ids = append(ids, learn(t, l, c)...)
	}
	for i := range 3 {
		id := fmt.Sprint("s", i)
		var msgs []ken.Message
		for range 1 + r.IntN(3) {
			msgs = append(msgs, ken.Message{Role: "user", Text: []string{"Who is on call?", "Note +49 151 2345678.", "When do we deploy the ledger?"}[r.IntN(3)]})
			l.Assemble(t.Context(), ken.Turn{Session: id, Messages: msgs})
			msgs = append(msgs, ken.Message{Role: "assistant", Text: []string{"Priya.", "It is +49 151 2345678.", "On Tuesdays."}[r.IntN(3)]})
		}
		l.Assemble(t.Context(), ken.Turn{Session: id, Messages: append(msgs, ken.Message{Role: "user", Text: "Thanks!"})})
		if r.IntN(2) == 0 {
			if err := l.End(t.Context(), "", id); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.Assemble(t.Context(), asked("Who is on call?"))
	if _, err := l.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Session(ken.Turn{Session: "s0"}).Learn(t.Context(), "Priya has +49 151 2345678.", nil); err == nil {
		t.Fatal("learned without evidence")
	}
	if _, err := l.Operator().SyncMemory(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, ids[0]
}

// onShelf returns everything on a shelf.
func onShelf(t *testing.T, l *middleware.Layer) map[string]string {
	t.Helper()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	out := map[string]string{}
	err = s.Shelf().View(t.Context(), func(r store.ShelfReader) error {
		clear(out)
		for k, v := range r.Scan("") {
			out[k] = string(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The preview names exactly what Forget deletes, and changes nothing. After the Forget,
// no search finds it.
func TestWouldForgetIsWhatForgetDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 2))
	for range race.Pick(12, 3) {
		l, id := littered(t, r)
		before := onShelf(t, l)
		would, err := l.Operator().WouldForget(t.Context(), "", id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, onShelf(t, l)); diff != "" {
			t.Fatalf("it changed something:\n%s", diff)
		}
		did, err := l.Forget(t.Context(), "", id, "asked for", ken.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		var was []ken.Claim
		redacted := 0
		for _, c := range would.Claims {
			ids, was = append(ids, c.ID), append(was, c.Claim.Claim)
			if c.Why == inspect.Redacted {
				redacted++
			}
		}
		if !slices.Equal(ids, did.Claims) || would.Messages != did.Messages || !slices.Equal(would.Sessions, did.Sessions) || redacted != len(did.Redacted) {
			t.Errorf("would\n%v, %d of %v, %d redacted\ndid\n%v, %d of %v, %d redacted", ids, would.Messages, would.Sessions, redacted,
				did.Claims, did.Messages, did.Sessions, len(did.Redacted))
		}
		if would.Claims[0].Why != inspect.Itself || would.Claims[0].ID != id {
			t.Errorf("%+v", would.Claims[0])
		}
		checks, err := l.Operator().CheckForgotten(t.Context(), "", was, did)
		if err != nil || len(checks) != 13 {
			t.Fatalf("%v, %+v", err, checks)
		}
		for _, c := range checks {
			if !c.Clean {
				t.Errorf("%+v", c)
			}
		}
	}
}

func TestBlastOfOneClaim(t *testing.T) {
	l := open(t, settings(), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	ids := learn(t, l, fact(t, "The on-call phone of Priya is +49 151 2345678."))
	ids = append(ids, learn(t, l, episode(t, "e", "The ledger was deployed on Tuesday. The on-call phone of Priya is +49 151 2345678. Nobody was woken up by it. Tests passed."))...)
	ids = append(ids, learn(t, l, derivedFrom(t, "Somebody of the team is on call at night.", ids[0]))...)
	ids = append(ids, learn(t, l, derivedFrom(t, "The team has a rota.", ids[2], ids[0]))...)
	ids = append(ids, learn(t, l, fact(t, "At night, ring +49 151 2345678."))...)
	hot := fact(t, "Always ring +49 151 2345678 first.")
	hot.Kind = ken.KindHot
	ids = append(ids, learn(t, l, hot)...)
	learn(t, l, fact(t, "%s", portFact))
	l.Assemble(t.Context(), ken.Turn{Session: "s1", Messages: []ken.Message{{Role: "user", Text: "Note: +49 151 2345678."}}})
	l.Assemble(t.Context(), asked("Who is on call at night?"))
	would, err := l.Operator().WouldForget(t.Context(), "", ids[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range would.Claims {
		got = append(got, c.ID+" "+c.Why)
	}
	want := []string{ids[0] + " the claim itself", ids[2] + " derived from it", ids[3] + " derived from it",
		ids[1] + " an episode that contains it; the rest of the episode is kept", ids[4] + " says the same", ids[5] + " says the same"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if would.Messages != 1 || !slices.Equal(would.Sessions, []string{"s1"}) || would.Receipts != 2 || !would.Memory {
		t.Errorf("%d messages of %v, %d receipts, MEMORY.md %v", would.Messages, would.Sessions, would.Receipts, would.Memory)
	}
	if _, err := l.Operator().WouldForget(t.Context(), "", "0195616d-8c00-7000-8000-0000003f9a1c"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// Each place is checked: if the text is put back there, it is found there, and nowhere else.
func TestCheckForgottenFindsWhatIsLeft(t *testing.T) {
	const words = "The on-call phone of Priya is +49 151 2345678."
	for name, plant := range map[string]func(t *testing.T, l *middleware.Layer, s store.Engine, was ken.Claim){
		"claims": func(t *testing.T, _ *middleware.Layer, s store.Engine, _ ken.Claim) {
			_, err := s.WriteClaim(t.Context(), fact(t, "Ring +49 151 2345678."))
			must(t, err)
		},
		"journals": func(t *testing.T, l *middleware.Layer, _ store.Engine, _ ken.Claim) {
			_, err := l.Operator().Journal("").Append(t.Context(), session.About{ID: "s9"}, []ken.Message{{Role: "user", Text: words}})
			must(t, err)
		},
		"injected texts": func(t *testing.T, l *middleware.Layer, _ store.Engine, was ken.Claim) {
			must(t, l.Operator().Journal("").Injected(t.Context(), "s9", []ken.Item{{ID: was.ID, Text: "something"}}))
		},
		"checkpoints": func(t *testing.T, l *middleware.Layer, _ store.Engine, _ ken.Claim) {
			n := session.Note{About: session.About{ID: "s9"}, Messages: []ken.Message{{Role: "user", Text: "Hello there."}}, Step: &session.Step{Focal: []string{words}}}
			must(t, l.Operator().Journal("").Record(t.Context(), []session.Note{n}, nil)[0].Err)
		},
		"receipts": func(t *testing.T, l *middleware.Layer, _ store.Engine, was ken.Claim) {
			must(t, l.Operator().Receipts("").Put(t.Context(), receipt.Record{Receipt: ken.Receipt{Turn: "t9", At: time.Now(), Items: []ken.Item{{ID: was.ID, Kind: ken.KindFact}}}}))
		},
		"refused writes": func(t *testing.T, l *middleware.Layer, _ store.Engine, _ ken.Claim) {
			if _, err := l.Session(ken.Turn{Session: "s9"}).Learn(t.Context(), words, nil); err == nil {
				t.Fatal("learned without evidence")
			}
		},
		"attention": func(t *testing.T, _ *middleware.Layer, s store.Engine, was ken.Claim) {
			_, err := attention.PutMark(t.Context(), s.Shelf(), attention.Mark{Event: attention.ForgetRequested, Claim: was.ID})
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings(), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
			ids := learn(t, l, fact(t, words), fact(t, "%s", portFact))
			s, release, err := l.Store(t.Context(), "")
			must(t, err)
			defer release()
			was, err := s.Get(t.Context(), ids[0])
			must(t, err)
			gone, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{})
			must(t, err)
			unguarded(t, s)
			plant(t, l, s, was)
			checks, err := l.Operator().CheckForgotten(t.Context(), "", []ken.Claim{was}, gone)
			must(t, err)
			for _, c := range checks {
				if found := c.Name == name || name == "refused writes" && c.Name == "attention"; c.Clean == found || c.Where == "" {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// unguarded removes the protection that keeps forgotten text from the shelf.
func unguarded(t *testing.T, s store.Engine) {
	t.Helper()
	must(t, s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error {
		var keys []string
		for key := range tx.Scan("forgotten/") {
			keys = append(keys, key)
		}
		for _, key := range keys {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Of a claim that is still there every path tells.
func TestCheckForgottenOfWhatWasNot(t *testing.T) {
	l := open(t, settings(), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	c := fact(t, "%s", portFact)
	c.Kind, c.Entities = ken.KindHot, []string{"ledger"}
	ids := learn(t, l, c)
	if _, err := l.Operator().SyncMemory(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	l.Assemble(t.Context(), ken.Turn{Session: "s1", Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger service listen?"}}})
	c.ID = ids[0]
	checks, err := l.Operator().CheckForgotten(t.Context(), "", []ken.Claim{c}, middleware.Forgotten{Claims: ids})
	must(t, err)
	var clean []string
	for _, c := range checks {
		if c.Clean {
			clean = append(clean, c.Name)
		}
	}
	if got := strings.Join(clean, ", "); got != "attention, log" {
		b, _ := json.MarshalIndent(checks, "", " ")
		t.Errorf("clean: %s\n%s", got, b)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A caller that has not kept the claims still learns whether their ids are found.
func TestCheckForgottenByIDsAlone(t *testing.T) {
	l := open(t, settings(), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	ids := learn(t, l, fact(t, "%s", portFact))
	gone, err := l.Forget(context.Background(), "", ids[0], "", ken.Actor{})
	must(t, err)
	checks, err := l.Operator().CheckForgotten(t.Context(), "", nil, gone)
	must(t, err)
	for _, c := range checks {
		if !c.Clean {
			t.Errorf("%+v", c)
		}
	}
}

// Questions that ken eval generate made from a claim are deleted with it, and the others
// stay. A file of the user is named, but not changed. A later search of every byte finds
// nothing, but it finds the text if a file contains it again.
func TestForgettingReachesFilesBesideTheStore(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root, func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
	const words = "The on-call phone of Priya at night is the number of the red phone."
	ids := learn(t, l, fact(t, words), fact(t, "%s", portFact))
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, ".ken", filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	corpus := file("eval/corpus.jsonl", `{"id":"a","text":"`+words+`"}`+"\n"+`{"id":"b","text":"`+portFact+`"}`+"\n")
	queries := file("eval/queries.jsonl", `{"text":"Whose phone is red?","relevant":["`+ids[0]+`"]}`+"\n")
	sweep := file("eval/sweep/report.json", "{\n\"missed\":\n\""+words+"\"\n}")
	file("knowledge/notes.md", "# Notes\n\n- "+words+"\n")
	out, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{})
	if err != nil || len(out.Files) != 1 || out.Files[0] != ".ken/knowledge/notes.md" {
		t.Errorf("%+v, %v", out, err)
	}
	if b, err := os.ReadFile(corpus); err != nil || strings.Contains(string(b), "Priya") || !strings.Contains(string(b), portFact) || strings.Count(string(b), "\n") != 1 {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := os.ReadFile(queries); err != nil || len(b) != 0 {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(sweep); !os.IsNotExist(err) {
		t.Errorf("the report is there: %v", err)
	}
	check := func(dirty ...string) {
		t.Helper()
		checks, err := l.Operator().CheckAllForgotten(t.Context(), "")
		must(t, err)
		var found []string
		for _, c := range checks {
			if !c.Clean {
				found = append(found, c.Name+": "+c.Detail)
			}
		}
		if len(found) != len(dirty) {
			t.Fatalf("found %q, want %q", found, dirty)
		}
		for i := range dirty {
			if !strings.HasPrefix(found[i], dirty[i]) {
				t.Errorf("found %q, want %q", found, dirty)
			}
		}
	}
	check("files: found in .ken/knowledge/notes.md (" + ids[0] + ")")
	must(t, os.Remove(filepath.Join(root, ".ken", "knowledge", "notes.md")))
	check()
	// In the middle of a large file, across the border of two reads, and in capitals.
	pad := bytes.Repeat([]byte{0xfe, 0}, 2<<20-15)
	path := file("state/default/copy.db", string(pad)+strings.ToUpper(words)+string(pad))
	check("files: found in .ken/state/default/copy.db")
	must(t, os.Remove(path))
	again := learn(t, l, fact(t, "%s", words))
	check("claims: the text is again in "+again[0], "files: ")
}

// A harvest of another process may already have read the forgotten text. Forget
// waits for its end, and deletes what it wrote.
func TestForgettingWaitsForTheHarvestOfAnotherProcess(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	talk(t, l, "s1")
	ids := learn(t, l, fact(t, "The on-call phone of Priya is +49 151 2345678."))
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	other, err := alive.Announce(filepath.Join(root, ".ken", "state", ".processes"), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Process: "other"})
	entered, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := q.Drain(context.Background(), map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, _ jobs.Job, _ func(string, int, int)) (string, error) {
			close(entered)
			<-goOn
			_, err := s.WriteClaim(ctx, fact(t, "Priya, the person on call, has the phone +49 151 2345678 at night."))
			return "", err
		}})
		ended <- err
	}()
	<-entered
	forgotten := make(chan error, 1)
	go func() {
		_, err := l.Forget(context.Background(), "", ids[0], "asked for", ken.Actor{})
		forgotten <- err
	}()
	for { // until forgetting is past the journals
		info, err := l.Operator().Journal("").Info(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		if info.Messages == 2 {
			break
		}
		runtime.Gosched()
	}
	select {
	case err := <-forgotten:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(goOn)
	for _, c := range []chan error{ended, forgotten} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	wantGone(t, root, "2345678")
}

// Forget does not wait for a process that has ended.
func TestForgettingDoesNotWaitForTheDead(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	talk(t, l, "s1")
	if err := l.End(t.Context(), "", "s1"); err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(context.Background())
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Process: "dead"})
	entered, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_, _ = q.Drain(ctx, map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, _ jobs.Job, _ func(string, int, int)) (string, error) {
			close(entered)
			<-ctx.Done()
			return "", ctx.Err()
		}})
	}()
	<-entered
	defer func() { cancel(); <-left }()
	if err := l.Operator().ForgetSession(t.Context(), "", "s1"); err != nil {
		t.Error(err)
	}
	if _, err := l.Operator().Journal("").Info(t.Context(), "s1"); err == nil {
		t.Error("the session is still there")
	}
}
