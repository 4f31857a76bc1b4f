package middleware_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// A claim that is disputed in the middle of a conversation was told already, and what was
// told stays as it is: the next block says that it is disputed, once. When it stands again,
// it may be told again.
func TestADisputeIsToldToTheConversationThatKnowsTheClaim(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "The staging host of the ledger is called heron."), fact(t, "The ledger keeps its backups for ninety days."))
	turn := ken.Turn{Session: "s1"}
	ask := func(text string) ken.Receipt {
		turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: text})
		r := l.Assemble(t.Context(), turn).Receipt
		turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Done."})
		return r
	}
	first := ask("What is the staging host of the ledger called, and how long are its backups kept?")
	if inBlock(&first, ids[0]) == nil || inBlock(&first, ids[1]) == nil {
		t.Fatalf("the claims are not told:\n%s", first.Block)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	move := func(to ken.Status) {
		t.Helper()
		if err := s.Transition(t.Context(), ken.Transition{ID: ids[0], To: to, Reason: "it was renamed"}); err != nil {
			t.Fatal(err)
		}
	}
	move(ken.StatusDisputed)
	second := ask("How do I restart the staging host of the ledger?")
	it := inBlock(&second, ids[0])
	if it == nil || it.Fallen != ken.StatusDisputed || second.Items[0].ID != ids[0] || !strings.Contains(second.Block, ", disputed since it was told |") || inBlock(&second, ids[1]) != nil {
		t.Errorf("%+v in\n%s", it, second.Block)
	}
	if third := ask("And how do I stop the staging host of the ledger?"); inBlock(&third, ids[0]) != nil {
		t.Errorf("it is announced twice:\n%s", third.Block)
	}
	move(ken.StatusVerified)
	fourth := ask("So what is the staging host of the ledger called?")
	if it := inBlock(&fourth, ids[0]); it == nil || it.Fallen != "" {
		t.Errorf("it stands again, and %+v is told\n%s", it, fourth.Block)
	}
	if err := l.Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Replay(t.Context(), "", second.Turn); err != nil || !r.Exact || r.Block != second.Block {
		t.Errorf("replayed as %+v, %v\n%s", r, err, second.Block)
	}
}
