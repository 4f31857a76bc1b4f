package reading_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestDeeds(t *testing.T) {
	for text, want := range map[string]string{"install pandas": "uv", "add an index on orders.created_at": "indexes", "Deploy it": "releases", `{"command":"git push origin main"}`: "branches", "refund the customer": "refunds"} {
		got := reading.Deeds(text)
		if !slices.Contains(got, want) {
			t.Errorf("%q: %q lacks %s", text, got, want)
		}
		for _, n := range got {
			if analysis.Entity(n) != n {
				t.Errorf("%q is not spelled as names are", n)
			}
		}
	}
	if got := reading.Deeds("What is the ledger?"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
