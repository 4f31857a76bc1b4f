package tools

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// taskView is the form of a task in answers.
type taskView struct {
	ID          string    `json:"id" jsonschema:"such as T-0001"`
	Title       string    `json:"title"`
	Status      string    `json:"status" rule:"enum=open|in_progress|blocked|done|cancelled"`
	About       []string  `json:"about,omitempty"`
	Expired     bool      `json:"expired,omitempty" jsonschema:"it is not over, and its time is"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`
	CompletedAt time.Time `json:"completed_at,omitzero"`
	KeptUntil   time.Time `json:"kept_until,omitzero" jsonschema:"a task that is over is put away then"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	Trust       string    `json:"trust" jsonschema:"who speaks in the title: operator, agent or external; external is somebody else's text"`
	ClaimID     string    `json:"claim_id"`
}

// showTask converts a task for an answer, and records that it was shown.
func (c *Call) showTask(t task.Task) taskView {
	k := c.show(t.Claim)
	out := taskView{ID: t.ID, Title: k.Text, Status: string(t.Status), Expired: t.Expired, ExpiresAt: seconds(t.ExpiresAt), CompletedAt: seconds(t.CompletedAt),
		KeptUntil: seconds(t.RetentionUntil), CreatedAt: seconds(t.CreatedAt), UpdatedAt: seconds(t.UpdatedAt), Trust: k.Trust, ClaimID: t.ClaimID}
	for _, n := range t.About[:min(len(t.About), 20)] {
		out.About = append(out.About, oneLine(n, maxName))
	}
	return out
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// line returns a task as one line, in its author's words.
func (t *taskView) line() string {
	s := t.ID + " " + t.Status
	if t.Expired {
		s += ", expired"
	}
	if !t.ExpiresAt.IsZero() {
		s += ", until " + t.ExpiresAt.Format(time.DateOnly)
	}
	if t.Trust == external {
		s += ", external"
	}
	s += ": " + oneLine(t.Title, 400)
	if len(t.About) > 0 {
		s += " (about " + strings.Join(t.About, ", ") + ")"
	}
	return s
}

// taskResult is a task after a call.
type taskResult struct {
	Task  taskView `json:"task"`
	Notes []string `json:"notes,omitempty"`
}

// Write implements Output.
func (r *taskResult) Write(p *Page) {
	p.Line(r.Task.ID + " is " + r.Task.Status + ".")
	p.notes(r.Notes)
	p.Part("task", []string{r.Task.line()})
}

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
		func(ctx context.Context, c *Call, in taskCreateIn) (*taskResult, error) {
			until, err := parseTime("expires_at", in.ExpiresAt)
			if err != nil {
				return nil, err
			}
			ev, err := c.evidenceFor(ctx, in.Title, nil)
			if err != nil {
				return nil, err
			}
			release, err := c.r.writeLocks.Take(ctx, c.Owner)
			if err != nil {
				return nil, err
			}
			defer release()
			e := c.editor("task_create", ev.pieces)
			had, err := e.Tasks(ctx, edit.TaskFilter{Contains: collapseSpaces(in.Title)})
			if err != nil {
				return nil, err
			}
			for _, t := range had {
				if strings.EqualFold(t.Title, collapseSpaces(in.Title)) && t.Claim.Scope == c.scope() {
					return &taskResult{c.showTask(t), append(ev.notes, "it is there already")}, nil
				}
			}
			t, err := e.CreateTask(ctx, edit.NewTask{Title: in.Title, About: in.About, ExpiresAt: until})
			if err != nil {
				return nil, err
			}
			c.Touch(t.ClaimID)
			return &taskResult{c.showTask(t), ev.notes}, nil
		})
}

// taskListIn are task_list's arguments.
type taskListIn struct {
	Statuses []string `json:"statuses,omitempty" rule:"items=5;enum=open|in_progress|blocked|done|cancelled" jsonschema:"default: open ones"`
	About    string   `json:"about,omitempty" rule:"chars=200" jsonschema:"only about this entity"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=100;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// taskListResult is a page of tasks, ordered by number.
type taskListResult struct {
	Tasks []taskView `json:"tasks"`
	Total int        `json:"total"`
	Next  int        `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (l *taskListResult) Write(p *Page) {
	if len(l.Tasks) == 0 {
		p.Line("There are no such tasks.")
		return
	}
	p.Line(strconv.Itoa(len(l.Tasks)) + " of " + strconv.Itoa(l.Total) + " tasks.")
	p.next(l.Next)
	for i := range l.Tasks {
		p.Part("task", []string{l.Tasks[i].line()})
	}
}

func taskList() Tool {
	return Define(Spec{Name: "task_list", Title: "List tasks", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List tasks, all or those about one thing. Look here when you begin, and before you create a task.",
		Example:     `{"about":"ledger"}`},
		func(ctx context.Context, c *Call, in taskListIn) (*taskListResult, error) {
			all, err := c.editor("task_list", nil).Tasks(ctx, edit.TaskFilter{About: in.About, Statuses: named[task.Status](in.Statuses)})
			if err != nil {
				return nil, err
			}
			page := all[min(in.Offset, len(all)):]
			page = page[:min(in.Limit, len(page))]
			out := &taskListResult{Tasks: []taskView{}, Total: len(all), Next: nextOffset(in.Offset, len(page), len(all))}
			for _, t := range page {
				out.Tasks = append(out.Tasks, c.showTask(t))
			}
			return out, nil
		})
}

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
		func(ctx context.Context, c *Call, in taskUpdateIn) (*taskResult, error) {
			var change edit.TaskChange
			if in.Status != "" {
				s := task.Status(in.Status)
				change.Status = &s
			}
			if in.About != nil {
				change.About = &in.About
			}
			if in.ExpiresAt != "" {
				until, err := parseTime("expires_at", in.ExpiresAt)
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
			ev, err := c.evidenceFor(ctx, words, nil)
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
			return &taskResult{c.showTask(t), ev.notes}, nil
		})
}
