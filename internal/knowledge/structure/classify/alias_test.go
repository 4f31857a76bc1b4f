package classify_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
)

// A sentence that gives another name joins the two, until the sentence falls or a person splits
// them.
func TestRulesDeriveAliases(t *testing.T) {
	s := newStore(t, true)
	ids := write(t, s, fact(t, "The ledger must stay on PostgreSQL 15."), fact(t, "The ledger, also called bookkeeper, holds the entries."))
	for range 2 {
		must(t, classify.Derive(t.Context(), s, ids...))
	}
	a, err := s.ByKey(t.Context(), structure.Scoped("alias:bookkeeper", ken.Scope{}))
	if err != nil || a.Kind != ken.KindAlias || !slices.Equal(a.Entities, []string{"ledger", "bookkeeper"}) || a.SourceType != classify.SourceRules {
		t.Fatalf("%+v, %v", a, err)
	}
	if sets, err := structure.New(s, nil).Resolve(t.Context(), "bookkeeper", &ken.Filter{Unscoped: true}); err != nil || len(sets) != 1 || sets[0][0] != "ledger" {
		t.Errorf("%v, %v", sets, err)
	}
	must(t, s.Transition(t.Context(), ken.Transition{ID: ids[1], To: ken.StatusDisputed, Reason: "no"}))
	must(t, classify.Derive(t.Context(), s, ids[1]))
	if a, err = s.Get(t.Context(), a.ID); err != nil || a.Status != ken.StatusDisputed {
		t.Errorf("when its sentence fell it is %s, %v", a.Status, err)
	}
}

// What a person split stays so, however often it is said.
func TestASplitAliasIsNotDerivedAgain(t *testing.T) {
	s := newStore(t, true)
	ids := write(t, s, fact(t, "The ledger is also known as bookkeeper."))
	must(t, classify.Derive(t.Context(), s, ids...))
	a, err := s.ByKey(t.Context(), structure.Scoped("alias:bookkeeper", ken.Scope{}))
	must(t, err)
	must(t, s.Transition(t.Context(), ken.Transition{ID: a.ID, To: ken.StatusDisputed, Reason: "split"}))
	more := write(t, s, fact(t, "Bookkeeper is another name for the ledger."))
	must(t, classify.Derive(t.Context(), s, append(ids, more...)...))
	if a, err = s.Get(t.Context(), a.ID); err != nil || a.Status != ken.StatusDisputed {
		t.Errorf("%s, %v", a.Status, err)
	}
}
