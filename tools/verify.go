package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
)

// verifyIn are knowledge_verify's arguments.
type verifyIn struct {
	ID       string       `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Evidence []evidenceIn `json:"evidence" rule:"items=20" jsonschema:"exit_code, test_result, git_history or file"`
}

// hardNeeded is the number of independent hard pieces of evidence that verify a claim: see
// ken.Verified.
const hardNeeded = 2

// verifyResult is the outcome of an attempt to verify a claim.
type verifyResult struct {
	ID       string   `json:"id"`
	Verified bool     `json:"verified"`
	Status   string   `json:"status"`
	Tier     string   `json:"tier"`
	Added    int      `json:"added" jsonschema:"pieces of evidence that the claim got"`
	Hard     int      `json:"hard" jsonschema:"independent hard pieces that it has now: one run is one"`
	Missing  []string `json:"missing,omitempty" jsonschema:"what it takes to verify it"`
	Notes    []string `json:"notes,omitempty" jsonschema:"what was not taken as it was given, and why"`
}

// Write implements Output.
func (v *verifyResult) Write(p *Page) {
	if v.Verified {
		p.Line("Verified.")
	} else {
		p.Line("Not verified yet.")
	}
	p.Line(fmt.Sprintf("id %s, %s, tier %s; %d pieces of evidence added, %d hard ones in all", v.ID, v.Status, v.Tier, v.Added, v.Hard))
	for _, m := range v.Missing {
		p.Line("missing: " + m)
	}
	p.notes(v.Notes)
}

func knowledgeVerify() Tool {
	return Define(Spec{Name: "knowledge_verify", Title: "Verify a claim", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Back a claim with evidence. Two independent hard pieces (a test, an exit code, a commit; those of one run are one) verify it, if one is a run that Ken saw in " +
			"this session. The answer says what is missing. Only a person verifies disputed claims and the operator's.",
		Example: `{"id":"3f9a2c71","evidence":[{"kind":"exit_code","command":"go test ./payments/..."},{"kind":"git_history","commit":"4f9a2c71"}]}`},
		func(ctx context.Context, c *Call, in verifyIn) (*verifyResult, error) {
			k, err := c.find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			if err := verifiable(&k); err != nil {
				return nil, err
			}
			ev, err := c.evidence(ctx, in.Evidence)
			if err != nil {
				return nil, err
			}
			words := 0
			more := slices.DeleteFunc(ev.pieces, func(e ken.Evidence) bool {
				word := !e.Hard() && !e.Backed()
				if word {
					words++
				}
				return word
			})
			if trust := k.Support(nil).Trust; len(more) > 0 && trust > ken.TrustAgent {
				return nil, refused("id", "this claim is the operator's: an agent's evidence would make it less trusted",
					"Tell the user what you found; the operator verifies with: ken verify "+k.ID)
			} else if trust > ken.TrustExternal {
				more = slices.DeleteFunc(more, func(e ken.Evidence) bool { return e.Speaker() < trust })
			}
			v := &verifyResult{ID: k.ID, Notes: ev.notes}
			if words > 0 {
				v.Notes = append(v.Notes, "words alone verify nothing, and were not added")
			}
			return v, c.verify(ctx, &k, newEvidence(k.Evidence, more), v)
		})
}

// verifiable returns an error for a claim that only a person may verify.
func verifiable(k *ken.Claim) error {
	by := "The operator does so with: ken verify " + k.ID
	switch {
	case k.Status == ken.StatusDisputed:
		return refused("id", "this claim is disputed, and a person decides about it", by)
	case k.Status == ken.StatusSuperseded:
		return refused("id", "this claim was replaced by "+k.SupersededBy, "Verify that one, or see knowledge_history.")
	case k.Kind == ken.KindPattern:
		return refused("id", "a person reviews patterns", "The operator does so with: ken memory review")
	}
	return nil
}

// verify adds the new evidence to a claim, and raises the claim's status as far as its evidence
// allows.
func (c *Call) verify(ctx context.Context, k *ken.Claim, more []ken.Evidence, v *verifyResult) error {
	all := slices.Concat(k.Evidence, more)
	v.Hard, v.Added = ken.HardSources(all), len(more)
	run := slices.ContainsFunc(all, func(e ken.Evidence) bool {
		return e.Kind == ken.EvidenceExitCode || e.Kind == ken.EvidenceTestResult || e.Kind == ken.EvidenceValidator
	})
	enough := v.Hard >= hardNeeded && run
	rest := more
	var err error
	if k.Status == ken.StatusHypothesis && slices.ContainsFunc(more, ken.Evidence.Hard) {
		err = c.Store.Transition(ctx, ken.Transition{ID: k.ID, To: ken.StatusObserved, Evidence: rest, Reason: "evidence found", Actor: c.actor()})
		rest, k.Status = nil, ken.StatusObserved
		c.Touch(k.ID)
	}
	switch {
	case err != nil:
	case enough && (k.Status == ken.StatusObserved || k.Status == ken.StatusInferred):
		err = c.handle().Verify(ctx, k.ID, rest...)
		c.Touch(k.ID)
	case len(rest) > 0:
		err = c.Store.Reinforce(ctx, k.ID, rest, c.actor())
		c.Touch(k.ID)
	}
	if err != nil {
		return err
	}
	now, err := c.Store.Get(ctx, k.ID)
	if err != nil {
		return err
	}
	v.Status, v.Tier, v.Verified = string(now.Status), c.r.layer.Operator().View(now).Tier.String(), now.Status == ken.StatusVerified
	if !v.Verified {
		v.Missing = missing(v.Hard, run)
	}
	return nil
}

// missing lists what is still needed to verify a claim.
func missing(hard int, run bool) []string {
	var out []string
	if n := hardNeeded - hard; n > 0 {
		pieces := "piece"
		if n > 1 {
			pieces = "distinct pieces"
		}
		out = append(out, fmt.Sprintf("%d more %s of hard evidence: exit_code, test_result or git_history", n, pieces))
	}
	if !run {
		out = append(out, "a run that Ken has seen: exit_code of a command, or test_result of a test, that ran in this session")
	}
	return append(out, "or a person, with ken verify")
}
