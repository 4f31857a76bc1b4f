package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// taskListIn are task_list's arguments.
type taskListIn struct {
	Statuses []string `json:"statuses,omitempty" rule:"items=5;enum=open|in_progress|blocked|done|cancelled" jsonschema:"default: open ones"`
	About    string   `json:"about,omitempty" rule:"chars=200" jsonschema:"only about this entity"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=100;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// TaskList is a page of tasks, by their numbers.
type TaskList struct {
	Tasks []Task `json:"tasks"`
	Total int    `json:"total"`
	Next  int    `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (l *TaskList) Write(p *Page) {
	if len(l.Tasks) == 0 {
		p.Line("There are no such tasks.")
		return
	}
	p.Line(strconv.Itoa(len(l.Tasks)) + " of " + strconv.Itoa(l.Total) + " tasks.")
	if l.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(l.Next))
	}
	for i := range l.Tasks {
		p.Part("task", []string{l.Tasks[i].line()})
	}
}

func taskList() Tool {
	return Define(Spec{Name: "task_list", Title: "List tasks", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List tasks, all or those about one thing. Look here when you begin, and before you create a task.",
		Example:     `{"about":"ledger"}`},
		func(ctx context.Context, c *Call, in taskListIn) (*TaskList, error) {
			if in.Limit == 0 {
				in.Limit = 20
			}
			want := edit.TaskFilter{About: in.About}
			for _, s := range in.Statuses {
				want.Statuses = append(want.Statuses, task.Status(s))
			}
			all, err := c.editor("task_list", nil).Tasks(ctx, want)
			if err != nil {
				return nil, err
			}
			out := &TaskList{Tasks: []Task{}, Total: len(all)}
			page := all[min(in.Offset, len(all)):]
			if len(page) > in.Limit {
				page, out.Next = page[:in.Limit], in.Offset+in.Limit
			}
			for _, t := range page {
				out.Tasks = append(out.Tasks, c.showTask(t))
			}
			return out, nil
		})
}
