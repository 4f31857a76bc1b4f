package reading_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

func TestAssignFilesAClaim(t *testing.T) {
	c := claim("never deploy the payments service on Fridays; it depends on the ledger, which must stay on PostgreSQL 15")
	if !reading.Assign(&c, nil) {
		t.Fatal("nothing changed")
	}
	if want := []string{"payments", "ledger", "postgresql"}; !slices.Equal(c.Entities, want) {
		t.Errorf("about %q, want %q", c.Entities, want)
	}
	if c.Aspect != "deployment" || !c.Constraint || c.AssignedBy != ken.AssignedByRules {
		t.Errorf("%q, constraint %v, by %q", c.Aspect, c.Constraint, c.AssignedBy)
	}
	if reading.Assign(&c, nil) {
		t.Error("it was assigned twice")
	}
}

// What a claim came with stays, and the caller's slice is not written to.
func TestAssignKeepsWhatIsThere(t *testing.T) {
	given := make([]string, 2, 8)
	given[0], given[1] = "The Shop", "Redis"
	c := claim("The mailer service uses Redis.", given...)
	c.Aspect, c.Constraint = "queues", true
	if !reading.Assign(&c, nil) {
		t.Fatal("nothing changed")
	}
	if want := []string{"mailer", "shop", "redis"}; !slices.Equal(c.Entities, want) {
		t.Errorf("about %q, want %q", c.Entities, want)
	}
	if c.Aspect != "queues" || !c.Constraint {
		t.Errorf("%q, constraint %v", c.Aspect, c.Constraint)
	}
	if given[0] != "The Shop" || given[:3][2] != "" {
		t.Errorf("the caller's slice is now %q", given[:3])
	}
	many := []string{"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1"}
	if c = claim("The mailer service is up.", many...); !reading.Assign(&c, nil) || !slices.Equal(c.Entities, many) {
		t.Errorf("of ten given names are left %q", c.Entities)
	}
}

func TestAssignLeavesAlone(t *testing.T) {
	for name, change := range map[string]func(*ken.Claim){
		"assigned by rules":    func(c *ken.Claim) { c.AssignedBy = ken.AssignedByRules },
		"assigned by a person": func(c *ken.Claim) { c.AssignedBy = ken.AssignedByOperator },
		"an entity":            func(c *ken.Claim) { c.Kind = ken.KindEntity },
		"a dependency":         func(c *ken.Claim) { c.Kind = ken.KindDependency },
		"an alias":             func(c *ken.Claim) { c.Kind = ken.KindAlias },
		"a document":           func(c *ken.Claim) { c.Kind = ken.KindDocument },
		"nothing to be found":  func(c *ken.Claim) { c.Text = "It is red." },
	} {
		c := claim("never deploy the payments service on Fridays")
		change(&c)
		before := c
		if reading.Assign(&c, nil) || len(c.Entities) > 0 || c.Aspect != "" || c.Constraint || c.AssignedBy != before.AssignedBy {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
