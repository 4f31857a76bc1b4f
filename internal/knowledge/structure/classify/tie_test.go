package classify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
)

// tying answers pass 2b with one target and type for all facts.
func tying(target, kind string) func(string, input) (string, error) {
	return says(func(task, _ string) string {
		if task == "classify" {
			return `"aspect":"side","kind":"attribute","new":true`
		}
		return `"dep_target":"` + target + `","dep_type":"` + kind + `"`
	})
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
	r := newRig(t, says(func(task, text string) string {
		if task == "classify" {
			return `"aspect":"side","kind":"attribute","new":true`
		}
		return `"dep_target":"vault","dep_type":"uses"`
	}))
	r.know("ledger", "vault", "payments")
	ids := r.write(fact(t, "A ledger stands next to payments", "payments", "ledger"), fact(t, "A vault stands next to payments", "payments", "vault"))
	r.run()
	d := derived(t, r.s, "payments", "uses", "vault")
	if len(r.model.asked("dependency")) == 0 || slices.ContainsFunc(d.Evidence, func(e ken.Evidence) bool { return e.ID == ids[0] }) {
		t.Errorf("%+v", d.Evidence)
	}
}

func TestFactsThatNameNothingElseAreNotAskedAbout(t *testing.T) {
	r := newRig(t, tying("ledger", "uses"))
	r.know("ledger", "vault", "payments")
	r.write(fact(t, "The payments run at night", "payments"))
	r.run()
	if got := r.model.asked("dependency"); len(got) != 0 {
		t.Errorf("asked %+v", got)
	}
}

func TestAtMostFiveFactsAtOnceAreAskedForDependencies(t *testing.T) {
	r := newRig(t, tying("ledger", "uses"))
	r.know("ledger", "vault", "payments")
	var claims []ken.Claim
	for _, when := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		claims = append(claims, fact(t, "The payments are booked into the ledger on "+when, "payments", "ledger"))
	}
	r.write(claims...)
	r.run()
	var sizes []int
	for _, in := range r.model.asked("dependency") {
		sizes = append(sizes, len(in.Facts))
		if in.Source != "payments" || !slices.Contains(in.Known, "ledger") || len(in.Known) > 40 {
			t.Errorf("%+v", in)
		}
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{2, 5}) {
		t.Errorf("batches of %v", sizes)
	}
}

// An entity that is renamed or merged while a job holds it has its dependencies under
// the name that it has when they are written.
func TestEntityRenamedWhileAJobHoldsIt(t *testing.T) {
	r := newRig(t, nil)
	r.know("ledger", "vault", "payments")
	renamed := false
	r.model.then(func(task string, in input) (string, error) {
		if task == "dependency" && !renamed {
			renamed = true
			alias(t, r, "billing", "payments")
			alias(t, r, "book", "ledger")
		}
		return tying("ledger", "requires")(task, in)
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
			r.model.then(func(task string, in input) (string, error) {
				if !moved {
					moved = true
					move(r, id)
				}
				return tying("ledger", "requires")(task, in)
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

// An error in one pass does not touch the other.
func TestPassesAreIsolated(t *testing.T) {
	for _, fails := range []string{"classify", "dependency"} {
		r := newRig(t, nil)
		r.know("ledger", "vault", "payments")
		r.model.then(func(task string, in input) (string, error) {
			if task == fails {
				return "", errDown
			}
			return tying("ledger", "requires")(task, in)
		})
		ids := r.write(fact(t, "Without a ledger behind it, payments stands still", "payments", "ledger"))
		rep := r.run()
		if rep.Done != 1 || rep.Retried != 1 {
			t.Errorf("%s fails: %+v", fails, rep)
		}
		filed, tied := r.get(ids[0]).AssignedBy == ken.AssignedByModel, len(dependencies(t, r.s)) == 1
		if filed != (fails != "classify") || tied != (fails != "dependency") {
			t.Errorf("%s fails: filed %v, tied %v", fails, filed, tied)
		}
		for _, j := range rep.Jobs {
			if j.State == jobs.Queued && !strings.Contains(j.Error, "down") {
				t.Errorf("%+v", j)
			}
		}
	}
}
