package tools

import (
	"context"
	"strings"

	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
)

// taskCreateIn are task_create's arguments.
type taskCreateIn struct {
	Title     string   `json:"title" rule:"filled;chars=1000" jsonschema:"what is to be done, in one sentence"`
	About     []string `json:"about,omitempty" rule:"items=20;chars=200;filled" jsonschema:"what it is about; default: known names in the title"`
	ExpiresAt string   `json:"expires_at,omitempty" rule:"chars=40" jsonschema:"such as 2026-12-31"`
}

func taskCreate() Tool {
	return Define(Spec{Name: "task_create", Title: "Create a task", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Keep something to be done beyond this session. It gets an id such as T-0001 and is shown with what it is about. " +
			"An open one in the same words is not created again.",
		Example: `{"title":"Move the ledger to PostgreSQL 15","about":["ledger"]}`},
		func(ctx context.Context, c *Call, in taskCreateIn) (*TaskResult, error) {
			until, err := when("expires_at", in.ExpiresAt)
			if err != nil {
				return nil, err
			}
			ev, err := c.backed(ctx, in.Title, nil)
			if err != nil {
				return nil, err
			}
			release, err := c.r.writing.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			e := c.editor("task_create", ev.pieces)
			had, err := e.Tasks(ctx, edit.TaskFilter{Contains: squeeze(in.Title)})
			if err != nil {
				return nil, err
			}
			for _, t := range had {
				if strings.EqualFold(t.Title, squeeze(in.Title)) && t.Claim.Scope == c.scope() {
					return &TaskResult{c.showTask(t), append(ev.notes, "it is there already")}, nil
				}
			}
			t, err := e.CreateTask(ctx, edit.NewTask{Title: in.Title, About: in.About, ExpiresAt: until})
			if err != nil {
				return nil, err
			}
			c.Touch(t.ClaimID)
			return &TaskResult{c.showTask(t), ev.notes}, nil
		})
}
