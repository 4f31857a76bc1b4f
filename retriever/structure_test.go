package retriever_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// known is a store with claims in it, in their order.
func known(t testing.TB, claims ...ken.Claim) (s *memory.Store, ids []string) {
	t.Helper()
	s = memory.New(memory.Options{})
	for _, c := range claims {
		id, err := s.WriteClaim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return s, ids
}

func noted(t testing.TB, text, aspect string, entities ...string) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	c.Entities, c.Aspect, c.AssignedBy = entities, aspect, ken.AssignedByOperator
	return c
}

func rule(t testing.TB, text string, entities ...string) ken.Claim {
	c := noted(t, text, "", entities...)
	c.Constraint = true
	return c
}

func about(question string, keywords ...string) retriever.Turn {
	return retriever.Turn{Signals: ken.Signals{Question: question, Keywords: keywords, Asks: true}}
}

// structured searches by words and by structure.
func structured(p store.Projections, change ...func(*retriever.Options)) *retriever.Retriever {
	o := retriever.Options{Legs: []retriever.Leg{retriever.Keyword(p)}, Structure: &retriever.Structure{}, Deadline: 30 * time.Second}
	for _, f := range change {
		f(&o)
	}
	return retriever.New(p, o)
}

// No bound of a turn counts for what always applies.
func TestConstraintsPassEveryCut(t *testing.T) {
	var claims []ken.Claim
	for i := range 50 {
		claims = append(claims, rule(t, fmt.Sprintf("Rule number %d stands.", i), "payments"))
	}
	claims = append(claims, noted(t, "The checkout is blue.", "", "checkout"), noted(t, "The checkout is round.", "", "checkout"))
	s, _ := known(t, claims...)
	got := structured(s, func(o *retriever.Options) { o.Pool, o.TopK, o.Floor = 1, 1, -1 }).Retrieve(t.Context(), about("payments and checkout", "payments", "checkout"))
	rules := 0
	for i, c := range got.Candidates {
		if c.Constraint {
			if rules++; rules != i+1 || c.Memory || c.Legs[retriever.LegStructure].Rank != i+1 {
				t.Errorf("%d: %+v", i, c)
			}
		}
	}
	if rules != 50 || got.Rules != 50 || len(got.Candidates) != 51 || got.Retrieved != 52 {
		t.Errorf("%d rules of %d candidates, %d retrieved", rules, len(got.Candidates), got.Retrieved)
	}
	got = structured(s, func(o *retriever.Options) { o.Floor = 1 }).Retrieve(t.Context(), about("payments and checkout", "payments", "checkout"))
	if len(got.Candidates) != 50 {
		t.Errorf("%d above the highest floor", len(got.Candidates))
	}
}

// A rule that has the words of the question is evidence that the turn is about
// something, also for what stands beside it.
func TestConstraintsAreEvidence(t *testing.T) {
	s, list := known(t, rule(t, "Refunds of payments above 500 need two approvals.", "payments"), noted(t, "Refunds need a ticket.", ""))
	got := structured(s).Retrieve(t.Context(), about("which refunds of payments need approvals", "refunds", "payments", "need", "approvals"))
	if w := list; !slices.Equal(w, ids(got)) || got.Evidence < retriever.DefaultFloor {
		t.Errorf("%v, evidence %v", ids(got), got.Evidence)
	}
	if c := got.Candidates[0]; c.Legs[retriever.LegKeyword].Rank != 1 {
		t.Errorf("how else it was found is lost: %+v", c.Legs)
	}
}

func TestATurnThatAsksForNothingGetsNoStructure(t *testing.T) {
	s, rules := known(t, rule(t, "Never on Fridays.", "payments"), noted(t, "It is so.", "", "payments"))
	turn := about("thanks, payments!")
	turn.Signals.Asks = false
	if got := structured(s).Retrieve(t.Context(), turn); len(got.Candidates) != 0 || len(got.Focal) != 0 {
		t.Errorf("%+v", got)
	}
	// But one that goes on with its session has the rules of what that was about.
	turn.Signals.Resumes, turn.Signals.Question, turn.Carried = true, "continue", []string{"payments"}
	if got := structured(s).Retrieve(t.Context(), turn); !slices.Equal(ids(got), rules[:1]) {
		t.Errorf("%v", ids(got))
	}
}

