package classify_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
)

// tying answers with one target and type for all facts.
func tying(target, kind string) func(input) (string, error) {
	return says(func(string) string { return tied("side", target, kind) })
}

func TestModelFindsDependenciesThatRulesDoNotRead(t *testing.T) {
	r := newRig(t, tying("the Ledger", "Requires"))
	r.know("ledger", "vault", "payments")
	ids := r.write(fact(t, "Without a ledger behind it, payments stands still", "payments", "ledger"))
	r.run()
	same(t, "dependencies", dependencies(t, r.s), []string{"payments requires ledger"})
	d := derived(t, r.s, "payments", "requires", "ledger")
	kinds := map[ken.EvidenceKind]string{}
	for _, e := range d.Evidence {
		kinds[e.Kind] = e.ID + e.Detail
	}
	if d.SourceType != classify.SourceModel || kinds[ken.EvidenceRepositoryMemory] != ids[0] || kinds[ken.EvidenceModelInference] != "m" {
		t.Errorf("%s, %+v", d.SourceType, d.Evidence)
	}
}

// What a model invents is refused and counted, and nothing is guessed.
func TestInventionsOfAModelAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ target, kind, why string }{
		"an entity":         {"kubernetes cluster", "requires", "unknown"},
		"a type":            {"ledger", "depends_on", "type"},
		"itself":            {"payments", "uses", "loop"},
		"itself, otherwise": {"Payments", "uses", "loop"},
		"no name":           {"…", "uses", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tying(tt.target, tt.kind))
			r.know("ledger", "vault", "payments")
			r.write(fact(t, "A ledger stands next to payments", "payments", "ledger"))
			r.run()
			same(t, "dependencies", dependencies(t, r.s), nil)
			if n := r.counts(); n.Refused[tt.why] != 1 || n.Ties != 0 {
				t.Errorf("%+v", n)
			}
			if r.s.Known([]string{"kubernetes cluster"})[0] {
				t.Error("an invented entity is known now")
			}
		})
	}
}

// An entity that a fact of the batch names is no target for the others.
func TestTargetOfOneFactIsNoneForAnother(t *testing.T) {
	r := newRig(t, tying("vault", "uses"))
	r.know("ledger", "vault", "payments")
	ids := r.write(fact(t, "A ledger stands next to payments", "payments", "ledger"), fact(t, "A vault stands next to payments", "payments", "vault"))
	r.run()
	d := derived(t, r.s, "payments", "uses", "vault")
	if len(r.model.asked()) == 0 || slices.ContainsFunc(d.Evidence, func(e ken.Evidence) bool { return e.ID == ids[0] }) {
		t.Errorf("%+v", d.Evidence)
	}
}

// What a fact does not name is no target for it, though the model says so.
func TestFactsThatNameNothingElseAreTiedToNothing(t *testing.T) {
	r := newRig(t, tying("ledger", "uses"))
	r.know("ledger", "vault", "payments")
	r.write(fact(t, "The payments run at night", "payments"))
	r.run()
	same(t, "dependencies", dependencies(t, r.s), nil)
	for _, in := range r.model.asked() {
		if len(in.thing("payments").Known) > 0 {
			t.Errorf("asked %+v", in)
		}
	}
}

// An entity that is renamed or merged while a job holds it has its dependencies under
// the name that it has when they are written.
func TestEntityRenamedWhileAJobHoldsIt(t *testing.T) {
	r := newRig(t, nil)
	r.know("ledger", "vault", "payments")
	renamed := false
	r.model.then(func(in input) (string, error) {
		if !renamed {
			renamed = true
			alias(t, r, "billing", "payments")
			alias(t, r, "book", "ledger")
		}
		return tying("ledger", "requires")(in)
	})
	ids := r.write(fact(t, "Without a ledger behind it, payments stands still", "payments", "ledger"))
	r.run()
	if !renamed {
		t.Fatal("nobody was asked")
	}
	same(t, "dependencies", dependencies(t, r.s), []string{"billing requires book"})
	if c := r.get(ids[0]); c.AssignedBy != ken.AssignedByModel {
		t.Errorf("the fact is filed by %q", c.AssignedBy)
	}
}

// A name that stands for two things is no target: which one is meant is not guessed.
func TestAmbiguousTargetIsRefused(t *testing.T) {
	r := newRig(t, tying("ledger", "uses"))
	r.know("ledger", "vault", "payments")
	alias(t, r, "book", "ledger")
	c := fact(t, "ledger is another name of journal", "journal", "ledger")
	c.Kind, c.Key = ken.KindAlias, "alias:ledger:2"
	r.write(c, fact(t, "A ledger and a vault stand next to payments", "payments", "ledger", "vault"))
	r.run()
	same(t, "dependencies", dependencies(t, r.s), nil)
	if n := r.counts(); n.Refused["ambiguous"] == 0 {
		t.Errorf("%+v", n)
	}
}

// What was superseded or forgotten while the model thought is left alone.
func TestClaimsThatWereMovedWhileTheModelThoughtAreSkipped(t *testing.T) {
	for name, move := range map[string]func(r *rig, id string){
		"superseded": func(r *rig, id string) {
			next := r.write(fact(r.t, "Something else is so"))[0]
			must(r.t, r.s.Supersede(r.t.Context(), id, next))
		},
		"disputed": func(r *rig, id string) {
			must(r.t, r.s.Transition(r.t.Context(), ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "no"}))
		},
		"forgotten": func(r *rig, id string) {
			_, err := r.s.Forget(r.t.Context(), id, "asked to", ken.Actor{})
			must(r.t, err)
		},
		"decided by an operator": func(r *rig, id string) {
			_, err := r.s.Assign(r.t.Context(), ken.Assignment{ID: id, By: ken.AssignedByOperator, Aspect: "mine"})
			must(r.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.know("ledger", "vault", "payments")
			var id string
			moved := false
			r.model.then(func(in input) (string, error) {
				if !moved {
					moved = true
					move(r, id)
				}
				return tying("ledger", "requires")(in)
			})
			id = r.write(fact(t, "Without a ledger behind it, payments stands still", "payments", "ledger"))[0]
			rep := r.run()
			if !moved || rep.Retried+rep.Dead > 0 {
				t.Errorf("%+v", rep)
			}
			c, err := r.s.Get(t.Context(), id)
			if err == nil && c.AssignedBy == ken.AssignedByModel {
				t.Errorf("filed under %q", c.Aspect)
			}
			if name == "decided by an operator" {
				if c.Aspect != "mine" {
					t.Errorf("under %q", c.Aspect)
				}
			} else if got := dependencies(t, r.s); len(got) != 0 {
				t.Errorf("dependencies %q", got)
			}
		})
	}
}
