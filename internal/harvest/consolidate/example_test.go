package consolidate_test

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

func ExampleCompare() {
	for _, p := range [][2]string{
		{"The ledger runs on PostgreSQL 15", "the ledger runs on PostgreSQL 15."},
		{"Ana works at Google", "Ana joined Microsoft"},
		{"Ana does eat meat", "Ana does not eat meat"},
		{"The production database runs in us-east-1", "The staging database runs in us-east-1"},
	} {
		v := consolidate.Compare(consolidate.Statement{Text: p[0]}, consolidate.Statement{Text: p[1]})
		fmt.Println(v.Relation, "-", v.Why)
	}
	// Output:
	// same - the same words
	// updates - "joined Microsoft"
	// contradicts - only one of them says "not"
	// distinct - "production" and "staging"
}

func ExampleLearn() {
	ctx, st := context.Background(), memory.New(memory.Options{})
	for i, text := range []string{"The team uses npm", "the team uses npm.", "The team switched from npm to pnpm"} {
		c, err := ken.NewClaim(text, ken.FromUserStatement(fmt.Sprint("session-", i), "m1"))
		if err != nil {
			fmt.Println(err)
			return
		}
		c.Session, c.Key = fmt.Sprint("session-", i), fmt.Sprint("fact/session-", i)
		r, err := consolidate.Learn(ctx, st, c, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", r.Action.Do, r.Action.Reason)
	}
	// Output:
	// write ""
	// reinforce "same: the same words"
	// supersede "updates: \"switched from npm to pnpm\""
}

func ExampleEcho() {
	e := consolidate.NewEcho([]session.Injection{{ID: "c1", Text: "The ledger runs on PostgreSQL 15"}})
	for _, text := range []string{"As noted, the ledger uses PostgreSQL 15", "The ledger runs on PostgreSQL 15 in Frankfurt"} {
		_, echo := e.Repeats(text)
		fmt.Println(echo)
	}
	// Output:
	// true
	// false
}
