package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/knowledge/structure"
)

// dependencyIn are dependency_add's arguments.
type dependencyIn struct {
	Source   string     `json:"source" rule:"filled;chars=200" jsonschema:"what depends"`
	Type     string     `json:"type" rule:"enum=uses|requires|owned_by|blocks|informs"`
	Target   string     `json:"target" rule:"filled;chars=200" jsonschema:"what it depends on"`
	Strength *float64   `json:"strength,omitempty" rule:"min=0.01;max=1" jsonschema:"default 0.5; below 0.3 it is not followed by default"`
	Evidence []Evidence `json:"evidence,omitempty" rule:"items=20" jsonschema:"who or what says so; default: your own word"`
}

// DependencyAdded is a dependency as it stands.
type DependencyAdded struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Strength float64  `json:"strength"`
	Status   string   `json:"status"`
	Tier     string   `json:"tier" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`
	Trust    string   `json:"trust"`
	Notes    []string `json:"notes,omitempty"`
}

// Write implements Output.
func (d *DependencyAdded) Write(p *Page) {
	p.Line("It is known now that " + d.Text + ".")
	p.Line("id " + d.ID + ", " + d.Status + ", tier " + d.Tier + ", trust " + d.Trust)
	for _, n := range d.Notes {
		p.Line("note: " + n)
	}
}

func dependencyAdd() Tool {
	return Define(Spec{Name: "dependency_add", Title: "Add a dependency", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Record that one thing uses, requires, is owned by, blocks or informs another. Turns about one then show the rules of the other.",
		Example:     `{"source":"payments","type":"requires","target":"ledger"}`},
		func(ctx context.Context, c *Call, in dependencyIn) (*DependencyAdded, error) {
			ev, err := c.backed(ctx, structure.Sentence(in.Source, in.Type, in.Target), in.Evidence)
			if err != nil {
				return nil, err
			}
			strength := 0.0
			if in.Strength != nil {
				strength = *in.Strength
			}
			before := c.Store.Seq()
			got, err := c.editor("dependency_add", ev.pieces).AddDependency(ctx, in.Source, in.Type, in.Target, strength)
			if err != nil {
				return nil, err
			}
			if c.Store.Seq() != before {
				c.Touch(got.ID)
			}
			k := c.show(got)
			return &DependencyAdded{k.ID, oneLine(got.Text, maxHeading), got.Importance, k.Status, k.Tier, k.Trust, ev.notes}, nil
		})
}
