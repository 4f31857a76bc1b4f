package attention_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store/memory"
)

func ExampleList() {
	ctx := context.Background()
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	s := memory.New(memory.Options{Now: func() time.Time { return now }})
	id, err := s.WriteClaim(ctx, ken.Claim{Text: "The sagas time out after 5 s.", Status: ken.StatusVerified, Confidence: 1,
		Evidence: []ken.Evidence{ken.FromFile("saga.go", "", "")}})
	if err != nil {
		panic(err)
	}
	if err := s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "the trace shows 9 s"}); err != nil {
		panic(err)
	}
	items, err := attention.List(ctx, s, s.Shelf(), attention.Options{Now: now})
	if err != nil {
		panic(err)
	}
	for _, i := range items {
		fmt.Printf("%s: %s\n%s\n", i.Severity, i.Action, i.Text)
	}
	// Output:
	// warning: Review conflicting evidence
	// Was verified: “The sagas time out after 5 s.” Disputed: the trace shows 9 s
}
