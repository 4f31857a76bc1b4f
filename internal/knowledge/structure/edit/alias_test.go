package edit_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/store/shared"
)

const (
	noFriday  = "Never deploy on Fridays."
	noFloat   = "Never use floats for money."
	freezeDec = "Never merge in December."
)

// Merge, split, merge again: the rules follow at once, and the history tells it all.
func TestMergeSplitAndMergeAgain(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "payments")
	k.rule(noFloat, "pay-svc")
	c := must[ken.Claim](t)(k.Merge(k.ctx, "Pay-Svc", "payments", "one service"))
	for _, n := range []string{"payments", "pay svc"} {
		k.wantRules(n, noFriday, noFloat)
		if v := k.view(n); v.Name != "payments" || !slices.Equal(v.Aliases, []string{"pay svc"}) {
			t.Errorf("%s is %s, also %q", n, v.Name, v.Aliases)
		}
	}
	before := k.s.Seq()
	if same := must[ken.Claim](t)(k.Merge(k.ctx, "pay_svc", "payments", "")); same.ID != c.ID || k.s.Seq() != before {
		t.Errorf("merging again wrote %d events", k.s.Seq()-before)
	}
	must[ken.Claim](t)(k.Split(k.ctx, "pay svc", "two after all"))
	k.wantRules("payments", noFriday)
	k.wantRules("pay svc", noFloat)
	_, err := k.Split(k.ctx, "pay svc", "")
	wantError(t, err, ken.CodeNotFound, "not another name")
	again := must[ken.Claim](t)(k.Merge(k.ctx, "pay svc", "payments", "one"))
	if again.ID != c.ID {
		t.Errorf("another claim: %+v", again)
	}
	k.wantRules("payments", noFriday, noFloat)
	if got, want := k.history(c.ID), "written, disputed because two after all, verified because one"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

// What people call a thing need not be known as a name; what it is has to be.
func TestAnotherNameThatNobodyHasUsedYet(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "payments")
	if _, err := k.Merge(k.ctx, "till", "payments", ""); err == nil {
		t.Error("merged a name that nobody knows")
	}
	must[ken.Claim](t)(k.Alias(k.ctx, "payments", "The Till", ""))
	k.wantRules("till", noFriday)
	_, err := k.Alias(k.ctx, "paymints", "cash desk", "")
	wantError(t, err, ken.CodeNotFound, "payments")
	must[ken.Claim](t)(k.Split(k.ctx, "till", ""))
	if v, err := entity.Show(k.ctx, k.s, "till", &ken.Filter{}); err == nil && len(v.Constraints) > 0 {
		t.Errorf("after the split: %+v", v.Constraints)
	}
}

func (k *kit) rule(text string, entities ...string) string {
	k.Helper()
	return must[edit.Constraint](k)(k.AddConstraint(k.ctx, edit.NewConstraint{Text: text, Entities: entities})).Claim.ID
}

func TestAMergedNameCanBeMergedElsewhereAfterASplit(t *testing.T) {
	k := newKit(t)
	for _, n := range []string{"a1", "b1", "c1"} {
		k.rule("Never touch "+n+" by hand.", n)
	}
	first := must[ken.Claim](t)(k.Merge(k.ctx, "a1", "b1", ""))
	_, err := k.Merge(k.ctx, "a1", "c1", "")
	wantError(t, err, ken.CodeRefused, `another name of "b1"`, "Split")
	must[ken.Claim](t)(k.Split(k.ctx, "a1", ""))
	second := must[ken.Claim](t)(k.Merge(k.ctx, "a1", "c1", ""))
	if second.ID != first.ID || !slices.Equal(second.Entities, []string{"c1", "a1"}) || second.Status == ken.StatusDisputed {
		t.Errorf("%+v", second)
	}
	if v := k.view("a1"); v.Name != "c1" {
		t.Errorf("it is %s", v.Name)
	}
}

