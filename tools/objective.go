package tools

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// objectiveView is the form of an objective in answers.
type objectiveView struct {
	ID          string     `json:"id" jsonschema:"such as OBJ-0001"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Status      string     `json:"status" rule:"enum=active|paused|done|abandoned"`
	Done        int        `json:"done" jsonschema:"how many tasks are done"`
	Total       int        `json:"total" jsonschema:"how many tasks there are"`
	Tasks       []stepView `json:"tasks"`
	Decisions   []string   `json:"decisions,omitempty" jsonschema:"that it hangs on"`
	Tags        []string   `json:"tags,omitempty"`
	Path        string     `json:"path" jsonschema:"of its file"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	Problems    []string   `json:"problems,omitempty" jsonschema:"what is wrong with its file"`
}

// stepView is a step of an objective.
type stepView struct {
	Number int       `json:"number" jsonschema:"from 1"`
	Text   string    `json:"text"`
	Done   bool      `json:"done"`
	DoneAt time.Time `json:"done_at,omitzero"`
	By     string    `json:"by,omitempty" jsonschema:"who did it"`
}

// maxTaskText is the maximum length of a task that is shown, in code points.
const maxTaskText = 500

// refuseRule refuses a title or step of an objective that reads as a rule. Every turn shows both,
// but an agent's rule needs a person's approval.
func (d *draft) refuseRule(field, s string) {
	if d.err == nil && reading.Read(&ken.Claim{Text: s, Evidence: []ken.Evidence{ken.FromAgentAssertion("", "")}}, nil).Constraint {
		d.err = refused(field, "it reads as a rule, and an objective is told to every turn without a person's approval",
			"Word it as what is to be reached, or propose the rule with constraint_add.")
	}
}

// objectiveText cleans the title or a step of an objective, and refuses rules.
func (d *draft) objectiveText(field, s string) string {
	s = d.line(field, s)
	d.refuseRule(field, s)
	return s
}

