package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// markIn are forget_memory's arguments.
type markIn struct {
	ID     string `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Reason string `json:"reason,omitempty" rule:"chars=400" jsonschema:"without repeating the claim"`
}

// Marked is what came of a request that a person has to agree to.
type Marked struct {
	ID      string `json:"id"`
	Marked  bool   `json:"marked" jsonschema:"it is in the operator's attention queue"`
	Again   bool   `json:"again,omitempty" jsonschema:"it was there already"`
	Confirm string `json:"confirm" jsonschema:"the command with which the operator does it"`
}

// Write implements Output.
func (m *Marked) Write(p *Page) {
	p.Line("Marked for the operator; nothing was changed. The claim stays in use until the operator confirms with: " + m.Confirm)
	if m.Again {
		p.Line("It was marked already.")
	}
}

func forgetMemory() Tool {
	return Define(Spec{Name: "forget_memory", Title: "Ask to forget a claim", Effect: Marks, Right: Write, Idempotent: true,
		Description: "Ask the operator to erase a claim, for example when the user wants it forgotten. It stays until the operator confirms. " +
			"If it is wrong, use knowledge_dispute.",
		Example: `{"id":"3f9a2c71","reason":"the user asked for it"}`},
		func(ctx context.Context, c *Call, in markIn) (*Marked, error) {
			k, err := c.find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			fresh, err := c.mark(ctx, attention.ForgetRequested, k.ID, in.Reason)
			if err != nil {
				return nil, err
			}
			return &Marked{ID: k.ID, Marked: true, Again: !fresh, Confirm: "ken forget " + k.ID}, nil
		})
}

// mark asks a person about a claim.
func (c *Call) mark(ctx context.Context, e attention.Event, id, reason string) (fresh bool, err error) {
	c.Touch(id)
	return attention.PutMark(ctx, c.Store.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: c.Session,
		Actor: c.actor(), At: c.Now()})
}