func TestACircleOfNamesIsRefusedWithItsChain(t *testing.T) {
	k := newKit(t)
	for _, n := range []string{"a1", "b1", "c1"} {
		k.rule("Never touch "+n+" by hand.", n)
	}
	must[ken.Claim](t)(k.Merge(k.ctx, "a1", "b1", ""))
	must[ken.Claim](t)(k.Merge(k.ctx, "b1", "c1", ""))
	before := k.s.Seq()
	_, err := k.Merge(k.ctx, "c1", "a1", "")
	wantError(t, err, ken.CodeRefused, "c1 → a1 → b1 → c1")
	_, err = k.Rename(k.ctx, "c1", "a1")
	wantError(t, err, ken.CodeRefused, "a1 → b1 → c1")
	for _, same := range []string{"a1", "The A1", "a-1"} {
		if _, err := k.Merge(k.ctx, "a1", same, ""); same != "a-1" {
			wantError(t, err, ken.CodeInvalid, "one name")
		} else {
			wantError(t, err, ken.CodeNotFound)
		}
	}
	if k.s.Seq() != before {
		t.Error("something was written")
	}
	// Two that are one by way of a third are one already.
	if c := must[ken.Claim](t)(k.Merge(k.ctx, "a1", "c1", "")); c.Entities[0] != "b1" || k.s.Seq() != before {
		t.Errorf("%+v", c)
	}
}

// A circle that came in by an import is one thing, for who reads and for who edits.
func TestACircleThatIsThereIsOneThing(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "a1")
	k.rule(noFloat, "b1")
	for _, pair := range [][]string{{"a1", "b1"}, {"b1", "a1"}} {
		c := ken.Claim{Kind: ken.KindAlias, Key: "alias:" + pair[1], Text: pair[1] + " is " + pair[0], Entities: pair, Aspect: "alias",
			Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", day, "")}, Status: ken.StatusObserved}
		if _, err := k.s.WriteClaim(k.ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	k.wantRules("a1", noFriday, noFloat)
	k.wantRules("b1", noFriday, noFloat)
	must[ken.Claim](t)(k.Split(k.ctx, "b1", "a mistake"))
	k.wantRules("b1", noFriday, noFloat)
	must[ken.Claim](t)(k.Split(k.ctx, "a1", "a mistake"))
	k.wantRules("a1", noFriday)
}

func TestRenameThereAndBack(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "payments")
	must[ken.Claim](t)(k.Rename(k.ctx, "payments", "Money-Mover"))
	k.rule(noFloat, "money mover")
	for _, n := range []string{"payments", "money mover"} {
		k.wantRules(n, noFriday, noFloat)
		if v := k.view(n); v.Name != "money mover" {
			t.Errorf("%s is %s", n, v.Name)
		}
	}
	must[ken.Claim](t)(k.Rename(k.ctx, "money mover", "payments"))
	for _, n := range []string{"payments", "money mover"} {
		k.wantRules(n, noFriday, noFloat)
		if v := k.view(n); v.Name != "payments" {
			t.Errorf("%s is %s", n, v.Name)
		}
	}
	// And once more, as people do.
	must[ken.Claim](t)(k.Rename(k.ctx, "payments", "money mover"))
	if v := k.view("payments"); v.Name != "money mover" {
		t.Errorf("it is %s", v.Name)
	}
	k.rule(freezeDec, "ledger")
	_, err := k.Rename(k.ctx, "payments", "ledger")
	wantError(t, err, ken.CodeExists, "Merge")
	_, err = k.Rename(k.ctx, "paiments", "x1")
	wantError(t, err, ken.CodeNotFound, `Did you mean "payments"`)
}

func TestUnknownNamesAreToldTheNearest(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "payments service")
	k.rule(noFloat, "ledger")
	for name, near := range map[string]string{"payment service": "payments service", "leger": "ledger", "payments": "payments service"} {
		_, err := k.Merge(k.ctx, name, "ledger", "")
		wantError(t, err, ken.CodeNotFound, near)
	}
	_, err := k.Merge(k.ctx, "quite another thing", "ledger", "")
	wantError(t, err, ken.CodeNotFound, "search for a part")
	_, err = k.Split(k.ctx, "nobody", "")
	wantError(t, err, ken.CodeNotFound)
}

// An agent does not undo what a person has said.
func TestAnAgentDoesNotTakeBackAPersonsMerge(t *testing.T) {
	k := newKit(t)
	k.rule(noFriday, "a1")
	k.rule(noFloat, "b1")
	must[ken.Claim](t)(k.Merge(k.ctx, "a1", "b1", ""))
	_, err := k.agent.Split(k.ctx, "a1", "I think so")
	wantError(t, err, ken.CodeRefused, "a person")
	_, err = k.agent.Rename(k.ctx, "b1", "a1")
	wantError(t, err, ken.CodeRefused, "a person")
	must[ken.Claim](t)(k.Describe(k.ctx, "b1", "system", "B1: the second"))
	_, err = k.agent.Describe(k.ctx, "b1", "person", "")
	wantError(t, err, ken.CodeRefused, "a person")
}

