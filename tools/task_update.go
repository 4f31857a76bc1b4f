package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// taskUpdateIn are task_update's arguments.
type taskUpdateIn struct {
	ID        string   `json:"id" rule:"filled;chars=40" jsonschema:"of the task, such as T-0001"`
	Status    string   `json:"status,omitempty" rule:"enum=open|in_progress|blocked|done|cancelled"`
	Title     string   `json:"title,omitempty" rule:"chars=1000" jsonschema:"the new title"`
	About     []string `json:"about,omitempty" rule:"items=20;chars=200;filled" jsonschema:"replaces what it was about"`
	ExpiresAt string   `json:"expires_at,omitempty" rule:"chars=40" jsonschema:"such as 2026-12-31, or never"`
}

func taskUpdate() Tool {
	return Define(Spec{Name: "task_update", Title: "Change a task", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Change a task: its status, title, entities or expiry. What is left out stays.",
		Example:     `{"id":"T-0001","status":"in_progress"}`},
		func(ctx context.Context, c *Call, in taskUpdateIn) (*TaskResult, error) {
			var change edit.TaskChange
			if in.Status != "" {
				s := task.Status(in.Status)
				change.Status = &s
			}
			if in.About != nil {
				change.About = &in.About
			}
			if in.ExpiresAt != "" {
				until, err := when("expires_at", in.ExpiresAt)
				if err != nil {
					return nil, err
				}
				change.ExpiresAt = &until
			}
			words := in.Title
			if in.Title != "" {
				change.Title = &in.Title
			}
			if change == (edit.TaskChange{}) {
				return nil, invalid("status", "nothing is to be changed", "Give status, title, about or expires_at.")
			}
			ev, err := c.backed(ctx, words, nil)
			if err != nil {
				return nil, err
			}
			before := c.Store.Seq()
			t, err := c.editor("task_update", ev.pieces).UpdateTask(ctx, in.ID, change)
			if err != nil {
				return nil, err
			}
			if c.Store.Seq() != before {
				c.Touch(t.ClaimID)
			}
			return &TaskResult{c.showTask(t), ev.notes}, nil
		})
}
