package operator_test

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

func TestRepeat(t *testing.T) {
	k := newKit(t)
	word := ken.FromHumanAssertion("ana", now, "")
	told := func(text string, change ...func(*ken.Claim)) ken.Claim {
		c := ken.Claim{Owner: k.Owner(), Kind: ken.KindFact, Status: ken.StatusObserved, Text: text, Confidence: 1, Importance: 0.5, Evidence: []ken.Evidence{word},
			Actor: ken.Actor{Type: "user", ID: "ana"}, CreatedAt: now}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	rests := func(e ...ken.Evidence) func(*ken.Claim) { return func(c *ken.Claim) { c.Evidence = e } }
	write := func(c ken.Claim) string {
		id, _, err := k.desk.Learn(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	mill := write(told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Tags = []string{"mill", "rye"} }))
	for name, c := range map[string]ken.Claim{
		"the same":         told("The mill grinds rye on Mondays."),
		"spaces around":    told(" The mill grinds rye on Mondays.\n"),
		"some of the tags": told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Tags = []string{"rye"} }),
		"an agent":         told("The mill grinds rye on Mondays.", rests(ken.FromAgentAssertion("bot", ""))),
		"a page":           told("The mill grinds rye on Mondays.", rests(ken.FromURL("https://example.org", now, "sha256:ab"))),
	} {
		if id, err := operator.Repeat(t.Context(), k, c, now); err != nil || id != mill {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	if c := k.get(mill); len(c.Evidence) != 1 || c.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("what says nothing new, or makes it less trusted, was added: %+v", c.Evidence)
	}
	for name, c := range map[string]ken.Claim{
		"another text":    told("The mill grinds rye on Tuesdays."),
		"a word more":     told("The mill grinds rye and oats on Mondays."),
		"a new tag":       told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Tags = []string{"oats"} }),
		"a thing":         told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Entities = []string{"bakery"} }),
		"a kind":          told("The mill grinds rye on Mondays.", ofKind(ken.KindHot)),
		"a key":           told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Key = "mill" }),
		"a scope":         told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "r"} }),
		"an end":          told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.ExpiresAt = now.Add(time.Hour) }),
		"a rule":          told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Constraint = true }),
		"a heading":       told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Heading = "Mill" }),
		"less confidence": told("The mill grinds rye on Mondays.", func(c *ken.Claim) { c.Confidence = 0.5 }),
		"a hypothesis":    told("The mill grinds rye on Mondays.", is(ken.StatusHypothesis)),
		"no evidence":     told("The mill grinds rye on Mondays.", rests()),
	} {
		if id, err := operator.Repeat(t.Context(), k, c, now); err != nil || id != "" {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	proof := ken.FromFile("mill/plan.md", "", "")
	if id, err := operator.Repeat(t.Context(), k, told("The mill grinds rye on Mondays.", rests(word, proof, ken.FromHumanAssertion("ben", now, ""))), now); err != nil || id != mill {
		t.Errorf("with new evidence: %q, %v", id, err)
	}
	if c := k.get(mill); len(c.Evidence) != 3 {
		t.Errorf("evidence %+v", c.Evidence)
	}
	// What an agent has said is a person's when a person says it.
	bots := write(told("The oven is lit at four.", rests(ken.FromAgentAssertion("bot", ""))))
	if id, err := operator.Repeat(t.Context(), k, told("The oven is lit at four."), now); err != nil || id != "" {
		t.Errorf("a person after an agent: %q, %v, and %s is an agent's", id, err, bots)
	}
	if err := k.desk.Dispute(t.Context(), mill, "it is closed"); err != nil {
		t.Fatal(err)
	}
	if id, err := operator.Repeat(t.Context(), k, told("The mill grinds rye on Mondays."), now); err != nil || id != "" {
		t.Errorf("after a dispute: %q, %v", id, err)
	}
}
