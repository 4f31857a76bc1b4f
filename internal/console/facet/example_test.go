package facet_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// A page shows what there is of each kind, and what one of them has in common.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ken")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	now := func() time.Time { return time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC) }
	s, err := bolt.Open(ctx, dir, bolt.Options{Now: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for i, text := range []string{"The port is 8080.", "Deploys run on Fridays.", "Retries need a key."} {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", fmt.Sprint("m", i)))
		if err != nil {
			fmt.Println(err)
		}
		if c.Entities = []string{"Payments-Service"}; i > 0 {
			c.Kind, c.Entities = ken.KindPattern, []string{"the payments service", "Deployment"}
		}
		if _, err := s.WriteClaim(ctx, c); err != nil {
			fmt.Println(err)
		}
	}

	x := facet.New(facet.Options{Now: now})
	defer x.Close()
	if _, err := x.Catch(ctx, s); err != nil {
		fmt.Println(err)
	}
	page, err := x.Select(s.Owner(), facet.Selection{Kinds: []string{"pattern"}})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(page.Total, "claims")
	for _, f := range page.Facets {
		if f.Name == facet.Kind || f.Name == facet.Entity {
			fmt.Println(f.Name, f.Values)
		}
	}
	// Output:
	// 2 claims
	// kind [{pattern 2 true} {fact 1 false}]
	// entity [{Deployment 2 false} {Payments-Service 2 false}]
}
