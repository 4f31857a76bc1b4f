package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// keptTurns lists the turns of a session that have one, newest first.
func keptTurns(t testing.TB, l *middleware.Layer, session string) (turns []string) {
	t.Helper()
	if err := l.Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, _, err := l.Receipts("").List(context.Background(), receipt.Query{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		turns = append(turns, r.Turn)
	}
	return turns
}

const portFact = "The ledger service listens on port 8071."

func TestATurnLeavesItsReceipt(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "%s", portFact))
	turn := asked("On which port does the ledger service listen?")
	turn.Session, turn.Project, turn.Model, turn.Agent, turn.Branch = "s1", "p", "m", "a", "b"
	given := l.Assemble(t.Context(), turn).Receipt
	if len(given.Items) != 1 || given.Items[0].Text == "" {
		t.Fatalf("%+v", given)
	}
	if got := keptTurns(t, l, "s1"); !slices.Equal(got, []string{given.Turn}) {
		t.Fatalf("%q", got)
	}
	kept, err := l.Receipts("").Get(t.Context(), given.Turn)
	if err != nil || kept.Items[0].ID != ids[0] || kept.Items[0].Text != "" || kept.Block != "" || kept.Chars != given.Chars ||
		kept.Project != "p" || kept.Model != "m" || kept.Agent != "a" || kept.Branch != "b" || kept.MS["total"] == 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	// A turn without a session has one too, and one that asks for nothing.
	turn = asked("Thanks!")
	none := l.Assemble(t.Context(), turn).Receipt
	if got := keptTurns(t, l, ""); !slices.Equal(got, []string{none.Turn, given.Turn}) {
		t.Errorf("%q", got)
	}
	if given.Items[0].Text == "" || given.Block == "" {
		t.Error("the receipt that was handed out changed")
	}
}

func TestReceiptsAreAnOwnersAndCanBeSwitchedOff(t *testing.T) {
	l := open(t, settings())
	turn := asked("On which port does the ledger service listen?")
	turn.Owner, turn.Session = "ada", "s1"
	r := l.Assemble(t.Context(), turn).Receipt
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("another owner's: %q", got)
	}
	if _, err := l.Receipts("").Get(t.Context(), r.Turn); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := l.Receipts("ada").Get(t.Context(), r.Turn); err != nil {
		t.Error(err)
	}
	l = open(t, settings(func(c *config.Config) { c.Session.Receipts = 0 }))
	turn.Owner = ""
	l.Assemble(t.Context(), turn)
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("kept although none are: %q", got)
	}
	if tr, err := l.Journal("").Read(t.Context(), "s1"); err != nil || len(tr.Entries) != 1 {
		t.Errorf("the journal: %+v, %v", tr, err)
	}
}

