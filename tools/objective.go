package tools

import (
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Objective is a long goal as an answer shows it.
type Objective struct {
	ID          string          `json:"id" jsonschema:"such as OBJ-0001"`
	Title       string          `json:"title"`
	Description string          `json:"description,omitempty"`
	Status      string          `json:"status" rule:"enum=active|paused|done|abandoned"`
	Done        int             `json:"done" jsonschema:"how many tasks are done"`
	Total       int             `json:"total" jsonschema:"how many tasks there are"`
	Tasks       []ObjectiveTask `json:"tasks"`
	Decisions   []string        `json:"decisions,omitempty" jsonschema:"that it hangs on"`
	Tags        []string        `json:"tags,omitempty"`
	Path        string          `json:"path" jsonschema:"of its file"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Problems    []string        `json:"problems,omitempty" jsonschema:"what is wrong with its file"`
}

// ObjectiveTask is a step of an objective.
type ObjectiveTask struct {
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
func (c *Call) showObjective(o *objective.Objective, problems []objective.Problem) Objective {
	progress := o.Progress()
	out := Objective{ID: lineOf(o.ID, maxName), Title: lineOf(o.Title, maxHeading+40), Status: string(o.Status), Done: progress.Done, Total: progress.Total,
		Tasks: []ObjectiveTask{}, Decisions: linesOf(o.Decisions[:min(len(o.Decisions), maxListed)], maxName), Tags: linesOf(o.Tags[:min(len(o.Tags), maxListed)], maxName),
		Path: lineOf(o.Path, maxID), CreatedAt: seconds(o.Created), UpdatedAt: seconds(o.Updated)}
	if !o.Status.Valid() { // which its file's problems tell
		out.Status = string(objective.Paused)
	}
	out.Description, _ = fromFile(o.Description, maxSection)
	for i, t := range o.Tasks {
		out.Tasks = append(out.Tasks, ObjectiveTask{i + 1, lineOf(t.Text, maxTaskText), t.Done, seconds(t.DoneAt), lineOf(t.By, maxName)})
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
func (o *Objective) line() string {
	return o.ID + " " + o.Status + ", " + strconv.Itoa(o.Done) + " of " + strconv.Itoa(o.Total) + " tasks: " + o.Title
}

func (t *ObjectiveTask) line() string {
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
func (o *Objective) write(p *Page) {
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

// ObjectiveResult is an objective as it is now.
type ObjectiveResult struct {
	Objective Objective `json:"objective"`
	Notes     []string  `json:"notes,omitempty"`
}

// Write implements Output.
func (r *ObjectiveResult) Write(p *Page) {
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
