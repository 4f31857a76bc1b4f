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
					_, err := consolidate.Learn(context.Background(), &killed{Store: st, steps: steps, late: late}, claims[last])
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
	if _, err := consolidate.Learn(context.Background(), &killed{Store: st, steps: 2}, second); !errors.Is(err, errKilled) {
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
