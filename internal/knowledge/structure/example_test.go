package structure_test

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store/memory"
)

func ExampleGraph_Look() {
	ctx, s := context.Background(), memory.New(memory.Options{})
	write := func(text string, kind ken.Kind, aspect string, constraint bool, entities ...string) {
		c, _ := ken.NewClaim(text, ken.FromUserStatement("session-1", "message-1"))
		c.Kind, c.Aspect, c.Constraint, c.Entities, c.Importance = kind, aspect, constraint, entities, 0.9
		if _, err := s.WriteClaim(ctx, c); err != nil {
			panic(err)
		}
	}
	write("Never deploy the payments service on Fridays.", ken.KindFact, "deploys", true, "payments")
	write("The ledger must stay on PostgreSQL 15.", ken.KindFact, "storage", true, "ledger")
	write("Payments requires the ledger.", ken.KindDependency, "requires", false, "payments", "ledger")

	g := structure.New(s, nil)
	focal, found, err := g.Look(ctx, structure.Signs{Text: "Can I deploy payments today?"}, &ken.Filter{}, structure.Bounds{})
	if err != nil {
		panic(err)
	}
	fmt.Println("about", focal[0].Name)
	for _, c := range found.Constraints {
		claim, _ := s.Claim(ctx, c.Ref)
		if c.Via != nil {
			fmt.Printf("%s (of %s, %s)\n", claim.Text, c.Entity, c.Via.Clause())
			continue
		}
		fmt.Println(claim.Text)
	}
	// Output:
	// about payments
	// Never deploy the payments service on Fridays.
	// The ledger must stay on PostgreSQL 15. (of ledger, which payments requires)
}
