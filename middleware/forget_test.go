package middleware_test

import (
	"context"
	"errors"
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

// A part of an id that named a claim which is gone does not reach another one.
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