// The receipts of a session go with it, and of a forgotten claim nothing stays but
// its id.
func TestForgettingReachesTheReceipts(t *testing.T) {
	root := t.TempDir()
	l := within(t, root)
	ids := learn(t, l, fact(t, "%s", portFact))
	ask := func(session string) ken.Receipt {
		turn := asked("Why can the billing worker not connect to the ledger service through its port since the migration?")
		turn.Session = session
		return l.Assemble(t.Context(), turn).Receipt
	}
	shown, gone, deleted := ask("shown"), ask("gone"), ask("deleted")
	c := asked("Note that " + portFact)
	c.Session = "said"
	l.Assemble(t.Context(), c)
	if err := l.ForgetSession(t.Context(), "", "gone"); err != nil {
		t.Fatal(err)
	}
	if err := l.End(t.Context(), "", "deleted", session.Deleted); err != nil {
		t.Fatal(err)
	}
	for _, r := range []ken.Receipt{gone, deleted} {
		if got := keptTurns(t, l, r.Session); len(got) != 0 {
			t.Errorf("of %s: %q", r.Session, got)
		}
	}
	if _, err := l.Forget(t.Context(), "", ids[0], "asked for", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	kept, err := l.Receipts("").Get(t.Context(), shown.Turn)
	if err != nil || kept.Items[0].ID != ids[0] || kept.Items[0].Kind != "" || len(kept.Items[0].Legs) != 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	if got := keptTurns(t, l, "said"); len(got) != 0 {
		t.Errorf("of the session in which it was said: %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, root, "8071")
}

// An incognito turn is given what is known and leaves nothing on the disk, nor do
// its words get there with a later turn of the same conversation.
func TestAnIncognitoTurnLeavesNothing(t *testing.T) {
	root := t.TempDir()
	var told []ken.Receipt
	l := open(t, settings(func(c *config.Config) { c.Middleware.Events = true }), func(o *middleware.Options) {
		o.Root, o.OnReceipt = root, func(_ context.Context, r ken.Receipt) { told = append(told, r) }
	})
	learn(t, l, fact(t, "%s", portFact))
	turn := asked("My sister Zerlina is ill. On which port does the ledger service listen?")
	turn.Session, turn.Incognito = "zerlina-session", true
	r := l.Assemble(t.Context(), turn).Receipt
	if len(r.Items) != 1 || len(told) != 1 {
		t.Errorf("it was given %+v, and %d were told", r.Items, len(told))
	}
	answer := ken.Message{Role: "assistant", Text: "Zerlina should rest; the port is eightyseventyone."}
	l.Answered(turn, answer)
	h := l.Session(turn)
	if _, err := h.Add(t.Context(), ken.Message{Role: "user", Text: "Zerlina again"}); err != nil {
		t.Error(err)
	}
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("receipts: %q", got)
	}
	if list, err := l.Journal("").List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	wantGone(t, root, "zerlina", "eightyseventyone", r.Turn)

	// The conversation goes on in the open: what is said from here on is kept.
	turn.Incognito = false
	turn.Messages = append(slices.Clone(turn.Messages), answer, ken.Message{Role: "user", Text: "Back to the ledger: which database has it?"})
	open := l.Assemble(t.Context(), turn).Receipt
	wantSaid(t, l, "zerlina-session", "user: Back to the ledger: which database has it?")
	if got := keptTurns(t, l, ""); !slices.Equal(got, []string{open.Turn}) {
		t.Errorf("receipts: %q", got)
	}

	// The same question in the open is a turn of its own, whoever composed the block.
	again := asked(turn.Messages[0].Text)
	again.Session, again.Incognito = "other", true
	first := l.Assemble(t.Context(), again).Receipt
	again.Incognito = false
	again.Messages = append(again.Messages, ken.Message{Role: "assistant", Text: "Let me look.", ToolCalls: []ken.ToolCall{{ID: "1", Name: "look"}}})
	second := l.Assemble(t.Context(), again).Receipt
	if first.Turn == second.Turn || !second.Reused || second.Block != first.Block {
		t.Errorf("turn %s, then %s, reused %v", first.Turn, second.Turn, second.Reused)
	}
	if got := keptTurns(t, l, "other"); !slices.Equal(got, []string{second.Turn}) {
		t.Errorf("receipts: %q", got)
	}
}

// A gateway's turns, many at once: each message and each receipt is there once.
func TestNoTurnIsLostUnderLoad(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", portFact))
	const clients, turns = 16, 12
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			turn := ken.Turn{Session: fmt.Sprint("s", c)}
			for i := range turns {
				turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: fmt.Sprintf("Question %d: which port has the ledger service?", i)})
				l.Assemble(context.Background(), turn)
				answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("Answer %d of %d.", i, c)}
				l.Answered(turn, answer)
				turn.Messages = append(slices.Clone(turn.Messages), answer)
			}
		})
	}
	wg.Wait()
	for c := range clients {
		id := fmt.Sprint("s", c)
		if got := keptTurns(t, l, id); len(got) != turns {
			t.Errorf("%s has %d receipts, want %d", id, len(got), turns)
		}
		if got := userText(t, l, "", id); len(got) != 2*turns || got[2*turns-1] != fmt.Sprintf("assistant: Answer %d of %d.", turns-1, c) {
			t.Errorf("%s has %d messages, want %d", id, len(got), 2*turns)
		}
	}
}

// A layer says that it lives before anything bears its name, and no longer.
func TestALayerIsAnnouncedWhileItLives(t *testing.T) {
	root := t.TempDir()
	announced := func() (names []string) {
		entries, _ := os.ReadDir(filepath.Join(root, ".ken", "state", ".processes"))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	l := within(t, root)
	turn := asked("On which port does the ledger service listen?")
	turn.Session = "s1"
	l.Assemble(t.Context(), turn)
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := l.Journal("").Info(t.Context(), "s1")
	if got := announced(); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], info.Process) {
		t.Errorf("announced are %q; the session is of %q, %v", got, info.Process, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := announced(); len(got) != 0 {
		t.Errorf("still announced: %q", got)
	}
}
