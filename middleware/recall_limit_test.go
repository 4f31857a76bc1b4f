package middleware_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// Who asks for one claim gets one, however many rules there are about what the question
// names, and is told how many are left out.
func TestRecallKeepsToItsLimit(t *testing.T) {
	l := openIn(t, t.TempDir())
	defer l.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	write := func(text string) {
		t.Helper()
		c, err := ken.NewClaim(text, ken.FromToolResult("person", text))
		if err == nil {
			c.Entities, c.Constraint, c.AssignedBy = []string{"ledger"}, true, ken.AssignedByOperator
			_, err = s.WriteClaim(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		write(fmt.Sprintf("The ledger must never do thing %d.", i))
	}
	write("The ledger must stay on PostgreSQL 15.")
	for _, limit := range []int{1, 6} {
		got, err := l.Recall(t.Context(), middleware.RecallQuery{Question: "ledger PostgreSQL", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Claims) != limit || got.More == 0 || got.Claims[0].Text != "The ledger must stay on PostgreSQL 15." {
			t.Errorf("limit %d: %d claims, %d more, first %q", limit, len(got.Claims), got.More, got.Claims[0].Text)
		}
	}
}
