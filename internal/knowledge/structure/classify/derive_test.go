package classify_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
)

// derived is a dependency claim, by its key.
func derived(t testing.TB, s classify.Store, source, kind, target string) ken.Claim {
	t.Helper()
	c, err := s.ByKey(t.Context(), structure.DependencyKey(source, kind, target, ken.Scope{}))
	if err != nil {
		t.Fatalf("%s %s %s: %v", source, kind, target, err)
	}
	return c
}

func TestRulesDeriveDependenciesOnce(t *testing.T) {
	s := newStore(t, true)
	ids := write(t, s, fact(t, "The payments service depends on the ledger."))
	for range 3 {
		must(t, classify.Derive(t.Context(), s, ids...))
	}
	same(t, "dependencies", dependencies(t, s), []string{"payments requires ledger"})
	d := derived(t, s, "payments", "requires", "ledger")
	if d.Kind != ken.KindDependency || d.Aspect != "requires" || len(d.Entities) != 2 || d.Importance < 0.3 || d.SourceType != classify.SourceRules {
		t.Errorf("%+v", d)
	}
	if len(d.Evidence) != 1 || d.Evidence[0].ID != ids[0] || d.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("evidence %+v", d.Evidence)
	}
	events, err := s.History(t.Context(), d.ID)
	if err != nil || len(events) != 1 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// A second fact that says the same is further evidence; one that is less trusted than
// what is known does not lower its trust.
func TestFurtherFactsBackADependencyWithoutLoweringItsTrust(t *testing.T) {
	s := newStore(t, true)
	ids := write(t, s, fact(t, "The payments service depends on the ledger."), fact(t, "Payments requires the ledger."), outside(t, "The payments service requires the ledger."))
	must(t, classify.Derive(t.Context(), s, ids...))
	d := derived(t, s, "payments", "requires", "ledger")
	if len(d.Evidence) != 2 || d.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("%d pieces, trust %v", len(d.Evidence), d.Support(nil).Trust)
	}
}

// So it is where many are looked at together, in whichever order they came.
func TestWhoIsTrustedMostStatesADependencyFirst(t *testing.T) {
	r := newRig(t, filer("x"))
	var facts []ken.Claim
	for i := range 24 {
		c := outside(t, fmt.Sprintf("The payments service requires the ledger in step %d.", i))
		if i%8 == 7 {
			c.Evidence = fact(t, "x").Evidence
		}
		facts = append(facts, c)
	}
	r.write(facts...)
	r.run()
	if d := derived(t, r.s, "payments", "requires", "ledger"); len(d.Evidence) != 3 || d.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("%d pieces, trust %v", len(d.Evidence), d.Support(nil).Trust)
	}
}

// What was derived does not outlive what it was derived from, and comes back with it;
// what another fact states as well stays.
func TestDependenciesFollowTheirFacts(t *testing.T) {
	r := newRig(t, filer("x"))
	ids := r.write(fact(t, "The payments service depends on the ledger."), fact(t, "Payments requires the ledger."), fact(t, "The checkout service uses Redis."))
	r.run()
	same(t, "at first", dependencies(t, r.s), []string{"checkout uses redis", "payments requires ledger"})
	dispute := func(id string) {
		must(t, r.s.Transition(t.Context(), ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "wrong"}))
		r.run()
	}
	dispute(ids[0])
	dispute(ids[2])
	same(t, "one of two is disputed", dependencies(t, r.s), []string{"payments requires ledger"})
	dispute(ids[1])
	same(t, "both are disputed", dependencies(t, r.s), nil)
	must(t, r.s.Transition(t.Context(), ken.Transition{ID: ids[0], To: ken.StatusVerified}))
	r.run()
	same(t, "one is verified", dependencies(t, r.s), []string{"payments requires ledger"})
}

func TestFactThatIsRewrittenTakesItsDependencyBack(t *testing.T) {
	r := newRig(t, filer("x"))
	c := fact(t, "The payments service depends on the ledger.")
	c.Key = "k"
	r.write(c)
	r.run()
	c.Text = "The payments service depends on the vault."
	r.write(c)
	r.run()
	same(t, "dependencies", dependencies(t, r.s), []string{"payments requires vault"})
}

func TestDependencyThatAPersonTookBackStaysSo(t *testing.T) {
	r := newRig(t, filer("x"))
	r.write(fact(t, "The payments service depends on the ledger."))
	r.run()
	d := derived(t, r.s, "payments", "requires", "ledger")
	must(t, r.s.Transition(t.Context(), ken.Transition{ID: d.ID, To: ken.StatusDisputed, Reason: "not since the rewrite", Actor: ken.Actor{Type: "user"}}))
	r.write(fact(t, "Payments requires the ledger."))
	r.run()
	same(t, "dependencies", dependencies(t, r.s), nil)
}

