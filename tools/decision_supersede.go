package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionSupersedeIn are decision_supersede's arguments.
type decisionSupersedeIn struct {
	ID string `json:"id" rule:"filled;chars=400" jsonschema:"of the old decision, such as ADR-0042"`
	By string `json:"by" rule:"filled;chars=400" jsonschema:"of the new one, which must be accepted"`
}

func decisionSupersede() Tool {
	return Define(Spec{Name: "decision_supersede", Title: "Supersede an architecture decision", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Mark an architecture decision as superseded by a newer one that is accepted. Both files then say so; decision_search still finds the old one.",
		Example:     `{"id":"ADR-0012","by":"ADR-0042"}`},
		func(ctx context.Context, c *Call, in decisionSupersedeIn) (*DecisionResult, error) {
			code, err := c.decided(ctx)
			if err != nil {
				return nil, err
			}
			by, err := code.Decisions().Find(in.By)
			if err != nil {
				return nil, err
			}
			if by.Status != decision.Accepted {
				return nil, refused("by", by.Handle+" is not accepted: with it in place of the other, nothing would hold",
					"Have a person accept it, or name a decision that is accepted.")
			}
			was, _, err := code.Decisions().Supersede(ctx, in.ID, by.Handle)
			if err != nil {
				return nil, err
			}
			return &DecisionResult{"superseded", c.showDecision(&was), nil}, code.Govern(ctx)
		})
}
