package tools

import (
	"context"

	"github.com/kenlayer/ken"
)

// ingestIn are memory_ingest's arguments.
type ingestIn struct {
	Text    string   `json:"text" rule:"filled;chars=4000" jsonschema:"the fact, in one statement that can be understood without this conversation"`
	From    string   `json:"from,omitempty" rule:"enum=user|agent;default=agent" jsonschema:"who says so: the user in this conversation, or you"`
	URL     string   `json:"url,omitempty" rule:"chars=2000" jsonschema:"the page that it comes from; it makes the fact external"`
	Heading string   `json:"heading,omitempty" rule:"chars=160" jsonschema:"what it is about"`
	Domain  string   `json:"domain,omitempty" rule:"chars=80" jsonschema:"a bucket of your own, such as preferences"`
	Tags    []string `json:"tags,omitempty" rule:"items=20;chars=80;filled"`
}

func memoryIngest() Tool {
	return Define(Spec{Name: "memory_ingest", Title: "Remember a fact", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Another name of knowledge_learn, for a fact with little evidence.",
		Example:     `{"text":"The user deploys on Tuesdays.","from":"user"}`},
		func(ctx context.Context, c *Call, in ingestIn) (*Learned, error) {
			given := []Evidence{{Kind: string(ken.EvidenceAgentAssertion)}}
			if in.From == "user" {
				given[0].Kind = string(ken.EvidenceUserStatement)
			}
			if in.URL != "" {
				given = append(given, Evidence{Kind: string(ken.EvidenceURL), URL: in.URL})
			}
			ev, err := c.evidence(ctx, given)
			if err != nil {
				return nil, err
			}
			return c.learn(ctx, ken.Claim{Kind: ken.KindFact, Heading: in.Heading, Text: in.Text, Evidence: ev.pieces, Status: ken.StatusObserved,
				Confidence: 1, Importance: 0.5, Domain: in.Domain, Tags: in.Tags, SourceType: "tool:memory_ingest"}, ev.notes)
		})
}
