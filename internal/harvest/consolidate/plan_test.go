package consolidate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestPlan(t *testing.T) {
	const (
		google, microsoft = "Ana works at Google", "Ana joined Microsoft"
		port, other       = "The ledger listens on port 5432", "The ledger listens on port 5433"
	)
	constraint := func(c *ken.Claim) { c.Constraint = true }
	hot := func(c *ken.Claim) { c.Kind = ken.KindHot }
	certain := func(f float64) func(*ken.Claim) { return func(c *ken.Claim) { c.Confidence = f } }
	scoped := func(c *ken.Claim) { c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "acme/ledger"} }
	for _, tc := range []struct {
		protects string
		known    []ken.Claim
		new      ken.Claim
		do       consolidate.Do
		ids      []int // of known
		reason   string
	}{
		{"the first of its kind is written", nil, said("s1", 0, port), consolidate.Write, nil, ""},
		{"another session's word is evidence", []ken.Claim{said("s1", 0, port)}, said("s2", 1, port), consolidate.Reinforce, []int{0}, ""},
		{"a session's word counts once", []ken.Claim{said("s1", 0, port)}, said("s1", 0, "the ledger listens on port 5432."), consolidate.Skip, []int{0}, consolidate.Known},
		{"a harvest done twice changes nothing", []ken.Claim{said("s1", 0, port)}, said("s1", 0, port), consolidate.Skip, nil, consolidate.Known},
		{"an update replaces", []ken.Claim{said("s1", 0, google)}, said("s2", 1, microsoft), consolidate.Supersede, []int{0}, ""},
		{"a fuller statement replaces", []ken.Claim{said("s1", 0, google)}, said("s2", 1, "Ana works at Google as a designer"), consolidate.Supersede, []int{0}, ""},
		{"a shorter one replaces nothing", []ken.Claim{said("s1", 0, "Ana works at Google as a designer")}, said("s2", 1, google), consolidate.Reinforce, []int{0}, ""},
		{"a contradiction disputes both", []ken.Claim{said("s1", 0, port)}, said("s2", 0, other), consolidate.Dispute, []int{0}, ""},
		{"a later value of an attribute replaces", []ken.Claim{said("s1", 0, port)}, said("s2", 30, other), consolidate.Supersede, []int{0}, ""},
		{"an older statement replaces nothing", []ken.Claim{said("s2", 30, microsoft)}, said("s1", 0, google), consolidate.Skip, []int{0}, consolidate.Outdated},
		{"an older value replaces nothing", []ken.Claim{said("s2", 30, other)}, said("s1", 0, port), consolidate.Skip, []int{0}, consolidate.Outdated},
		{"an older fuller statement replaces nothing", []ken.Claim{said("s2", 30, google)}, said("s1", 0, "Ana works at Google as a designer"), consolidate.Write, nil, ""},
		{"an older statement of the same is evidence", []ken.Claim{said("s2", 30, port)}, said("s1", 0, port), consolidate.Reinforce, []int{0}, ""},
		{"an unrelated claim is written", []ken.Claim{said("s1", 0, port)}, said("s2", 0, "The gateway listens on port 5433"), consolidate.Write, nil, ""},
		{"scopes do not mix", []ken.Claim{said("s1", 0, port, scoped)}, said("s2", 0, port), consolidate.Write, nil, ""},
		{"kinds do not mix", []ken.Claim{said("s1", 0, port, func(c *ken.Claim) { c.Kind = ken.KindFinding })}, said("s2", 0, port), consolidate.Write, nil, ""},
		{"a hot claim is a fact", []ken.Claim{said("s1", 0, port, hot)}, said("s2", 0, port), consolidate.Reinforce, []int{0}, ""},

		{"what was rejected is not learned again", []ken.Claim{said("s1", 0, port, status(ken.StatusDisputed))}, said("s2", 3, port), consolidate.Skip, []int{0}, consolidate.Rejected},
		{"nor with more words", []ken.Claim{said("s1", 0, port, status(ken.StatusDisputed))},
			said("s2", 3, port+" because the default was taken"), consolidate.Skip, []int{0}, consolidate.Rejected},
		{"rejecting the whole does not reject a part", []ken.Claim{said("s1", 0, port+" because the default was taken", status(ken.StatusDisputed))},
			said("s2", 3, port), consolidate.Write, nil, ""},
		{"what was rejected contradicts nothing", []ken.Claim{said("s1", 0, port, status(ken.StatusDisputed))}, said("s2", 0, other), consolidate.Write, nil, ""},
		{"what stands counts more than what was rejected", []ken.Claim{said("s1", 0, port, status(ken.StatusDisputed)), said("s2", 1, port)},
			said("s3", 3, port), consolidate.Reinforce, []int{1}, ""},
		{"superseded claims do not count", []ken.Claim{said("s1", 0, port, status(ken.StatusSuperseded))}, said("s2", 3, port), consolidate.Write, nil, ""},

		{"what a person verified is not replaced", []ken.Claim{said("s1", 0, google, byPerson)}, said("s2", 9, microsoft), consolidate.Dispute, nil, ""},
		{"nor disputed by a harvest", []ken.Claim{said("s1", 0, port, byPerson)}, said("s2", 0, other), consolidate.Dispute, nil, ""},
		{"but may be said in more words beside it", []ken.Claim{said("s1", 0, google, byPerson)}, said("s2", 9, "Ana works at Google as a designer"), consolidate.Write, nil, ""},
		{"and gets evidence", []ken.Claim{said("s1", 0, port, byPerson)}, said("s2", 9, port), consolidate.Reinforce, []int{0}, ""},
		{"a constraint stands", []ken.Claim{said("s1", 0, "Never push to main", constraint)}, said("s2", 9, "Push to main"), consolidate.Dispute, nil, ""},
		{"a hot claim stands", []ken.Claim{said("s1", 0, google, hot)}, said("s2", 9, microsoft), consolidate.Dispute, nil, ""},
		{"the assistant does not overrule the user", []ken.Claim{said("s1", 0, google)}, said("s2", 9, microsoft, byAssistant), consolidate.Dispute, nil, ""},
		{"nor takes the user's word down", []ken.Claim{said("s1", 0, port)}, said("s2", 0, other, byAssistant), consolidate.Dispute, nil, ""},
		{"nor makes it less trusted", []ken.Claim{said("s1", 0, port)}, said("s2", 9, port, byAssistant), consolidate.Skip, []int{0}, consolidate.Weaker},
		{"the user overrules the assistant", []ken.Claim{said("s1", 0, google, byAssistant)}, said("s2", 9, microsoft), consolidate.Supersede, []int{0}, ""},
		{"the user's word replaces the assistant's", []ken.Claim{said("s1", 0, port, byAssistant)}, said("s2", 9, port), consolidate.Supersede, []int{0}, ""},
		{"a guess does not replace what is certain", []ken.Claim{said("s1", 0, google, certain(0.9))}, said("s2", 9, microsoft, certain(0.5)), consolidate.Dispute, nil, ""},
		{"close is good enough", []ken.Claim{said("s1", 0, google, certain(0.85))}, said("s2", 9, microsoft, certain(0.8)), consolidate.Supersede, []int{0}, ""},

		{"a hypothesis gives way to knowledge", []ken.Claim{said("s1", 0, port, status(ken.StatusHypothesis))}, said("s2", 9, port), consolidate.Supersede, []int{0}, ""},
		{"and is reinforced by another", []ken.Claim{said("s1", 0, port, status(ken.StatusHypothesis))},
			said("s2", 9, port, status(ken.StatusHypothesis)), consolidate.Reinforce, []int{0}, ""},
		{"but knowledge is not reinforced by a guess", []ken.Claim{said("s1", 0, port)}, said("s2", 9, port, status(ken.StatusHypothesis)), consolidate.Skip, []int{0}, consolidate.Weaker},
		{"a hypothesis disputes nothing", []ken.Claim{said("s1", 0, port)}, said("s2", 0, other, status(ken.StatusHypothesis)), consolidate.Write, nil, ""},
		{"and replaces nothing", []ken.Claim{said("s1", 0, google)}, said("s2", 9, microsoft, status(ken.StatusHypothesis)), consolidate.Write, nil, ""},

		{"one update replaces all that it updates", []ken.Claim{said("s1", 0, google), said("s2", 1, "Ana is working at Google")},
			said("s3", 9, microsoft), consolidate.Supersede, []int{0, 1}, ""},
		{"one contradiction disputes all that it contradicts", []ken.Claim{said("s1", 0, port), said("s2", 0, "The ledger is listening on port 5432")},
			said("s3", 0, other), consolidate.Dispute, []int{0, 1}, ""},
		{"of several that say it, the verified one is reinforced", []ken.Claim{said("s1", 0, port), said("s2", 0, port, byPerson)},
			said("s3", 1, port), consolidate.Reinforce, []int{1}, ""},
	} {
		t.Run(tc.protects, func(t *testing.T) {
			var want []string
			for i := range tc.known {
				tc.known[i].ID = string(rune('a' + i))
			}
			for _, i := range tc.ids {
				want = append(want, tc.known[i].ID)
			}
			a := consolidate.Plan(tc.new, tc.known)
			if a.Do != tc.do || !slices.Equal(a.IDs, want) || tc.reason != "" && a.Reason != tc.reason {
				t.Errorf("%+v, want %s of %v", a, tc.do, want)
			}
			if a.Do != consolidate.Write && a.Reason == "" {
				t.Error("no reason")
			}
			slices.Reverse(tc.known)
			if b := consolidate.Plan(tc.new, tc.known); b.Do != a.Do || b.Relation != a.Relation || len(b.IDs) != len(a.IDs) {
				t.Errorf("in another order: %+v", b)
			}
		})
	}
}

