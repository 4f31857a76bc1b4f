package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveLinkTaskIn are objective_link_task's arguments.
type objectiveLinkTaskIn struct {
	ID     string `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
	Task   string `json:"task" rule:"filled;chars=500" jsonschema:"its text, its number, or a part of the text that no other step has"`
	Action string `json:"action" rule:"enum=complete|add" jsonschema:"add: it remains to be done"`
	Claim  string `json:"claim,omitempty" rule:"chars=80" jsonschema:"id of a claim that shows it"`
}

func objectiveLinkTask() Tool {
	return Define(Spec{Name: "objective_link_task", Title: "Complete or add a step of an objective", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Complete a step of an objective, or add one. Call it as soon as a step is done: every turn shows the progress.",
		Example:     `{"id":"OBJ-0001","task":"Design","action":"complete"}`},
		func(ctx context.Context, c *Call, in objectiveLinkTaskIn) (*ObjectiveResult, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			d := &draft{}
			link := objective.Link{Done: in.Action == "complete", By: c.by()}
			if link.Done {
				link.Task = d.line("task", in.Task)
			} else {
				link.Task = d.goal("task", in.Task)
			}
			if d.err != nil {
				return nil, d.err
			}
			if !link.Done { // what is done is there already
				if err := c.ours(ctx, d); err != nil {
					return nil, err
				}
			}
			if in.Claim != "" {
				k, err := c.find(ctx, in.Claim)
				if err != nil {
					return nil, err
				}
				link.Claim = k.ID
			}
			o, err := goals.Link(ctx, in.ID, link)
			if err != nil {
				return nil, err
			}
			return &ObjectiveResult{c.showObjective(&o, nil), d.notes()}, nil
		})
}
