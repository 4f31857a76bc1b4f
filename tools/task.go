package tools

import (
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// Task is a work item as an answer shows it.
type Task struct {
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

// showTask makes a task fit to be shown, and notes that it was.
func (c *Call) showTask(t task.Task) Task {
	k := c.show(t.Claim)
	out := Task{ID: t.ID, Title: k.Text, Status: string(t.Status), Expired: t.Expired, ExpiresAt: seconds(t.ExpiresAt), CompletedAt: seconds(t.CompletedAt),
		KeptUntil: seconds(t.RetentionUntil), CreatedAt: seconds(t.CreatedAt), UpdatedAt: seconds(t.UpdatedAt), Trust: k.Trust, ClaimID: t.ClaimID}
	for _, n := range t.About[:min(len(t.About), 20)] {
		out.About = append(out.About, oneLine(n, maxName))
	}
	return out
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// line is a task in one line, in words that are its author's.
func (t *Task) line() string {
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

// TaskResult is a task as it is now.
type TaskResult struct {
	Task  Task     `json:"task"`
	Notes []string `json:"notes,omitempty"`
}

// Write implements Output.
func (r *TaskResult) Write(p *Page) {
	p.Line(r.Task.ID + " is " + r.Task.Status + ".")
	for _, n := range r.Notes {
		p.Line("note: " + n)
	}
	p.Part("task", []string{r.Task.line()})
}