// A session that says the same twice is one witness, but a test that it ran is
// another piece.
func TestHardEvidenceOfTheSameSessionCounts(t *testing.T) {
	known := said("s1", 0, "make check passes")
	known.ID = "a"
	again := said("s1", 0, "Make check passes.")
	again.Evidence = append(again.Evidence, ken.FromExitCode("make check", 0))
	known.Evidence[0].Trust = ken.TrustAgent
	a := consolidate.Plan(again, []ken.Claim{known})
	if a.Do != consolidate.Reinforce || len(a.Evidence) != 1 || a.Evidence[0].Kind != ken.EvidenceExitCode {
		t.Errorf("%+v", a)
	}
	known.Evidence = append(known.Evidence, a.Evidence...)
	if a := consolidate.Plan(again, []ken.Claim{known}); a.Do != consolidate.Skip {
		t.Errorf("the second time: %+v", a)
	}
}

// killed is a store whose process dies at a step: before it takes effect, or right
// after. Nothing works from then on.
type killed struct {
	consolidate.Store
	steps int // that are carried out
	late  bool
	dead  bool
}

var errKilled = errors.New("killed")

func (k *killed) step(do func() error) error {
	if k.dead {
		return errKilled
	}
	if k.steps--; k.steps < 0 {
		k.dead = true
		if k.late {
			if err := do(); err != nil {
				return err
			}
		}
		return errKilled
	}
	return do()
}

