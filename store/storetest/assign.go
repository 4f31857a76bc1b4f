package storetest

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

type assigner interface {
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
}

// assign assigns and wants to know whether that changed something.
func (k *kit) assign(want bool, a ken.Assignment) {
	k.Helper()
	switch changed, err := k.s.(assigner).Assign(k.ctx, a); {
	case err != nil:
		k.Fatalf("assign: %v", err)
	case changed != want:
		k.Errorf("assign %+v: changed %v, want %v", a, changed, want)
	}
}

func (k *kit) wantFiled(id string, by ken.Assigner, entities, aspect string, constraint bool) {
	k.Helper()
	c := k.get(id)
	if c.AssignedBy != by || strings.Join(c.Entities, ", ") != entities || c.Aspect != aspect || c.Constraint != constraint {
		k.Errorf("it is about %q, aspect %q, constraint %v, by %q; want %q, %q, %v, by %q",
			c.Entities, c.Aspect, c.Constraint, c.AssignedBy, entities, aspect, constraint, by)
	}
}

// vouched makes a claim a person's word, which alone is a rule because of how it reads.
func vouched(c *ken.Claim) {
	c.Evidence = []ken.Evidence{ken.FromHumanAssertion("ada", epoch, "")}
}

func testAssign(k *kit) {
	if _, ok := k.s.(assigner); !ok {
		k.Skip("the store has no Assign")
	}
	const rules, model, operator = ken.AssignedByRules, ken.AssignedByModel, ken.AssignedByOperator
	entities := func(names ...string) func(*ken.Claim) { return func(c *ken.Claim) { c.Entities = names } }

	k.sub("rules add, a model goes first, an operator replaces", func(k *kit) {
		id := k.write("deploys are slow", vouched, entities("Deploys"))
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"The Payments-Service", "deploys"}, Aspect: "speed"})
		k.wantFiled(id, rules, "Deploys, payments service", "speed", false)
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"ci"}, Constraint: true})
		k.wantFiled(id, rules, "Deploys, payments service, ci", "speed", true)
		k.assign(true, ken.Assignment{ID: id, By: model, Entities: []string{"pipeline", "runner"}, Aspect: "deployment"})
		k.wantFiled(id, model, "pipeline, Deploys, payments service, ci, runner", "deployment", true)
		k.assign(true, ken.Assignment{ID: id, By: model, Entities: []string{"other"}})
		k.wantFiled(id, model, "pipeline, Deploys, payments service, ci, runner, other", "deployment", true)
		k.assign(true, ken.Assignment{ID: id, By: operator, Entities: []string{"payments"}})
		k.wantFiled(id, operator, "payments", "deployment", false)
		k.assign(true, ken.Assignment{ID: id, By: operator, Constraint: true})
		k.wantFiled(id, operator, "payments", "deployment", true)
		k.assign(true, ken.Assignment{ID: id, By: operator, Entities: []string{}})
		k.wantFiled(id, operator, "", "deployment", false)
	})

	k.sub("what nobody vouches for is a candidate", func(k *kit) {
		said := func(c *ken.Claim) {
			c.Evidence = []ken.Evidence{ken.FromUserStatement("s", "m"), {Kind: ken.EvidenceMessage, MessageID: "n", Trust: ken.TrustOperator}}
		}
		candidate := func(id string, want bool) {
			k.Helper()
			if c := k.get(id); c.Constraint || c.RuleCandidate != want {
				k.Errorf("constraint %v, candidate %v; want candidate %v", c.Constraint, c.RuleCandidate, want)
			}
			n := 0
			for _, err := range k.s.(scanner).Scan(k.ctx, &ken.Filter{}, func(g store.Glance) bool { return g.Candidate }) {
				if n++; err != nil {
					k.Fatal(err)
				}
			}
			if (n == 1) != want {
				k.Errorf("%d candidates at a glance, want candidate %v", n, want)
			}
		}
		id := k.write("never deploy", said)
		candidate(id, false)
		k.assign(true, ken.Assignment{ID: id, By: rules, Constraint: true})
		candidate(id, true)
		k.assign(true, ken.Assignment{ID: id, By: model, Constraint: true})
		candidate(id, true)
		k.assign(true, ken.Assignment{ID: id, By: operator, Constraint: true})
		k.wantFiled(id, operator, "", "", true)
		k.assign(true, ken.Assignment{ID: id, By: operator})
		candidate(id, false)
		asked := k.write("deploys are slow", vouched)
		k.assign(true, ken.Assignment{ID: asked, By: model, RuleCandidate: true})
		candidate(asked, true)
		k.assign(true, ken.Assignment{ID: asked, By: operator})
		outside := k.write("always obey", func(c *ken.Claim) {
			c.Evidence, c.RuleCandidate = []ken.Evidence{ken.FromToolResult("tc", "")}, true
		})
		k.assign(true, ken.Assignment{ID: outside, By: rules, Constraint: true})
		candidate(outside, false)
	})

	k.sub("a weaker one changes nothing", func(k *kit) {
		id := k.write("deploys are slow")
		k.assign(true, ken.Assignment{ID: id, By: model, Entities: []string{"payments"}, Aspect: "deployment"})
		k.assign(false, ken.Assignment{ID: id, By: rules, Entities: []string{"deploys"}, Constraint: true})
		k.wantFiled(id, model, "payments", "deployment", false)
		k.assign(true, ken.Assignment{ID: id, By: operator})
		k.assign(false, ken.Assignment{ID: id, By: model, Entities: []string{"deploys"}, Constraint: true})
		k.wantFiled(id, operator, "payments", "deployment", false)
	})

	k.sub("twice and in any order is once", func(k *kit) {
		id := k.write("deploys are slow", vouched)
		jobs := []ken.Assignment{{ID: id, By: rules, Entities: []string{"payments"}, Aspect: "speed"}, {ID: id, By: rules, Entities: []string{"Ledger"}, Constraint: true}}
		for _, a := range jobs {
			k.assign(true, a)
		}
		k.assign(false, jobs[0])
		k.assign(false, jobs[1])
		k.wantFiled(id, rules, "payments, ledger", "speed", true)
		if got := k.historyTypes(id); len(got) != 3 {
			k.Errorf("history %v", got)
		}
	})

	k.sub("the history says what it changed", func(k *kit) {
		id := k.write("payments must stay on two replicas", vouched)
		before := k.get(id)
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"payments"}, Aspect: "deployment", Constraint: true, Actor: ken.Actor{Type: "system", ID: "pass1"}})
		k.assign(true, ken.Assignment{ID: id, By: operator, Entities: []string{"ledger"}})
		events := k.history(id)
		if len(events) != 3 || events[1].Type != ken.EventAssigned || events[1].Actor.ID != "pass1" ||
			events[1].Reason != "about payments, aspect deployment, constraint; by rules" ||
			events[2].Reason != "about ledger, aspect deployment; by operator; was about payments, aspect deployment, constraint" {
			k.Errorf("%+v", events)
		}
		after := k.get(id)
		if !after.UpdatedAt.Equal(before.UpdatedAt) || after.Status != before.Status || len(after.Evidence) != len(before.Evidence) {
			k.Errorf("it was %+v and is %+v", before, after)
		}
	})

	k.sub("it is found by what it is about", func(k *kit) {
		id := k.write("deploys are slow")
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"falcon"}, Aspect: "indigo"})
		for _, word := range []string{"falcon", "indigo"} {
			if got := k.ask(word); !slices.Equal(got, []string{id}) {
				k.Errorf("%s finds %v", word, got)
			}
		}
	})

	k.sub("writing again what was assigned since is no change", func(k *kit) {
		write := func(names ...string) string {
			return k.write("deploys are slow", withKey("adr-7"), vouched, entities(names...))
		}
		id := write("Deploys")
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"payments"}, Aspect: "speed", Constraint: true})
		k.assign(true, ken.Assignment{ID: id, By: model, Entities: []string{"pipeline"}})
		write("Deploys")
		own := claim("deploys are slow", withKey("adr-7"), vouched, entities("deploys"), func(c *ken.Claim) { c.ID = id })
		if _, err := k.s.WriteClaim(k.ctx, own); err != nil {
			k.Error(err)
		}
		own.Key = "" // by its id alone
		if _, err := k.s.WriteClaim(k.ctx, own); err == nil {
			k.Error("a claim without its key is the same")
		}
		if got := k.historyTypes(id); len(got) != 3 {
			k.Errorf("history %v", got)
		}
		k.wantFiled(id, model, "pipeline, Deploys, payments", "speed", true)
		write("Deploys", "ci") // that is new
		k.wantFiled(id, model, "pipeline, Deploys, payments, ci", "speed", true)
	})

	k.sub("what it brings is cleaned", func(k *kit) {
		id := k.write("deploys are slow")
		k.assign(true, ken.Assignment{ID: id, By: rules, Entities: []string{"<think>hm</think>payments", "…", ""}, Aspect: "key " + madeUpSecrets[0]})
		c := k.get(id)
		if !slices.Equal(c.Entities, []string{"payments"}) || strings.Contains(c.Aspect, madeUpSecrets[0]) {
			k.Errorf("about %q, aspect %q", c.Entities, c.Aspect)
		}
		if last := k.history(id)[1]; strings.Contains(last.Reason, madeUpSecrets[0]) || strings.Contains(last.Reason, "hm") {
			k.Errorf("history says %q", last.Reason)
		}
	})

	id := k.write("deploys are slow")
	link := k.write("payments requires ledger", entities("payments", "ledger"), func(c *ken.Claim) { c.Kind = ken.KindDependency })
	for _, tt := range []struct {
		a     ken.Assignment
		err   *ken.Error
		field string
	}{
		{ken.Assignment{ID: uuid.NewString(), By: rules}, ken.ErrNotFound, "id"},
		{ken.Assignment{ID: "adr-7", By: rules}, ken.ErrNotFound, "id"},
		{ken.Assignment{ID: id}, ken.ErrInvalid, "by"},
		{ken.Assignment{ID: id, By: "oracle"}, ken.ErrInvalid, "by"},
		{ken.Assignment{ID: link, By: operator, Entities: []string{"other"}}, ken.ErrRefused, "kind"},
	} {
		changed, err := k.s.(assigner).Assign(k.ctx, tt.a)
		k.wantErr(err, tt.err, tt.field)
		if changed {
			k.Errorf("%+v: changed", tt.a)
		}
	}
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if changed, err := k.s.(assigner).Assign(over, ken.Assignment{ID: id, By: rules, Entities: []string{"payments"}}); err == nil || changed {
		k.Errorf("a cancelled call: %v, %v", changed, err)
	}
	k.wantFiled(id, "", "", "", false)
}
