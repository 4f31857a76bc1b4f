package consolidate_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
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