func TestForgettingAFactForgetsWhatWasDerivedFromIt(t *testing.T) {
	r := newRig(t, filer("x"))
	ids := r.write(fact(t, "The payments service depends on the ledger."), fact(t, "Payments requires the ledger."))
	r.run()
	_, err := r.s.Forget(t.Context(), ids[0], "asked to", ken.Actor{})
	must(t, err)
	if _, err := r.s.ByKey(t.Context(), structure.DependencyKey("payments", "requires", "ledger", ken.Scope{})); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	r.run() // the other fact says so as well
	same(t, "dependencies", dependencies(t, r.s), []string{"payments requires ledger"})
	if d := derived(t, r.s, "payments", "requires", "ledger"); len(d.Evidence) != 1 || d.Evidence[0].ID != ids[1] {
		t.Errorf("it rests on %+v", d.Evidence)
	}
}

// Rules read everything again for what was forgotten. A model is asked about a fact once:
// neither its own answer is a reason to ask again, nor that another fact was forgotten.
func TestAModelIsAskedAboutAFactOnce(t *testing.T) {
	r := newRig(t, filer("x"))
	r.know("payments", "ledger")
	var ids []string
	for i := range 12 {
		ids = append(ids, r.write(fact(t, fmt.Sprintf("Payments and the ledger are counted in step %d.", i), "payments", "ledger"))...)
		r.run() // as they come
	}
	once := func(when string) {
		t.Helper()
		seen := map[string]int{}
		for _, in := range r.model.asked() {
			for _, f := range in.Facts {
				seen[f.Text]++
			}
		}
		for text, n := range seen {
			if n > 1 {
				t.Errorf("%s: asked %d times about %q", when, n, text)
			}
		}
		if len(seen) != len(ids) {
			t.Errorf("%s: asked about %d of %d facts", when, len(seen), len(ids))
		}
	}
	once("as they came")
	_, err := r.s.Forget(t.Context(), ids[0], "asked to", ken.Actor{})
	must(t, err)
	r.run()
	once("after one was forgotten")
}

// A dependency that is written just after its fact was forgotten has the fact's words.
func TestDependencyOfAForgottenFactIsForgotten(t *testing.T) {
	r := newRig(t, filer("x"))
	ids := r.write(fact(t, "The payments service depends on the ledger."))
	r.run()
	d := derived(t, r.s, "payments", "requires", "ledger")
	_, err := r.s.Forget(t.Context(), ids[0], "asked to", ken.Actor{})
	must(t, err)
	d.ID = ""
	id := r.write(d)[0]
	r.run()
	if _, err := r.s.Get(t.Context(), id); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
}

// What is said in one scope does not become known in another.
func TestDependenciesStayInTheirScope(t *testing.T) {
	r := newRig(t, filer("x"))
	a, b := ken.Scope{Type: ken.ScopeAgent, ID: "a"}, ken.Scope{Type: ken.ScopeAgent, ID: "b"}
	one, two := fact(t, "The payments service depends on the ledger."), fact(t, "Payments requires the ledger.")
	one.Scope, two.Scope = a, b
	ids := r.write(one, two)
	r.run()
	for i, scope := range []ken.Scope{a, b} {
		d, err := r.s.ByKey(t.Context(), structure.DependencyKey("payments", "requires", "ledger", scope))
		if err != nil || d.Scope != scope || len(d.Evidence) != 1 || d.Evidence[0].ID != ids[i] {
			t.Errorf("in %s: %+v, %v", scope, d, err)
		}
	}
	if _, err := r.s.ByKey(t.Context(), structure.DependencyKey("payments", "requires", "ledger", ken.Scope{})); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("everywhere: %v", err)
	}
	for _, in := range r.model.asked() {
		if len(in.Facts) > 1 {
			t.Error("a model saw facts of two scopes at once")
		}
	}
}

// What an external source says of dependencies is as trusted as that source.
func TestDependencyIsNoLouderThanItsFact(t *testing.T) {
	s := newStore(t, true)
	c := outside(t, "The payments service depends on the ledger.")
	c.Confidence = 0.4
	must(t, classify.Derive(t.Context(), s, write(t, s, c)...))
	if d := derived(t, s, "payments", "requires", "ledger"); d.Support(nil).Trust != ken.TrustExternal || d.Confidence != 0.4 || d.Constraint {
		t.Errorf("%+v", d)
	}
}

func TestClaimsThatAreGoneAreNoError(t *testing.T) {
	s := newStore(t, true)
	must(t, classify.Derive(t.Context(), s, "0190c0de-0000-7000-8000-000000000000"))
	d := fact(t, "chunk")
	d.Kind = ken.KindEpisode
	must(t, classify.Derive(t.Context(), s, write(t, s, d)...))
}
