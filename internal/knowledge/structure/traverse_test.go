package structure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/structuretest"
	"github.com/kenlayer/ken/store"
)

func TestConstraintsOfWhatIsOneStepAway(t *testing.T) {
	s := newShelf(
		dependency("payments", "requires", "ledger", 0.9),
		dependency("shop", "uses", "payments", 0.8),
		dependency("ledger", "uses", "postgres", 0.8),
		dependency("payments", "informs", "metrics", 0.2), // too weak
		rule("payments"), rule("ledger"), rule("shop"), rule("postgres"), rule("metrics"), rule(), rule("unrelated"))
	tr := look(t, s, ask("deploy payments"), structure.Bounds{})
	equal(t, "rules", ruled(tr), []string{"4@0 of payments", "9@0 of ", "5@1 of ledger", "6@1 of shop"})
	equal(t, "via", *tr.Constraints[2].Via, structure.Step{Ref: 0, Focus: "payments", Entity: "ledger", Type: "requires", Out: true, Strength: 0.9})
	equal(t, "via", *tr.Constraints[3].Via, structure.Step{Ref: 1, Focus: "payments", Entity: "shop", Type: "uses", Strength: 0.8})
	equal(t, "told", len(tr.Dependencies), 2)
	equal(t, "all strengths", len(look(t, s, ask("deploy payments"), structure.Bounds{MinStrength: -1}).Constraints), 5)
}

// The names of a dependency's ends may be old names.
func TestDependenciesOfOldNames(t *testing.T) {
	s := newShelf(alias("payments", "billing"), alias("ledger", "books"), dependency("billing", "requires", "books", 1),
		dependency("payments", "uses", "billing", 1), rule("ledger"), rule("books"))
	equal(t, "rules", sorted(ruled(look(t, s, ask("deploy payments"), structure.Bounds{}))), []string{"4@1 of ledger", "5@1 of ledger"})
}

func TestACircleOfDependencies(t *testing.T) {
	s := newShelf(dependency("a1", "uses", "b1", 1), dependency("b1", "uses", "a1", 1), dependency("a1", "uses", "a1", 1), rule("a1"), rule("b1"))
	tr := look(t, s, ask("a1 or b1"), structure.Bounds{})
	equal(t, "both named", ruled(tr), []string{"3@0 of a1", "4@0 of b1"})
	equal(t, "one named", ruled(look(t, s, ask("a1"), structure.Bounds{})), []string{"3@0 of a1", "4@1 of b1"})
}

// No bound of a traversal may cut a rule.
func TestBoundsDontCutConstraints(t *testing.T) {
	var claims []ken.Claim
	for i := range 1000 {
		claims = append(claims, rule("hub"), dependency("hub", "uses", fmt.Sprintf("part%d", i), 0.3+float64(i%7)/10), rule(fmt.Sprintf("part%d", i)))
	}
	tr := look(t, newShelf(claims...), ask("look at hub"), structure.Bounds{Focal: 1, Aspects: 1, Attributes: 1, Dependencies: 1})
	near := 0
	for _, c := range tr.Constraints {
		if c.Distance == 0 {
			near++
		}
	}
	equal(t, "of it and of its parts", []int{near, len(tr.Constraints) - near}, []int{1000, 1000})
	equal(t, "told", len(tr.Dependencies), 1)
}

// An attribute may wait for its aspect. A rule does not.
func TestConstraintsThatWereNotClassified(t *testing.T) {
	mention := rule("deploys", "payments") // payments is not what it is filed under first
	s := newShelf(rule("payments"), mention, rule())
	equal(t, "rules", ruled(look(t, s, ask("deploy payments"), structure.Bounds{})), []string{"0@0 of payments", "1@0 of payments", "2@0 of "})
}