func TestDescribe(t *testing.T) {
	k := newKit(t)
	first := must[ken.Claim](t)(k.Describe(k.ctx, "The Payments-Service", "System", "Payments Service: moves the money"))
	v := k.view("payments service")
	if v.Type != "system" || v.Display != "Payments Service" || v.About != "moves the money" {
		t.Errorf("%+v", v)
	}
	// What is left out stays.
	second := must[ken.Claim](t)(k.Describe(k.ctx, "payments service", "tool", ""))
	third := must[ken.Claim](t)(k.Describe(k.ctx, "payments service", "", "moves it fast"))
	if first.ID != second.ID || first.ID != third.ID {
		t.Error("three claims")
	}
	if v := k.view("payments service"); v.Type != "tool" || v.Display != "payments service" || v.About != "moves it fast" {
		t.Errorf("%+v", v)
	}
	// A renamed entity keeps its description, and is shown by its new name.
	must[ken.Claim](t)(k.Describe(k.ctx, "tom", "person", "Tom: owns the letters"))
	must[ken.Claim](t)(k.Rename(k.ctx, "tom", "Thomas"))
	if v := k.view("tom"); v.Name != "thomas" || v.Display != "thomas" || v.About != "owns the letters" || v.Type != "person" {
		t.Errorf("%+v", v)
	}
	for _, typ := range []string{"planet", "task"} {
		_, err := k.Describe(k.ctx, "x1", typ, "")
		wantError(t, err, ken.CodeInvalid)
	}
	only := must[ken.Claim](t)(k.Describe(k.ctx, "CacheServer", "", ""))
	if only.Aspect != entity.Unknown || only.Text != "CacheServer" {
		t.Errorf("%+v", only)
	}
}

// Names are whatever people call things: none of them breaks anything, and what is too
// much is refused in a few words.
func TestNamesOfEverySort(t *testing.T) {
	k := newKit(t)
	for _, name := range []string{"internal/store/bolt.go", "支払いサービス", "🚀 launcher", "C++", "payments\u202egnp.exe", "ÅNGSTRÖM", "a\x00b", "x.y-z_1"} {
		must[ken.Claim](t)(k.Describe(k.ctx, name, "concept", ""))
		must[ken.Claim](t)(k.AddDependency(k.ctx, name, "uses", "ledger", 0))
		k.rule("Never lose what "+name+" holds.", name)
		if v := k.view(name); len(v.Constraints) != 1 || len(v.Dependencies) != 1 || v.Type != "concept" {
			t.Errorf("%q: %+v", name, v)
		}
		if strings.ContainsRune(k.view(name).Display, '\u202e') || strings.ContainsRune(k.view(name).Display, 0) {
			t.Errorf("%q turns the line around", name)
		}
	}
	for _, name := range []string{"", " ", "***", strings.Repeat("n", 1<<20), strings.Repeat("支", 1<<18)} {
		for what, err := range map[string]error{
			"describe": second(k.Describe(k.ctx, name, "", "")), "merge": second(k.Merge(k.ctx, name, "ledger", "")),
			"rename": second(k.Rename(k.ctx, "ledger", name)), "split": second(k.Split(k.ctx, name, "")),
			"depend": second(k.AddDependency(k.ctx, "ledger", "uses", name, 0)),
		} {
			if err == nil || len(err.Error()) > 1000 {
				t.Errorf("%s of %.20q: %.100v", what, name, err)
				continue
			}
			wantError(t, err, ken.CodeInvalid)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Two processes that merge at once, each the other way round, make no circle: one of
// them is told.
func TestTwoProcessesDoNotMakeACircle(t *testing.T) {
	a, b := processes(t)
	ctx := t.Context()
	o := edit.Options{Actor: ada, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", day, "")}}
	one, two := edit.New(a, o), edit.New(b, o)
	for _, n := range []string{"a1", "b1"} {
		if _, err := one.Describe(ctx, n, "system", ""); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	wg.Go(func() { _, errs[0] = one.Merge(ctx, "a1", "b1", "") })
	wg.Go(func() { _, errs[1] = two.Merge(ctx, "b1", "a1", "") })
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("%v and %v", errs[0], errs[1])
	}
	wantError(t, errors2(errs), ken.CodeRefused, "circle of names")
}

func errors2(errs []error) error {
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}

// processes are two that share an owner's folder, as two processes do.
func processes(t *testing.T) (a, b engine) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s")
	open := func() engine {
		w := shared.NewOwners(dir, 0, shared.Options{})
		s, release, err := w.Get(t.Context(), ken.DefaultOwner)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			release()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	return open(), open()
}
