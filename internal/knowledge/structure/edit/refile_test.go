package edit_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
)

// A rule becomes a fact again in one step, and what it is about is said anew; an agent does
// neither.
func TestARuleIsTakenBack(t *testing.T) {
	k := newKit(t)
	id := k.fact("Never restart the ledger service.", "ledger")
	if !k.get(id).Constraint {
		t.Fatal("it is no rule to begin with")
	}
	no, yes := false, true
	if _, _, err := k.agent.Refile(k.ctx, k.get(id), nil, &no); err == nil {
		t.Error("an agent took a rule back")
	}
	c, changed, err := k.Refile(k.ctx, k.get(id), nil, &no)
	if err != nil || !changed || c.Constraint || c.RuleCandidate || len(c.Entities) == 0 {
		t.Errorf("%+v, changed %v, %v", c, changed, err)
	}
	k.wantRules("ledger")
	if _, changed, err = k.Refile(k.ctx, c, nil, &no); err != nil || changed {
		t.Errorf("again: changed %v, %v", changed, err)
	}
	if c, _, err = k.Refile(k.ctx, c, []string{"The Archive"}, &yes); err != nil || !c.Constraint || len(c.Entities) != 1 || c.Entities[0] != "archive" {
		t.Errorf("%+v, %v", c, err)
	}
	k.wantRules("archive", "Never restart the ledger service.")
	_, _, err = k.Refile(k.ctx, c, []string{"!!"}, nil)
	wantError(t, err, ken.CodeInvalid, "about")
}

// A name that was none goes from all claims that carry it, and a rule does not become one of
// everything by that.
func TestANameIsDropped(t *testing.T) {
	k := newKit(t)
	fact := k.fact("Quarterly numbers of the ledger are late.", "quarterly", "ledger")
	rule := k.fact("Never print quarterly.", "quarterly")
	if _, err := k.agent.Drop(k.ctx, "quarterly", ""); err == nil {
		t.Error("an agent dropped a name")
	}
	n, err := k.Drop(k.ctx, "Quarterly", "it is a word")
	if err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if c := k.get(fact); len(c.Entities) == 0 || c.Entities[0] != "ledger" {
		t.Errorf("%q", c.Entities)
	}
	if c := k.get(rule); len(c.Entities) != 0 || c.Constraint || !c.RuleCandidate {
		t.Errorf("%q, rule %v, candidate %v", c.Entities, c.Constraint, c.RuleCandidate)
	}
	_, err = k.Drop(k.ctx, "quarterly", "")
	wantError(t, err, ken.CodeNotFound)
}

// A task that is about a dropped name stays, and a rule that loses all its names waits for
// somebody to say that it holds for everything.
func TestWhatIsAboutADroppedNameStays(t *testing.T) {
	k := newKit(t)
	k.task("Migrate the numbers", "quarterly", "ledger")
	rule := k.fact("Never print the ledger.", "ledger")
	k.fact("Quarterly numbers of the ledger are late.", "quarterly", "ledger")
	if _, err := k.Drop(k.ctx, "quarterly", ""); err != nil {
		t.Fatal(err)
	}
	if tasks, err := k.Tasks(k.ctx, edit.TaskFilter{}); err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
	c, _, err := k.Refile(k.ctx, k.get(rule), []string{}, nil)
	if err != nil || c.Constraint || !c.RuleCandidate {
		t.Errorf("rule %v, candidate %v, %v", c.Constraint, c.RuleCandidate, err)
	}
}