func TestAttributesAreALeg(t *testing.T) {
	s, list := known(t, noted(t, "Rollbacks need two people.", "deploys", "payments", "ops"), noted(t, "The moon is far.", "sky", "moon"))
	got := structured(s).Retrieve(t.Context(), about("payments?", "payments"))
	if !slices.Equal(ids(got), list[:1]) {
		t.Fatalf("%v, cut %v", ids(got), got.Cut)
	}
	c := got.Candidates[0]
	if c.Legs[retriever.LegStructure].Rank != 1 || c.Signals[retriever.SignalStructure] <= 0 || c.Signals[retriever.SignalStructure] > 1 {
		t.Errorf("%+v", c)
	}
	if _, ok := c.Signals[retriever.SignalDistance]; !ok {
		t.Errorf("%v", c.Signals)
	}
}

// What stands somewhere in a big entity must not push out what has the words.
func TestABigEntityDoesNotPushOutBetterWords(t *testing.T) {
	var claims []ken.Claim
	for i := range 200 {
		claims = append(claims, noted(t, fmt.Sprintf("Detail %d of it is of no matter.", i), fmt.Sprintf("aspect%d", i%10), "payments", fmt.Sprintf("part%d", i)))
	}
	claims = append(claims, noted(t, "Chargebacks are disputed within ten days.", "", "cards"))
	s, list := known(t, claims...)
	got := structured(s).Retrieve(t.Context(), about("within how many days are chargebacks disputed in payments", "days", "chargebacks", "disputed", "payments"))
	if len(got.Candidates) == 0 || got.Candidates[0].Row.ID != list[200] {
		t.Errorf("%v is not %s", ids(got)[:min(1, len(got.Candidates))], list[200])
	}
}

// faulty is a store whose structure can't be read.
type faulty struct {
	store.Projections
	err   error
	panic bool
}

func (f faulty) Outlines(context.Context, []string, *ken.Filter, store.OutlineOptions) ([]store.Outline, error) {
	if f.panic {
		panic("broken")
	}
	return nil, f.err
}

// A fault in the structure is told, and the other legs answer.
func TestAStructureThatFailsIsTold(t *testing.T) {
	s, list := known(t, noted(t, "Payments are retried three times.", "", "payments"), rule(t, "Never on Fridays.", "payments"))
	for _, p := range []faulty{{s, errors.New("holder gone"), false}, {s, nil, true}} {
		got := structured(p).Retrieve(t.Context(), about("how often are payments retried", "payments", "retried"))
		if len(got.Degraded) != 1 || got.Degraded[0][:len("structure: ")] != "structure: " {
			t.Errorf("degraded %q", got.Degraded)
		}
		if !slices.Contains(ids(got), list[0]) || len(got.Focal) != 0 {
			t.Errorf("%v", ids(got))
		}
	}
}

// The deadline of the legs, and the end of the turn, are nothing to what is at hand.
func TestStructureNeedsNoTime(t *testing.T) {
	s, list := known(t, rule(t, "Never on Fridays.", "payments"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := structured(s, func(o *retriever.Options) { o.Deadline = time.Nanosecond }).Retrieve(ctx, about("deploy payments", "deploy", "payments"))
	if !slices.Equal(ids(got), list) {
		t.Errorf("%v, degraded %q", ids(got), got.Degraded)
	}
}

// Without anything filed, nothing is different.
func TestWithoutStructureNothingChanges(t *testing.T) {
	var claims []ken.Claim
	for i := range 60 {
		c := noted(t, fmt.Sprintf("Note %d is about payments, refunds and the number %d.", i, i*i), "")
		c.AssignedBy = ""
		claims = append(claims, c)
	}
	s, _ := known(t, claims...)
	turn := about("what about the refunds of payments", "refunds", "payments")
	plain := structured(s, func(o *retriever.Options) { o.Structure = nil }).Retrieve(t.Context(), turn)
	with := structured(s).Retrieve(t.Context(), turn)
	plain.MS, with.MS = nil, nil
	equal(t, "result", with, plain)
}

// Names are looked for in the whole text, and in what the turn is asked within.
func TestWhereEntitiesComeFrom(t *testing.T) {
	s, _ := known(t, rule(t, "One.", "payments"), rule(t, "Two.", "ledger"), rule(t, "Three.", "shop"), rule(t, "Four.", "refunds"))
	turn := about("does it work")
	turn.Text, turn.Project, turn.Carried = "does it work with payments", "/src/shop", []string{"refunds"}
	turn.Filter = ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "acme/ledger"}}, Unscoped: true}
	var names []string
	for _, f := range structured(s).Retrieve(t.Context(), turn).Focal {
		names = append(names, f.Name+" "+string(f.From))
	}
	equal(t, "focal", names, []string{"payments " + string(structure.FromText), "refunds " + string(structure.FromSession),
		"ledger " + string(structure.FromScope), "shop " + string(structure.FromProject)})
}