func (k *killed) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	err = k.step(func() error { id, err = k.Store.WriteClaim(ctx, c); return err })
	return id, err
}

func (k *killed) Transition(ctx context.Context, t ken.Transition) error {
	return k.step(func() error { return k.Store.Transition(ctx, t) })
}

func (k *killed) Supersede(ctx context.Context, oldID, newID string) error {
	return k.step(func() error { return k.Store.Supersede(ctx, oldID, newID) })
}

func (k *killed) Reinforce(ctx context.Context, id string, e []ken.Evidence, a ken.Actor) error {
	return k.step(func() error { return k.Store.Reinforce(ctx, id, e, a) })
}

// A harvest that is killed between any two steps, and run again, leaves what an
// undisturbed one leaves.
func TestKilledAtAnyStep(t *testing.T) {
	for name, claims := range map[string][]ken.Claim{
		"write":     {said("s1", 0, "Deploys happen on Fridays")},
		"reinforce": {said("s1", 0, "Deploys happen on Fridays"), said("s2", 1, "deploys happen on Fridays")},
		"supersede": {said("s1", 0, "Ana works at Google", byAssistant), said("s2", 1, "Ana is employed at Google", byAssistant), said("s3", 9, "Ana joined Microsoft")},
		"replace two": {said("s1", 0, "The team uses npm"), said("s2", 0, "The team is using npm for the website"),
			said("s3", 9, "The team switched from npm to pnpm")},
		"dispute": {said("s1", 0, "The ledger listens on port 5432"), said("s2", 0, "The ledger listens on port 5433")},
		"dispute two": {said("s1", 0, "The cache is enabled"), said("s2", 0, "The cache is enabled because reads are slow"),
			said("s3", 0, "The cache is not enabled")},
		"dispute alone": {said("s1", 0, "Ana works at Google", byPerson), said("s2", 9, "Ana joined Microsoft")},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := inMemory()
			last := len(claims) - 1
			for _, c := range claims {
				learn(t, quiet, c)
			}
			want := state(t, quiet)
			for steps := 0; ; steps++ {
				survived := false
				for _, late := range []bool{false, true} {
					st := inMemory()
					for _, c := range claims[:last] {
						learn(t, st, c)
					}
					_, err := consolidate.Learn(context.Background(), &killed{Store: st, steps: steps, late: late}, claims[last], nil)
					survived = err == nil
					if err != nil && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					learn(t, st, claims[last])
					if got := state(t, st); got != want {
						t.Errorf("killed after %d steps (late %v):\n%s\nwant\n%s", steps, late, got, want)
					}
				}
				if survived {
					if steps == 0 {
						t.Error("it never died")
					}
					return
				}
			}
		})
	}
}

