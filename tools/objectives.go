package tools

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// objectiveView is a long goal as an answer shows it.
type objectiveView struct {
	ID          string          `json:"id" jsonschema:"such as OBJ-0001"`
	Title       string          `json:"title"`
	Description string          `json:"description,omitempty"`
	Status      string          `json:"status" rule:"enum=active|paused|done|abandoned"`
	Done        int             `json:"done" jsonschema:"how many tasks are done"`
	Total       int             `json:"total" jsonschema:"how many tasks there are"`
	Tasks       []objectiveTask `json:"tasks"`
	Decisions   []string        `json:"decisions,omitempty" jsonschema:"that it hangs on"`
	Tags        []string        `json:"tags,omitempty"`
	Path        string          `json:"path" jsonschema:"of its file"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Problems    []string        `json:"problems,omitempty" jsonschema:"what is wrong with its file"`
}

// objectiveTask is a step of an objective.
type objectiveTask struct {
	Number int       `json:"number" jsonschema:"from 1"`
	Text   string    `json:"text"`
	Done   bool      `json:"done"`
	DoneAt time.Time `json:"done_at,omitzero"`
	By     string    `json:"by,omitempty" jsonschema:"who did it"`
}

// maxTaskText bounds what is shown of a task, in code points.
const maxTaskText = 500

// noRule refuses a title or a step of an objective that reads as a rule: every turn of
// every session is told both, and a rule of an agent waits for a person.
func (d *draft) noRule(field, s string) {
	if d.err == nil && reading.Read(&ken.Claim{Text: s, Evidence: []ken.Evidence{ken.FromAgentAssertion("", "")}}, nil).Constraint {
		d.err = refused(field, "it reads as a rule, and an objective is told to every turn without a person's approval",
			"Word it as what is to be reached, or propose the rule with constraint_add.")
	}
}

// goal cleans the title or a step of an objective, and refuses a rule.
func (d *draft) goal(field, s string) string {
	s = d.line(field, s)
	d.noRule(field, s)
	return s
}

func (d *draft) goals(field string, list []string) []string {
	var out []string
	for _, s := range list {
		if s = d.goal(field, s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// showObjective makes an objective fit to be shown, and notes that it was.
func (c *Call) showObjective(o *objective.Objective, problems []objective.Problem) objectiveView {
	progress := o.Progress()
	out := objectiveView{ID: lineOf(o.ID, maxName), Title: lineOf(o.Title, maxHeading+40), Status: string(o.Status), Done: progress.Done, Total: progress.Total,
		Tasks: []objectiveTask{}, Decisions: linesOf(o.Decisions[:min(len(o.Decisions), maxListed)], maxName), Tags: linesOf(o.Tags[:min(len(o.Tags), maxListed)], maxName),
		Path: lineOf(o.Path, maxID), CreatedAt: seconds(o.Created), UpdatedAt: seconds(o.Updated)}
	if !o.Status.Valid() { // which its file's problems tell
		out.Status = string(objective.Paused)
	}
	out.Description, _ = fromFile(o.Description, maxSection)
	for i, t := range o.Tasks {
		out.Tasks = append(out.Tasks, objectiveTask{i + 1, lineOf(t.Text, maxTaskText), t.Done, seconds(t.DoneAt), lineOf(t.By, maxName)})
	}
	for _, p := range problems {
		if p.Path == o.Path && len(out.Problems) < 10 {
			out.Problems = append(out.Problems, lineOf(placed(p.Path, p.Line)+": "+p.Text, maxEntry))
		}
	}
	c.showFile("objective:"+out.ID, ken.KindObjective, out.Title)
	if out.Description != "" {
		c.showFile("objective:"+out.ID, ken.KindObjective, out.Description)
	}
	return out
}

// line is an objective in one line.
func (o *objectiveView) line() string {
	return o.ID + " " + o.Status + ", " + strconv.Itoa(o.Done) + " of " + strconv.Itoa(o.Total) + " tasks: " + o.Title
}

func (t *objectiveTask) line() string {
	s := strconv.Itoa(t.Number) + ". " + t.Text
	if !t.DoneAt.IsZero() {
		s += ", done " + t.DoneAt.Format(time.DateOnly)
	}
	if t.By != "" {
		s += " by " + t.By
	}
	return s
}

// write writes an objective whole: what remains before what is done.
func (o *objectiveView) write(p *Page) {
	p.Part("objective", []string{o.line()})
	for _, s := range o.Problems {
		p.Line("problem: " + s)
	}
	if o.Description != "" {
		p.Part("description", []string{bounded(o.Description, maxItem)})
	}
	var left, done []string
	for i := range o.Tasks {
		if t := &o.Tasks[i]; t.Done {
			done = append(done, t.line())
		} else {
			left = append(left, t.line())
		}
	}
	listed(p, "remaining", left)
	listed(p, "done", done)
	if len(o.Decisions) > 0 {
		p.Part("decisions", []string{strings.Join(o.Decisions, ", ")})
	}
}

// objectiveOutput is an objective as it is now.
type objectiveOutput struct {
	Objective objectiveView `json:"objective"`
	Notes     []string      `json:"notes,omitempty"`
}

// Write implements Output.
func (r *objectiveOutput) Write(p *Page) {
	p.Line(r.Objective.ID + " is " + r.Objective.Status + ", " + strconv.Itoa(r.Objective.Done) + " of " + strconv.Itoa(r.Objective.Total) + " tasks done. It is in " +
		r.Objective.Path + ".")
	for _, n := range r.Notes {
		p.Line("note: " + n)
	}
	r.Objective.write(p)
}

// by is who stands in an objective for what the caller did.
func (c *Call) by() string {
	switch {
	case c.Agent == "":
		return c.Session
	case c.Session == "":
		return c.Agent
	}
	return c.Agent + " (" + c.Session + ")"
}

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
		func(ctx context.Context, c *Call, in objectiveCreateIn) (*objectiveOutput, error) {
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
					return &objectiveOutput{c.showObjective(&had[i], problems), append(d.notes(), "it is there already")}, nil
				}
			}
			o, err := goals.Create(ctx, want)
			if err != nil {
				return nil, err
			}
			return &objectiveOutput{c.showObjective(&o, nil), d.notes()}, nil
		})
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
		func(ctx context.Context, c *Call, in objectiveLinkTaskIn) (*objectiveOutput, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			d := &draft{}
			link := objective.Link{Done: in.Action == "complete", By: c.by()}
			if link.Done {
				link.Task = d.line("task", in.Task)
			} else {
				link.Task = d.goal("task", in.Task)
			}
			if d.err != nil {
				return nil, d.err
			}
			if !link.Done { // what is done is there already
				if err := c.ours(ctx, d); err != nil {
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
			return &objectiveOutput{c.showObjective(&o, nil), d.notes()}, nil
		})
}

// objectiveListIn are objective_list's arguments.
type objectiveListIn struct {
	Statuses []string `json:"statuses,omitempty" rule:"items=4;enum=active|paused|done|abandoned" jsonschema:"default: active and paused"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=20"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// objectiveListed is an objective in a list.
type objectiveListed struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Status string   `json:"status"`
	Done   int      `json:"done"`
	Total  int      `json:"total"`
	Next   string   `json:"next_task,omitempty" jsonschema:"the first that remains"`
	Tags   []string `json:"tags,omitempty"`
}

