package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// A block that an ongoing conversation carries goes with a claim that was
// forgotten: sticky must not mean that deleted text is sent on.
func TestForgottenClaimLeavesRunningConversations(t *testing.T) {
	ctx := context.Background()
	l := open(t, settings())
	ids := learn(t, l, fact(t, about))
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