// The same by the embedded store, whose search and log are the real ones.
func TestKilledDisputeInTheEmbeddedStore(t *testing.T) {
	st := opened(t)
	first, second := said("s1", 0, "The ledger listens on port 5432"), said("s2", 0, "The ledger listens on port 5433")
	learn(t, st, first)
	if _, err := consolidate.Learn(context.Background(), &killed{Store: st, steps: 2}, second, nil); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	r := learn(t, st, second)
	if len(r.Disputed) != 1 || r.Action.Do != consolidate.Dispute {
		t.Errorf("%+v", r)
	}
	want := "The ledger listens on port 5432: disputed (1 pieces, seen again 0 times)\n" +
		"The ledger listens on port 5433: disputed (1 pieces, seen again 0 times)"
	if got := state(t, st); got != want {
		t.Errorf("%s", got)
	}
	if r := learn(t, st, second); r.Dropped != consolidate.Known {
		t.Errorf("the third time: %+v", r)
	}
}

// A person's rejection of a claim is not the beginning of a dispute: harvesting the
// session once more does not take down what was learned since.
func TestRejectionIsNoDispute(t *testing.T) {
	ctx, st := context.Background(), inMemory()
	first := said("s1", 0, "The ledger listens on port 5432")
	id := learn(t, st, first).ID
	if err := st.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "wrong", Actor: ken.Actor{Type: "user"}}); err != nil {
		t.Fatal(err)
	}
	learn(t, st, said("s2", 0, "The ledger listens on port 5433"))
	before := state(t, st)
	if r := learn(t, st, first); r.Dropped != consolidate.Known {
		t.Errorf("%+v", r)
	}
	if got := state(t, st); got != before {
		t.Errorf("%s\nwas\n%s", got, before)
	}
}