// objectiveListOutput is a page of objectives, by their ids.
type objectiveListOutput struct {
	Objectives []objectiveListed `json:"objectives"`
	Total      int               `json:"total"`
	Next       int               `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
	Problems   []string          `json:"problems,omitempty" jsonschema:"files that are broken"`
}

// Write implements Output.
func (l *objectiveListOutput) Write(p *Page) {
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
		func(ctx context.Context, c *Call, in objectiveListIn) (*objectiveListOutput, error) {
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
			out := &objectiveListOutput{Objectives: []objectiveListed{}, Total: len(all), Next: nextOf(in.Offset, len(page), len(all))}
			for i := range page {
				o := c.showObjective(&page[i], nil)
				l := objectiveListed{ID: o.ID, Title: o.Title, Status: o.Status, Done: o.Done, Total: o.Total, Tags: o.Tags}
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

// objectiveReadIn are objective_read's arguments.
type objectiveReadIn struct {
	ID string `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
}

func objectiveRead() Tool {
	return Define(Spec{Name: "objective_read", Title: "Read an objective", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Read one objective whole: what is aimed at, which steps remain, and which are done, when and by whom.",
		Example:     `{"id":"OBJ-0001"}`},
		func(ctx context.Context, c *Call, in objectiveReadIn) (*objectiveOutput, error) {
			goals, err := c.goals()
			if err != nil {
				return nil, err
			}
			o, problems, err := goals.Read(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return &objectiveOutput{c.showObjective(&o, problems), nil}, nil
		})
}

// objectiveUpdateIn are objective_update's arguments.
type objectiveUpdateIn struct {
	ID          string               `json:"id" rule:"filled;chars=40" jsonschema:"of the objective, such as OBJ-0001"`
	Status      string               `json:"status,omitempty" rule:"enum=active|paused|done|abandoned"`
	Title       string               `json:"title,omitempty" rule:"chars=200" jsonschema:"the new goal"`
	Description string               `json:"description,omitempty" rule:"chars=10000" jsonschema:"replaces the old one"`
	Tasks       []objectiveTaskInput `json:"tasks,omitempty" rule:"items=200" jsonschema:"replace all steps; for one step use objective_link_task"`
	Decisions   []string             `json:"decisions,omitempty" rule:"items=20;chars=120;filled" jsonschema:"added to the others, such as ADR-0042"`
	Tags        []string             `json:"tags,omitempty" rule:"items=20;chars=60;filled" jsonschema:"replace the old ones"`
}

// objectiveTaskInput is a step as an agent writes it.
type objectiveTaskInput struct {
	Text string `json:"text" rule:"filled;chars=500"`
	Done bool   `json:"done,omitempty"`
}

func objectiveUpdate() Tool {
	return Define(Spec{Name: "objective_update", Title: "Change an objective", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Change an objective: status, title, description, steps, tags and decisions. What is left out stays. Set done only when the goal is reached, " +
			"not when all steps are.",
		Example: `{"id":"OBJ-0001","status":"paused"}`},
		func(ctx context.Context, c *Call, in objectiveUpdateIn) (*objectiveOutput, error) {
			goals, err := c.goals()
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
			if err := c.ours(ctx, d); err != nil {
				return nil, err
			}
			if o, err = goals.Update(ctx, o.ID, change); err != nil {
				return nil, err
			}
			return &objectiveOutput{c.showObjective(&o, nil), d.notes()}, nil
		})
}

func (in *objectiveUpdateIn) change(d *draft, was *objective.Objective, c *Call) objective.Update {
	var u objective.Update
	if in.Status != "" {
		s := objective.Status(in.Status)
		u.Status = &s
	}
	if in.Title != "" {
		s := d.goal("title", in.Title)
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

// tasks are the steps that are wanted, each with what is known of it already.
func (in *objectiveUpdateIn) tasks(d *draft, was *objective.Objective, c *Call) []objective.Task {
	out := []objective.Task{}
	for i := range in.Tasks {
		t := objective.Task{Text: d.line("tasks", in.Tasks[i].Text), Done: in.Tasks[i].Done}
		if t.Text == "" {
			continue
		}
		known := false
		for _, had := range was.Tasks {
			if known = strings.EqualFold(squeeze(had.Text), t.Text); known {
				t.Claim = had.Claim
				if had.Done && t.Done {
					t.DoneAt, t.By = had.DoneAt, had.By
				}
				break
			}
		}
		if !known {
			d.noRule("tasks", t.Text)
		}
		if t.Done && t.DoneAt.IsZero() {
			t.DoneAt, t.By = c.Now(), c.by()
		}
		out = append(out, t)
	}
	return out
}
