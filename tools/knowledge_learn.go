package tools

import (
	"context"

	"github.com/kenlayer/ken"
)

// learnIn are knowledge_learn's arguments.
type learnIn struct {
	Claim      string     `json:"claim" rule:"filled;chars=4000" jsonschema:"one statement that makes sense without this conversation"`
	Evidence   []Evidence `json:"evidence" rule:"items=20" jsonschema:"what backs it, at least one piece"`
	Heading    string     `json:"heading,omitempty" rule:"chars=160" jsonschema:"topic, if the claim does not name it"`
	Kind       string     `json:"kind,omitempty" rule:"enum=fact|finding;default=fact" jsonschema:"finding: a tool discovered it"`
	Status     string     `json:"status,omitempty" rule:"enum=observed|inferred|hypothesis" jsonschema:"a hypothesis is not recalled by default"`
	Confidence *float64   `json:"confidence,omitempty" rule:"min=0;max=1" jsonschema:"that it is true"`
	Domain     string     `json:"domain,omitempty" rule:"chars=80" jsonschema:"such as architecture"`
	Tags       []string   `json:"tags,omitempty" rule:"items=20;chars=80;filled"`
	Entities   []string   `json:"entities,omitempty" rule:"items=20;chars=200;filled" jsonschema:"things that it is about"`
}

func knowledgeLearn() Tool {
	return Define(Spec{Name: "knowledge_learn", Title: "Learn a claim", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Keep a fact for later sessions, with its evidence: what the user told you (user_statement) or what you found out. " +
			"One statement per call. Evidence that Ken can check makes it stronger. Known facts are not kept twice.",
		Example: `{"claim":"Payments are retried three times.","evidence":[{"kind":"file","path":"retry.go"}]}`},
		func(ctx context.Context, c *Call, in learnIn) (*Learned, error) {
			ev, err := c.evidence(ctx, in.Evidence)
			if err != nil {
				return nil, err
			}
			k := ken.Claim{Kind: ken.KindFact, Heading: in.Heading, Text: in.Claim, Evidence: ev.pieces, Status: ken.StatusObserved,
				Confidence: 1, Importance: 0.5, Domain: in.Domain, Tags: in.Tags, Entities: in.Entities, SourceType: "tool:knowledge_learn"}
			if in.Kind != "" {
				k.Kind = ken.Kind(in.Kind)
			}
			if only(ev.pieces, ken.EvidenceModelInference) {
				k.Status, k.Confidence = ken.StatusHypothesis, 0.4
			}
			if in.Status != "" {
				k.Status = ken.Status(in.Status)
			}
			if in.Confidence != nil {
				k.Confidence = *in.Confidence
			}
			return c.learn(ctx, k, ev.notes)
		})
}

// only reports evidence of nothing but one kind.
func only(pieces []ken.Evidence, kind ken.EvidenceKind) bool {
	for _, e := range pieces {
		if e.Kind != kind {
			return false
		}
	}
	return len(pieces) > 0
}