// Pain 12: neither a contradiction nor a repetition ever takes a claim out of the
// store.
func TestContradictionKeepsBothForReview(t *testing.T) {
	ctx, st := context.Background(), opened(t)
	a := learn(t, st, said("s1", 0, "Ana does eat meat"))
	b := learn(t, st, said("s2", 0, "Ana does not eat meat"))
	if !slices.Equal(b.Disputed, []string{b.ID, a.ID}) {
		t.Errorf("%+v", b)
	}
	for id, other := range map[string]string{a.ID: b.ID, b.ID: a.ID} {
		c, err := st.Get(ctx, id)
		if err != nil || c.Status != ken.StatusDisputed {
			t.Errorf("%+v, %v", c, err)
		}
		events, err := st.History(ctx, id)
		if last := events[len(events)-1]; err != nil || !strings.Contains(last.Reason, other) {
			t.Errorf("the reason %q does not name the other side", last.Reason)
		}
	}
	if r := learn(t, st, said("s3", 1, "Ana does not eat meat")); r.Dropped != consolidate.Rejected {
		t.Errorf("%+v", r)
	}
}

// Pain 11: what changed is no longer recalled, and the reason stands in the log.
func TestUpdateSupersedesWithItsReason(t *testing.T) {
	ctx, st := context.Background(), opened(t)
	old := learn(t, st, said("s1", 0, "The staging database runs in us-east-1"))
	r := learn(t, st, said("s2", 5, "The staging database was migrated from us-east-1 to eu-west-1"))
	if !slices.Equal(r.Superseded, []string{old.ID}) {
		t.Fatalf("%+v", r)
	}
	events, err := st.History(ctx, old.ID)
	if last := events[len(events)-1]; err != nil || last.Other != r.ID || !strings.Contains(last.Reason, "migrated from") {
		t.Errorf("%+v, %v", last, err)
	}
	got, err := st.Query(ctx, ken.Query{Question: "where does the staging database run"})
	if err != nil || len(got) != 1 || got[0].ID != r.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResultRecords(t *testing.T) {
	var o session.Outcome
	for _, r := range []consolidate.Result{
		{ID: "new", Learned: true, Superseded: []string{"old"}}, {ID: "new", Learned: true}, {ID: "k", Reinforced: []string{"k"}},
		{ID: "d", Learned: true, Disputed: []string{"d", "e"}}, {Dropped: consolidate.Rejected}, {Dropped: consolidate.Rejected},
	} {
		r.Record(&o)
	}
	if !slices.Equal(o.Learned, []string{"new", "d"}) || !slices.Equal(o.Superseded, []string{"old"}) ||
		!slices.Equal(o.Reinforced, []string{"k"}) || !slices.Equal(o.Disputed, []string{"d", "e"}) || o.Dropped[consolidate.Rejected] != 2 {
		t.Errorf("%+v", o)
	}
}

// A store without reasons serves as well.
func TestPlainStore(t *testing.T) {
	st := struct{ consolidate.Store }{inMemory()}
	learn(t, st, said("s1", 0, "The user uses npm"))
	first := learn(t, st, said("s2", 2, "The user switched from npm to pnpm"))
	if len(first.Superseded) != 1 {
		t.Errorf("%+v", first)
	}
	learn(t, st, said("s3", 4, "The user switched from pnpm to bun"))
	before := state(t, st)
	if r := learn(t, st, said("s2", 2, "The user switched from npm to pnpm")); r.Dropped != consolidate.Known || state(t, st) != before {
		t.Errorf("a superseded claim was learned again: %+v\n%s", r, state(t, st))
	}
}
