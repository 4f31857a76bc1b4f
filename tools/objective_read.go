package tools

import "context"

// objectiveReadIn are objective_read's arguments.
type objectiveReadIn struct {
	ID string `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
}

func objectiveRead() Tool {
	return Define(Spec{Name: "objective_read", Title: "Read an objective", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Read one objective whole: what is aimed at, which steps remain, and which are done, when and by whom.",
		Example:     `{"id":"OBJ-0001"}`},
		func(ctx context.Context, c *Call, in objectiveReadIn) (*ObjectiveResult, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			o, problems, err := goals.Read(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return &ObjectiveResult{c.showObjective(&o, problems), nil}, nil
		})
}
