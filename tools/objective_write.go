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
		func(ctx context.Context, c *Call, in objectiveCreateIn) (*objectiveResult, error) {
			goals, err := c.objectives()
			if err != nil {
				return nil, err
			}
			d := &draft{}
			want := objective.Draft{Title: d.objectiveText("title", in.Title), Description: d.text("description", in.Description), Tasks: d.objectiveTexts("tasks", in.Tasks),
				Decisions: d.lines("decisions", in.Decisions), Tags: d.lines("tags", in.Tags)}
			if c.Session != "" {
				want.Sessions = []string{c.Session}
			}
			if err := c.checkDraft(ctx, d); err != nil {
				return nil, err
			}
			release, err := c.r.writeLocks.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			had, problems, err := goals.List(ctx, objective.Active, objective.Paused)
			if err != nil {
				return nil, err
			}
			for i := range had {
				if strings.EqualFold(collapseSpaces(had[i].Title), want.Title) {
					return &objectiveResult{c.showObjective(&had[i], problems), append(d.notes(), "it is there already")}, nil
				}
			}
			o, err := goals.Create(ctx, want)
			if err != nil {
				return nil, err
			}
			return &objectiveResult{c.showObjective(&o, nil), d.notes()}, nil
		})
}

// objectiveUpdateIn are objective_update's arguments.
type objectiveUpdateIn struct {
	ID          string   `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
	Status      string   `json:"status,omitempty" rule:"enum=active|paused|done|abandoned"`
	Title       string   `json:"title,omitempty" rule:"chars=200" jsonschema:"the new goal"`
	Description string   `json:"description,omitempty" rule:"chars=10000" jsonschema:"replaces the old one"`
	Tasks       []stepIn `json:"tasks,omitempty" rule:"items=200" jsonschema:"replace all steps; for one step use objective_link_task"`
	Decisions   []string `json:"decisions,omitempty" rule:"items=20;chars=120;filled" jsonschema:"added to the others, such as ADR-0042"`
	Tags        []string `json:"tags,omitempty" rule:"items=20;chars=60;filled" jsonschema:"replace the old ones"`
}

// stepIn is a step in an agent's arguments.
type stepIn struct {
	Text string `json:"text" rule:"filled;chars=500"`
	Done bool   `json:"done,omitempty"`
}

func objectiveUpdate() Tool {
	return Define(Spec{Name: "objective_update", Title: "Change an objective", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Change an objective: status, title, description, steps, tags and decisions. What is left out stays. Set done only when the goal is reached, " +
			"not when all steps are.",
		Example: `{"id":"OBJ-0001","status":"paused"}`},
		func(ctx context.Context, c *Call, in objectiveUpdateIn) (*objectiveResult, error) {
			goals, err := c.objectives()
			if err != nil {
				return nil, err
			}
			if in.Status == "" && in.Title == "" && in.Description == "" && in.Tasks == nil && in.Decisions == nil && in.Tags == nil {
				return nil, invalid("status", "nothing is to be changed", "Give status, title, description, tasks, decisions or tags.")
			}
			o, _, err := goals.Read(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			d := &draft{}
			change := in.change(d, &o, c)
			if err := c.checkDraft(ctx, d); err != nil {
				return nil, err
			}
			if o, err = goals.Update(ctx, o.ID, change); err != nil {
				return nil, err
			}
			return &objectiveResult{c.showObjective(&o, nil), d.notes()}, nil
		})
}

func (in *objectiveUpdateIn) change(d *draft, was *objective.Objective, c *Call) objective.Update {
	var u objective.Update
	if in.Status != "" {
		s := objective.Status(in.Status)
		u.Status = &s
	}
	if in.Title != "" {
		s := d.objectiveText("title", in.Title)
		u.Title = &s
	}
	if in.Description != "" {
		s := d.text("description", in.Description)
		u.Description = &s
	}
	u.AddDecisions = d.lines("decisions", in.Decisions)
	if in.Tags != nil {
		u.Tags = append([]string{}, d.lines("tags", in.Tags)...)
	}
	if c.Session != "" {
		u.AddSessions = []string{c.Session}
	}
	if in.Tasks != nil {
		u.Tasks = in.tasks(d, was, c)
	}
	return u
}

// tasks returns the steps of an update. Each keeps what the objective knows about the same step.
func (in *objectiveUpdateIn) tasks(d *draft, was *objective.Objective, c *Call) []objective.Task {
	out := []objective.Task{}
	for i := range in.Tasks {
		t := objective.Task{Text: d.line("tasks", in.Tasks[i].Text), Done: in.Tasks[i].Done}
		if t.Text == "" {
			continue
		}
		known := false
		for _, had := range was.Tasks {
			if known = strings.EqualFold(collapseSpaces(had.Text), t.Text); known {
				t.Claim = had.Claim
				if had.Done && t.Done {
					t.DoneAt, t.By = had.DoneAt, had.By
				}
				break
			}
		}
		if !known {
			d.refuseRule("tasks", t.Text)
		}
		if t.Done && t.DoneAt.IsZero() {
			t.DoneAt, t.By = c.Now(), c.by()
		}
		out = append(out, t)
	}
	return out
}

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
		func(ctx context.Context, c *Call, in objectiveLinkTaskIn) (*objectiveResult, error) {
			goals, err := c.objectives()
			if err != nil {
				return nil, err
			}
			d := &draft{}
			link := objective.Link{Done: in.Action == "complete", By: c.by()}
			if link.Done {
				link.Task = d.line("task", in.Task)
			} else {
				link.Task = d.objectiveText("task", in.Task)
			}
			if d.err != nil {
				return nil, d.err
			}
			if !link.Done { // a finished step may exist already
				if err := c.checkDraft(ctx, d); err != nil {
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
			return &objectiveResult{c.showObjective(&o, nil), d.notes()}, nil
		})
}
