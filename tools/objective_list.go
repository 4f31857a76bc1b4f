package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveListIn are objective_list's arguments.
type objectiveListIn struct {
	Statuses []string `json:"statuses,omitempty" rule:"items=4;enum=active|paused|done|abandoned" jsonschema:"default: active and paused"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// ObjectiveListed is an objective in a list.
type ObjectiveListed struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Status string   `json:"status"`
	Done   int      `json:"done"`
	Total  int      `json:"total"`
	Next   string   `json:"next_task,omitempty" jsonschema:"the first that remains"`
	Tags   []string `json:"tags,omitempty"`
}

// ObjectiveList is a page of objectives, by their ids.
type ObjectiveList struct {
	Objectives []ObjectiveListed `json:"objectives"`
	Total      int               `json:"total"`
	Next       int               `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
	Problems   []string          `json:"problems,omitempty" jsonschema:"files that are broken"`
}

// Write implements Output.
func (l *ObjectiveList) Write(p *Page) {
	for _, s := range l.Problems {
		p.Line("problem: " + s)
	}
	if len(l.Objectives) == 0 {
		p.Line("There are no such objectives.")
		return
	}
	p.Line(strconv.Itoa(len(l.Objectives)) + " of " + strconv.Itoa(l.Total) + " objectives. Read one with objective_read.")
	if l.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(l.Next))
	}
	lines := make([]string, len(l.Objectives))
	for i := range l.Objectives {
		o := &l.Objectives[i]
		lines[i] = o.ID + " " + o.Status + ", " + strconv.Itoa(o.Done) + " of " + strconv.Itoa(o.Total) + " tasks: " + o.Title
		if o.Next != "" {
			lines[i] += "; next: " + bounded(o.Next, maxName)
		}
	}
	listed(p, "objectives", lines)
}

func objectiveList() Tool {
	return Define(Spec{Name: "objective_list", Title: "List objectives", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List this project's long goals with how far each has come and what comes next.",
		Example:     `{"statuses":["active"]}`},
		func(ctx context.Context, c *Call, in objectiveListIn) (*ObjectiveList, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 20
			}
			want := []objective.Status{objective.Active, objective.Paused}
			if len(in.Statuses) > 0 {
				want = nil
			}
			for _, s := range in.Statuses {
				want = append(want, objective.Status(s))
			}
			all, problems, err := goals.List(ctx, want...)
			if err != nil {
				return nil, err
			}
			page := all[min(in.Offset, len(all)):]
			page = page[:min(in.Limit, len(page))]
			out := &ObjectiveList{Objectives: []ObjectiveListed{}, Total: len(all), Next: nextOf(in.Offset, len(page), len(all))}
			for i := range page {
				o := c.showObjective(&page[i], nil)
				l := ObjectiveListed{ID: o.ID, Title: o.Title, Status: o.Status, Done: o.Done, Total: o.Total, Tags: o.Tags}
				for _, t := range o.Tasks {
					if !t.Done {
						l.Next = t.Text
						break
					}
				}
				out.Objectives = append(out.Objectives, l)
			}
			for _, p := range problems[:min(len(problems), 10)] {
				out.Problems = append(out.Problems, lineOf(placed(p.Path, p.Line)+": "+p.Text, maxEntry))
			}
			return out, nil
		})
}
