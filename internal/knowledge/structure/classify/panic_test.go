package classify_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// fragile panics when it is asked about a name that a text has made up.
type fragile struct{ *bolt.Store }

func (f fragile) Known(names []string) []bool {
	if slices.Contains(names, "exploder") {
		panic("what a text")
	}
	return f.Store.Known(names)
}

// A claim that can't be read is left as it is; those before and behind it are filed, and
// the next round does not stumble over it again.
func TestFilingSurvivesAClaim(t *testing.T) {
	r, ids := old(t, "The payments service depends on the ledger.", "The exploder service depends on the ledger.", "The checkout service depends on the ledger.")
	c := classify.New(fragile{r.s}, classify.Options{})
	must(t, c.CatchUp(t.Context()))
	for i, want := range []bool{true, false, true} {
		if got := r.get(ids[i]); (len(got.Entities) > 0) != want {
			t.Errorf("%q is about %q", got.Text, got.Entities)
		}
	}
	st, err := classify.Status(t.Context(), r.s.Shelf())
	must(t, err)
	if st.Rules == 0 {
		t.Errorf("%+v", st)
	}
}
