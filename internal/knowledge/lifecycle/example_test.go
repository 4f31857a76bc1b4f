package lifecycle_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/store/memory"
)

func ExamplePlan() {
	ctx := context.Background()
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := memory.New(memory.Options{Now: clock})
	if _, err := s.WriteClaim(ctx, ken.Claim{Text: "The code freeze ends on Friday.", ExpiresAt: now.Add(6 * 24 * time.Hour), Confidence: 1,
		Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}); err != nil {
		panic(err)
	}
	now = now.Add(8 * 24 * time.Hour)
	d := lifecycle.Deps{Store: s, Now: clock}
	changes, err := lifecycle.Plan(ctx, d, lifecycle.Default())
	if err != nil {
		panic(err)
	}
	for _, c := range changes {
		fmt.Printf("%s: %s (%s > %s), %s\n", c.Rule, c.What, c.From, c.To, c.Why)
	}
	if _, err := lifecycle.Apply(ctx, d, changes, nil); err != nil {
		panic(err)
	}
	found, err := lifecycle.Archived(ctx, s, "freeze", ken.Filter{}, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found), "in the archive")
	// Output:
	// archive expired: The code freeze ends on Friday. (observed > archived), expired 2 days ago
	// 1 in the archive
}
