package middleware_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// What was forgotten does not get on the shelf again, in whichever order things come.
func TestTheShelfRefusesWhatWasForgotten(t *testing.T) {
	root := t.TempDir()
	one, other := within(t, root), within(t, root)
	const words = "The vault of the Brandywhistle archive opens with the code quux7719."
	ids := learn(t, one, fact(t, words), fact(t, "%s", portFact))
	turn := asked("With which code does the vault of the archive open?")
	turn.Session = "s1"
	other.Assemble(t.Context(), turn)
	must(t, other.Recorded(t.Context()))
	if _, err := one.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	j := other.Journal("")
	must(t, j.Injected(t.Context(), "s1", []ken.Item{{ID: ids[0], Text: "something"}, {ID: "x", Text: words}}))
	_, err := j.Append(t.Context(), session.About{ID: "s1"}, []ken.Message{{Role: "assistant", Text: "It is " + words}, {Role: "tool", Text: "quux7719"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "c", Name: "bash", Arguments: `{"command":"open --code quux7719"}`}}}, {Role: "user", Text: "Thank you."}})
	must(t, err)
	must(t, j.SaveCheckpoint(t.Context(), "s1", session.Checkpoint{Seq: 99, Goal: words, Entities: []string{"quux7719", "vault"}, LastStep: "read"}))
	must(t, other.Receipts("").Put(t.Context(), receipt.Record{Receipt: ken.Receipt{Turn: "t9", At: time.Now(), Signals: ken.Signals{Keywords: []string{"code", "quux7719"}},
		Items: []ken.Item{{ID: ids[0], Kind: ken.KindFact, Tier: ken.Verified}}}}))
	wantGone(t, root, "quux7719", "Brandywhistle")
	if cp, ok, err := j.Checkpoint(t.Context(), "s1"); err != nil || !ok || cp.LastStep != "read" || len(cp.Entities) != 1 || cp.Goal != "" {
		t.Errorf("%+v, %v, %v", cp, ok, err)
	}
	rec, err := other.Receipts("").Get(t.Context(), "t9")
	if err != nil || rec.Items[0].Tier != 0 || rec.Items[0].Kind != "" {
		t.Errorf("%+v, %v", rec, err)
	}
	got := userText(t, other, "", "s1")
	if len(got) != 1 || got[0] != "user: Thank you." {
		t.Errorf("%q", got)
	}
	// What a person says anew is new.
	_, err = j.Append(t.Context(), session.About{ID: "s2"}, []ken.Message{{Role: "user", Text: words}})
	must(t, err)
	if got := userText(t, other, "", "s2"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// forgets is how many claims are forgotten while clients talk, and talkers how many
// these are. KEN_FORGETS says more.
func forgets() (claims, talkers int) {
	claims, talkers = 20, 20
	if n := os.Getenv("KEN_FORGETS"); n != "" {
		_, _ = fmt.Sscan(n, &claims)
	}
	return claims, talkers
}

// Claims are forgotten while twenty clients of three processes talk about them: their
// activeTurns are given them, and answers and tool calls say them again. Afterwards no file
// has any of their words, and nor has one when the processes have ended and harvested.
func TestNothingIsLeftOfWhatIsForgottenWhileClientsTalk(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{within(t, root), within(t, root), within(t, root)}
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
					for _, it := range a.Receipt.Items { // a model repeats what it is given
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
					if l.Recorded(ctx) != nil { // a model takes its time, too
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
		must(t, l.Recorded(t.Context()))
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

// filesNaming lists the files of the state folder whose bytes have a word, in whatever case.
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
