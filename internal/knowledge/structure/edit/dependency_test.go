package edit_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/store"
)

var allOutlines = store.OutlineOptions{Links: 1 << 20}

func TestADependencyIsOneHoweverItIsSaid(t *testing.T) {
	k := newKit(t)
	first := must[ken.Claim](t)(k.AddDependency(k.ctx, "The Payments-Service", "owned by", "Team Ada", 0))
	if first.Text != "The Payments-Service is owned by Team Ada" || first.Aspect != "owned_by" || first.Importance != edit.DefaultStrength ||
		first.Entities[0] != "payments service" || first.Kind != ken.KindDependency {
		t.Errorf("%+v", first)
	}
	before := k.s.Seq()
	again := must[ken.Claim](t)(k.AddDependency(k.ctx, "payments_service", "OWNED-BY", "team ada", 0))
	if again.ID != first.ID || k.s.Seq() != before {
		t.Errorf("%+v, and the log grew by %d", again, k.s.Seq()-before)
	}
	stronger := must[ken.Claim](t)(k.AddDependency(k.ctx, "payments service", "owned_by", "team ada", 0.9))
	if stronger.ID != first.ID || stronger.Importance != 0.9 || stronger.Text != first.Text {
		t.Errorf("%+v", stronger)
	}
	// An agent backs what a person has said, and does not weaken it.
	weaker := must[ken.Claim](t)(k.agent.AddDependency(k.ctx, "payments service", "owned_by", "team ada", 0.1, ken.FromURL("https://example.org", day, "")))
	if weaker.Importance != 0.9 || weaker.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("%+v", weaker)
	}
}

func TestRemovingAndAddingAgainIsInTheHistory(t *testing.T) {
	k := newKit(t)
	k.fact("Payments moves the money.", "payments")
	c := must[ken.Claim](t)(k.AddDependency(k.ctx, "payments", "requires", "ledger", 0.8))
	must[ken.Claim](t)(k.RemoveDependency(k.ctx, "payments", "requires", "ledger", "moved to the bank"))
	if v := k.view("payments"); len(v.Dependencies) != 0 {
		t.Errorf("still there: %+v", v.Dependencies)
	}
	_, err := k.RemoveDependency(k.ctx, "payments", "requires", "ledger", "")
	wantError(t, err, ken.CodeNotFound)
	_, err = k.agent.AddDependency(k.ctx, "payments", "requires", "ledger", 0)
	wantError(t, err, ken.CodeRefused, c.ID)
	back := must[ken.Claim](t)(k.AddDependency(k.ctx, "payments", "requires", "ledger", 0.6))
	if back.ID != c.ID || back.Importance != 0.6 {
		t.Errorf("%+v", back)
	}
	want := "written, disputed because moved to the bank, verified because stated again, revised"
	if got := k.history(c.ID); got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestRemovingNamesWhatThereIs(t *testing.T) {
	k := newKit(t)
	must[ken.Claim](t)(k.AddDependency(k.ctx, "payments", "requires", "ledger", 0))
	must[ken.Claim](t)(k.AddDependency(k.ctx, "payments", "uses", "redis", 0))
	_, err := k.RemoveDependency(k.ctx, "ledger", "requires", "payments", "")
	wantError(t, err, ken.CodeNotFound, "payments requires ledger")
	if strings.Contains(ken.Hint(err), "redis") {
		t.Error(ken.Hint(err))
	}
	_, err = k.agent.RemoveDependency(k.ctx, "payments", "requires", "ledger", "")
	wantError(t, err, ken.CodeRefused, "a person")
}

// Names of one thing make no second dependency, and one can be removed by any of them.
func TestDependenciesFollowNames(t *testing.T) {
	k := newKit(t)
	c := must[ken.Claim](t)(k.AddDependency(k.ctx, "pay", "requires", "ledger", 0))
	k.fact("Payments moves the money.", "payments")
	must[ken.Claim](t)(k.Merge(k.ctx, "pay", "payments", ""))
	again := must[ken.Claim](t)(k.AddDependency(k.ctx, "payments", "requires", "ledger", 0))
	if again.ID != c.ID {
		t.Errorf("a second one: %+v", again)
	}
	_, err := k.AddDependency(k.ctx, "pay", "uses", "payments", 0)
	wantError(t, err, ken.CodeInvalid, "two names of one thing")
	gone := must[ken.Claim](t)(k.RemoveDependency(k.ctx, "payments", "requires", "ledger", ""))
	if gone.ID != c.ID || gone.Status != ken.StatusDisputed {
		t.Errorf("%+v", gone)
	}
}

func TestDependenciesThatAreNone(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct {
		source, typ, target string
		strength            float64
		says                string
	}{
		{"payments", "likes", "ledger", 0, "uses, requires, owned_by, blocks, informs"},
		{"payments", "", "ledger", 0, "unknown type"},
		{"payments", "uses", "The Payments", 0, "itself"},
		{"", "uses", "ledger", 0, "source"},
		{"payments", "uses", "—", 0, ""},
		{"payments", "uses", strings.Repeat("y", 1<<20), 0, "target"},
		{"payments", "uses", "ledger", 1.5, "strength"},
		{"payments", "uses", "ledger", -0.1, "strength"},
		{"payments", "uses", "ledger", math.NaN(), "strength"},
	} {
		_, err := k.AddDependency(k.ctx, tt.source, tt.typ, tt.target, tt.strength)
		if tt.target == "—" && err == nil {
			continue // a dash may be a name
		}
		wantError(t, err, ken.CodeInvalid, tt.says)
	}
}

// A circle of dependencies is a fact of life; nothing loops over it.
func TestACircleOfDependencies(t *testing.T) {
	k := newKit(t)
	for _, d := range [][2]string{{"a1", "b1"}, {"b1", "c1"}, {"c1", "a1"}} {
		must[ken.Claim](t)(k.AddDependency(k.ctx, d[0], "requires", d[1], 0))
	}
	must[edit.Constraint](t)(k.AddConstraint(k.ctx, edit.NewConstraint{Text: "Never restart it.", Entities: []string{"c1"}}))
	k.wantRules("a1", "Never restart it.")
	k.wantRules("b1", "Never restart it.")
}

// Pain 19: of parallel writers none is lost.
func TestParallelDependenciesSurvive(t *testing.T) {
	k := newKit(t)
	var wg sync.WaitGroup
	for i := range 7 {
		wg.Go(func() {
			e := edit.New(k.s, k.operator())
			for _, to := range []string{"ledger", "target " + string(rune('a'+i))} {
				if _, err := e.AddDependency(k.ctx, "payments", "uses", to, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(k.view("payments").Dependencies); n != 8 {
		t.Errorf("%d dependencies, want 8", n)
	}
}
