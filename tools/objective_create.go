package tools

import (
	"context"
	"strings"

	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveCreateIn are objective_create's arguments.
type objectiveCreateIn struct {
	Title       string   `json:"title" rule:"filled;chars=200" jsonschema:"the goal, in one sentence"`
	Description string   `json:"description,omitempty" rule:"chars=10000" jsonschema:"when it is reached, and what belongs to it"`
	Tasks       []string `json:"tasks,omitempty" rule:"items=50;chars=500;filled" jsonschema:"the steps, in their order"`
	Decisions   []string `json:"decisions,omitempty" rule:"items=20;chars=120;filled" jsonschema:"such as ADR-0042"`
	Tags        []string `json:"tags,omitempty" rule:"items=20;chars=60;filled"`
}

func objectiveCreate() Tool {
	return Define(Spec{Name: "objective_create", Title: "Create an objective", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Keep a goal that outlasts this session, with its steps. It gets an id such as OBJ-0001, and every turn in this project shows it while it " +
			"is active. An open one with the same title is not created again. For small things use task_create.",
		Example: `{"title":"Ship the new login","tasks":["Design","Implement","Test"]}`},
		func(ctx context.Context, c *Call, in objectiveCreateIn) (*ObjectiveResult, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			d := &draft{}
			want := objective.Draft{Title: d.goal("title", in.Title), Description: d.text("description", in.Description), Tasks: d.goals("tasks", in.Tasks),
				Decisions: d.lines("decisions", in.Decisions), Tags: d.lines("tags", in.Tags)}
			if c.Session != "" {
				want.Sessions = []string{c.Session}
			}
			if err := c.ours(ctx, d); err != nil {
				return nil, err
			}
			release, err := c.r.writing.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			had, problems, err := goals.List(ctx, objective.Active, objective.Paused)
			if err != nil {
				return nil, err
			}
			for i := range had {
				if strings.EqualFold(squeeze(had[i].Title), want.Title) {
					return &ObjectiveResult{c.showObjective(&had[i], problems), append(d.notes(), "it is there already")}, nil
				}
			}
			o, err := goals.Create(ctx, want)
			if err != nil {
				return nil, err
			}
			return &ObjectiveResult{c.showObjective(&o, nil), d.notes()}, nil
		})
}