func TestConstraintsThatDontStand(t *testing.T) {
	var claims []ken.Claim
	for _, st := range []ken.Status{ken.StatusDisputed, ken.StatusSuperseded, ken.StatusHypothesis, ken.StatusObserved} {
		c := rule("payments")
		c.Status = st
		claims = append(claims, c)
	}
	expired := rule("payments")
	expired.ExpiresAt = day.Add(time.Hour)
	s := newShelf(append(claims, expired)...)
	_, tr, err := structure.New(s, nil).Look(t.Context(), ask("payments"), &ken.Filter{Now: day.Add(2 * time.Hour)}, structure.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rules", ruled(tr), []string{"3@0 of payments"})
}

func TestAttributesAreBounded(t *testing.T) {
	var claims []ken.Claim
	for e := range 3 {
		for a := range 12 {
			for i := range 25 {
				claims = append(claims, fact(fmt.Sprintf("aspect%d", a), fmt.Sprintf("svc%d", e), fmt.Sprintf("other%d", i%(a+1))))
			}
		}
	}
	s := newShelf(claims...)
	equal(t, "default", len(look(t, s, ask("svc0, svc1, svc2"), structure.Bounds{}).Attributes), 3*10*20)
	equal(t, "configured", len(look(t, s, ask("svc0, svc1, svc2"), structure.Bounds{Focal: 2, Aspects: 3, Attributes: 4}).Attributes), 2*3*4)
	tr := look(t, s, ask("svc0"), structure.Bounds{Aspects: 1, Attributes: 1})
	equal(t, "the weightiest", tr.Attributes[0].Aspect, "aspect11")
}

// A big entity must not fill a list with one aspect of it.
func TestAttributesTakeTurns(t *testing.T) {
	var claims []ken.Claim
	for i := range 20 {
		claims = append(claims, fact("deploys", "payments", fmt.Sprintf("x%d", i)), fact("owners", "payments"))
	}
	aspects := map[string]bool{}
	for _, a := range look(t, newShelf(claims...), ask("payments"), structure.Bounds{}).Attributes[:10] {
		aspects[a.Aspect] = true
	}
	equal(t, "aspects among the first", len(aspects), 2)
}

func TestOneHopFurtherOnlyWhereAskedFor(t *testing.T) {
	s := newShelf(dependency("payments", "requires", "ledger", 1), fact("storage", "ledger"), fact("deploys", "payments"))
	equal(t, "default", len(look(t, s, ask("payments"), structure.Bounds{}).Attributes), 1)
	got := look(t, s, ask("payments"), structure.Bounds{Expand: true}).Attributes
	if len(got) != 2 || got[0].Distance != 0 || got[1].Distance != 1 || got[1].Entity != "ledger" || got[1].Near >= got[0].Near {
		t.Errorf("%+v", got)
	}
	carried := structure.Signs{Carried: []string{"payments"}}
	equal(t, "what the turn does not name", len(look(t, s, carried, structure.Bounds{Expand: true}).Attributes), 1)
}

func TestTasksOfAnEntity(t *testing.T) {
	s := newShelf(task("t 0002", "payments"), task("t 0001", "payments", "ledger"), fact("", "payments"))
	var got []string
	for _, k := range look(t, s, ask("payments"), structure.Bounds{}).Tasks {
		got = append(got, k.Name)
	}
	equal(t, "tasks", got, []string{"t 0001", "t 0002"})
}

func TestTheSameTwice(t *testing.T) {
	s := newShelf(structuretest.Random(7, 500)...)
	signs := ask("e1 e2 e3 e4 e5 e6 e7 e8 e9")
	first, _, err := structure.New(s, nil).Look(t.Context(), signs, nil, structure.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	want := look(t, s, signs, structure.Bounds{Expand: true})
	for range 5 {
		equal(t, "look", look(t, s, signs, structure.Bounds{Expand: true}), want)
		got, err := structure.New(s, nil).Traverse(t.Context(), first, &ken.Filter{}, structure.Bounds{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "focal, then traverse", got, want)
	}
}

func TestAStoreThatFails(t *testing.T) {
	s := newShelf(rule("payments"))
	s.fail = errors.New("gone")
	if _, _, err := structure.New(s, nil).Look(t.Context(), ask("payments"), nil, structure.Bounds{}); !errors.Is(err, s.fail) {
		t.Errorf("%v", err)
	}
}

// A store in another process is asked over a socket.
func TestAskedSeldom(t *testing.T) {
	s := newShelf(structuretest.Random(3, 500)...)
	look(t, s, ask("e1 e2 e3 e4 e5 e6 e7 e8 e9"), structure.Bounds{Expand: true})
	if s.asked > 12 {
		t.Errorf("%d calls", s.asked)
	}
}

// What lies beside a turn's names in something else than claims is one dependency away.
func TestRulesOfWhatLiesBeside(t *testing.T) {
	s := newShelf(rule("store.shelf"), rule("ledger"), rule("journal"), alias("ledger", "books"), rule("payments"),
		dependency("payments", "requires", "ledger", 0.5))
	signs := ask("May I change it?")
	signs.Named = []string{"Store.Shelf"}
	signs.Beside = []structure.Beside{
		{Focus: "store.Shelf", Names: []string{"unknown", "Books"}, Type: "calls", Out: true, Strength: 0.9},
		{Focus: "store.Shelf", Names: []string{"journal"}, Type: "depends_on", Strength: 0.4},
		{Focus: "store.Shelf", Names: []string{"store.shelf", "payments"}, Type: "calls", Strength: 0.2},
	}
	tr := look(t, s, signs, structure.Bounds{})
	equal(t, "rules", ruled(tr), []string{"0@0 of store.shelf", "1@1 of ledger", "2@1 of journal"})
	equal(t, "via", tr.Constraints[1].Via.Clause(), "which store.Shelf calls")
	equal(t, "via", tr.Constraints[2].Via.Clause(), "which depends on store.Shelf")
	equal(t, "told", len(tr.Dependencies), 0)
	equal(t, "what counts", ruled(look(t, s, signs, structure.Bounds{MinStrength: 0.5})), []string{"0@0 of store.shelf", "1@1 of ledger"})
	equal(t, "everything", len(look(t, s, signs, structure.Bounds{MinStrength: -1}).Constraints), 4)

	signs.Signals.Symbols, signs.Text = []string{"payments"}, "May I change payments?"
	equal(t, "by a claim as well", ruled(look(t, s, signs, structure.Bounds{})),
		[]string{"4@0 of payments", "0@0 of store.shelf", "1@1 of ledger", "2@1 of journal"})
}

func TestWeight(t *testing.T) {
	for _, tt := range []struct {
		name        string
		a           store.AspectOutline
		largest     int
		shown, used float64
		want        float64
	}{
		{"never shown, touches nothing", store.AspectOutline{Name: "a", Claims: 500}, 8, 0, 0, 0.25},
		{"the most central", store.AspectOutline{Name: "a", Others: 5, Constraints: 3}, 8, 0, 0, 0.75},
		{"half as central", store.AspectOutline{Name: "a", Others: 4}, 8, 0, 0, 0.5},
		{"used each time", store.AspectOutline{Name: "a", Others: 8}, 8, 98, 98, 0.5 + 99.0/200},
		{"never used", store.AspectOutline{Name: "a", Others: 8}, 8, 98, 0, 0.5 + 1.0/200},
		{"not classified", store.AspectOutline{Others: 8, Constraints: 8}, 16, 0, 0, 0.25},
		{"nothing to compare with", store.AspectOutline{Name: "a"}, 0, 0, 0, 0.25},
		{"counts that make no sense", store.AspectOutline{Name: "a"}, 0, 1, 5, 6.0 / 14},
		{"below zero", store.AspectOutline{Name: "a"}, 0, -3, -2, 0.25},
	} {
		if got := structure.Weight(&tt.a, tt.largest, tt.shown, tt.used); got != tt.want {
			t.Errorf("%s: %v, not %v", tt.name, got, tt.want)
		}
	}
}

// used counts for one aspect alone.
type used string

func (u used) Counts(entity, aspect string) (shown, times float64) {
	if entity != "payments" || aspect != string(u) {
		return 0, 0
	}
	return 50, 50
}

// How much is filed under an aspect is nothing; whether answers use it is.
func TestUtilityMovesAspects(t *testing.T) {
	var claims []ken.Claim
	for i := range 30 {
		claims = append(claims, fact("deploys", "payments", fmt.Sprint("x", i%3)))
	}
	s := newShelf(append(claims, fact("owners", "payments", "ada", "priya", "mia"))...)
	for _, tt := range []struct {
		u    structure.Utility
		want string
	}{{nil, "deploys"}, {used("owners"), "owners"}, {used("deploys"), "deploys"}} {
		_, tr, err := structure.New(s, tt.u).Look(t.Context(), ask("payments"), nil, structure.Bounds{Aspects: 1, Attributes: 1})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprint(tt.u), tr.Attributes[0].Aspect, tt.want)
	}
}