func (d *draft) objectiveTexts(field string, list []string) []string {
	var out []string
	for _, s := range list {
		if s = d.objectiveText(field, s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// showObjective converts an objective for an answer, and records that it was shown.
func (c *Call) showObjective(o *objective.Objective, problems []objective.Problem) objectiveView {
	progress := o.Progress()
	out := objectiveView{ID: fileLine(o.ID, maxName), Title: fileLine(o.Title, maxHeading+40), Status: string(o.Status), Done: progress.Done, Total: progress.Total,
		Tasks: []stepView{}, Decisions: fileLines(o.Decisions[:min(len(o.Decisions), maxListed)], maxName), Tags: fileLines(o.Tags[:min(len(o.Tags), maxListed)], maxName),
		Path: fileLine(o.Path, maxID), CreatedAt: seconds(o.Created), UpdatedAt: seconds(o.Updated)}
	if !o.Status.Valid() { // the problems of its file report this
		out.Status = string(objective.Paused)
	}
	out.Description, _ = fileText(o.Description, maxSection)
	for i, t := range o.Tasks {
		out.Tasks = append(out.Tasks, stepView{i + 1, fileLine(t.Text, maxTaskText), t.Done, seconds(t.DoneAt), fileLine(t.By, maxName)})
	}
	for _, p := range problems {
		if p.Path == o.Path && len(out.Problems) < 10 {
			out.Problems = append(out.Problems, fileLine(location(p.Path, p.Line)+": "+p.Text, maxEntry))
		}
	}
	c.showFile("objective:"+out.ID, ken.KindObjective, out.Title)
	if out.Description != "" {
		c.showFile("objective:"+out.ID, ken.KindObjective, out.Description)
	}
	return out
}

func (o *objectiveView) line() string {
	return o.ID + " " + o.Status + ", " + strconv.Itoa(o.Done) + " of " + strconv.Itoa(o.Total) + " tasks: " + o.Title
}

func (t *stepView) line() string {
	s := strconv.Itoa(t.Number) + ". " + t.Text
	if !t.DoneAt.IsZero() {
		s += ", done " + t.DoneAt.Format(time.DateOnly)
	}
	if t.By != "" {
		s += " by " + t.By
	}
	return s
}

// write adds an objective to the page, with its open steps before the finished ones.
func (o *objectiveView) write(p *Page) {
	p.Part("objective", []string{o.line()})
	for _, s := range o.Problems {
		p.Line("problem: " + s)
	}
	if o.Description != "" {
		p.Part("description", []string{analysis.Clip(o.Description, maxItem)})
	}
	var left, done []string
	for i := range o.Tasks {
		if t := &o.Tasks[i]; t.Done {
			done = append(done, t.line())
		} else {
			left = append(left, t.line())
		}
	}
	addList(p, "remaining", left)
	addList(p, "done", done)
	if len(o.Decisions) > 0 {
		p.Part("decisions", []string{strings.Join(o.Decisions, ", ")})
	}
}

// objectiveResult is an objective after a call.
type objectiveResult struct {
	Objective objectiveView `json:"objective"`
	Notes     []string      `json:"notes,omitempty"`
}

// Write implements Output.
func (r *objectiveResult) Write(p *Page) {
	p.Line(r.Objective.ID + " is " + r.Objective.Status + ", " + strconv.Itoa(r.Objective.Done) + " of " + strconv.Itoa(r.Objective.Total) + " tasks done. It is in " +
		r.Objective.Path + ".")
	p.notes(r.Notes)
	r.Objective.write(p)
}

// by returns the name that an objective records for the caller.
func (c *Call) by() string {
	switch {
	case c.Agent == "":
		return c.Session
	case c.Session == "":
		return c.Agent
	}
	return c.Agent + " (" + c.Session + ")"
}

// objectiveListIn are objective_list's arguments.
type objectiveListIn struct {
	Statuses []string `json:"statuses,omitempty" rule:"items=4;enum=active|paused|done|abandoned" jsonschema:"default: active and paused"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// objectiveSummary is an objective in a list.
type objectiveSummary struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Status string   `json:"status"`
	Done   int      `json:"done"`
	Total  int      `json:"total"`
	Next   string   `json:"next_task,omitempty" jsonschema:"the first that remains"`
	Tags   []string `json:"tags,omitempty"`
}

// objectiveListResult is a page of objectives, ordered by id.
type objectiveListResult struct {
	Objectives []objectiveSummary `json:"objectives"`
	Total      int                `json:"total"`
	Next       int                `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
	Problems   []string           `json:"problems,omitempty" jsonschema:"files that are broken"`
}

// Write implements Output.
func (l *objectiveListResult) Write(p *Page) {
	for _, s := range l.Problems {
		p.Line("problem: " + s)
	}
	if len(l.Objectives) == 0 {
		p.Line("There are no such objectives.")
		return
	}
	p.Line(strconv.Itoa(len(l.Objectives)) + " of " + strconv.Itoa(l.Total) + " objectives. Read one with objective_read.")
	p.next(l.Next)
	lines := make([]string, len(l.Objectives))
	for i := range l.Objectives {
		o := &l.Objectives[i]
		lines[i] = o.ID + " " + o.Status + ", " + strconv.Itoa(o.Done) + " of " + strconv.Itoa(o.Total) + " tasks: " + o.Title
		if o.Next != "" {
			lines[i] += "; next: " + analysis.Clip(o.Next, maxName)
		}
	}
	addList(p, "objectives", lines)
}

func objectiveList() Tool {
	return Define(Spec{Name: "objective_list", Title: "List objectives", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List this project's long goals with how far each has come and what comes next.",
		Example:     `{"statuses":["active"]}`},
		func(ctx context.Context, c *Call, in objectiveListIn) (*objectiveListResult, error) {
			goals, err := c.objectives()
			if err != nil {
				return nil, err
			}
			want := named[objective.Status](in.Statuses)
			if want == nil {
				want = []objective.Status{objective.Active, objective.Paused}
			}
			all, problems, err := goals.List(ctx, want...)
			if err != nil {
				return nil, err
			}
			page := all[min(in.Offset, len(all)):]
			page = page[:min(in.Limit, len(page))]
			out := &objectiveListResult{Objectives: []objectiveSummary{}, Total: len(all), Next: nextOffset(in.Offset, len(page), len(all))}
			for i := range page {
				o := c.showObjective(&page[i], nil)
				l := objectiveSummary{ID: o.ID, Title: o.Title, Status: o.Status, Done: o.Done, Total: o.Total, Tags: o.Tags}
				if i := slices.IndexFunc(o.Tasks, func(t stepView) bool { return !t.Done }); i >= 0 {
					l.Next = o.Tasks[i].Text
				}
				out.Objectives = append(out.Objectives, l)
			}
			for _, p := range problems[:min(len(problems), 10)] {
				out.Problems = append(out.Problems, fileLine(location(p.Path, p.Line)+": "+p.Text, maxEntry))
			}
			return out, nil
		})
}

// objectiveReadIn are objective_read's arguments.
type objectiveReadIn struct {
	ID string `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
}

func objectiveRead() Tool {
	return Define(Spec{Name: "objective_read", Title: "Read an objective", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Read one objective whole: what is aimed at, which steps remain, and which are done, when and by whom.",
		Example:     `{"id":"OBJ-0001"}`},
		func(ctx context.Context, c *Call, in objectiveReadIn) (*objectiveResult, error) {
			goals, err := c.objectives()
			if err != nil {
				return nil, err
			}
			o, problems, err := goals.Read(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return &objectiveResult{c.showObjective(&o, problems), nil}, nil
		})
}
