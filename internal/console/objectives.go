package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/objective"
)

type objectivesBody struct {
	Ours     bool
	Now      time.Time
	Rows     []objectiveRow
	Statuses []facetValue // with counts
	All      int
	Problems []fileProblem
}

type objectiveRow struct {
	ID, Title, Says string
	Status          objective.Status
	Tone            string
	Progress        objective.Progress
	Next            string // the first open task
	Owner           string
	Tags            []string
	Changed         time.Time
}

// objectivesPage lists objectives: active and paused ones, unless the address names a status.
func objectivesPage(v *visit) error {
	b := objectivesBody{Ours: v.ownsFiles(), Now: v.now()}
	if b.Ours {
		store, err := v.objectives()
		if err != nil {
			return err
		}
		all, problems, err := store.List(v.ctx())
		if err != nil {
			return err
		}
		v.listObjectives(all, &b)
		b.Problems = mapped(problems, func(p *objective.Problem) fileProblem { return fileProblemOf((*decision.Problem)(p)) })
	}
	return v.page("objectives", page{Title: "Objectives", Section: secStructure, Tab: "Objectives", Live: []string{liveProject}, Body: b})
}

// openObjectives is the status in the address that means all unfinished objectives.
const openObjectives = "open"

func (v *visit) listObjectives(all []objective.Objective, b *objectivesBody) {
	here := cmp.Or(v.param("status"), openObjectives)
	counts := map[string]int{}
	b.All = len(all)
	for i := range all {
		o := &all[i]
		kinds := []string{string(o.Status), "all"}
		if o.Status == objective.Active || o.Status == objective.Paused {
			kinds = append(kinds, openObjectives)
		}
		for _, k := range kinds {
			counts[k]++
		}
		if slices.Contains(kinds, here) {
			b.Rows = append(b.Rows, objectiveRowOf(o))
		}
	}
	for _, n := range slices.Concat([]string{openObjectives}, objectiveStatuses(), []string{"all"}) {
		if counts[n] > 0 || n == here {
			b.Statuses = append(b.Statuses, facetValue{Label: n, Count: counts[n], Here: n == here, Path: withParam(v.r.URL, "status", n)})
		}
	}
}

func objectiveStatuses() []string {
	return mapped(objective.Statuses(), func(s *objective.Status) string { return string(*s) })
}

var objectiveTones = map[objective.Status]string{objective.Active: "info", objective.Done: "success", objective.Paused: "warning"}

func objectiveRowOf(o *objective.Objective) objectiveRow {
	r := objectiveRow{ID: o.ID, Title: o.Title, Says: o.Description, Status: o.Status, Tone: objectiveTones[o.Status], Progress: o.Progress(), Owner: o.Owner, Tags: o.Tags,
		Changed: slices.MaxFunc([]time.Time{o.Created, o.Updated}, time.Time.Compare)}
	if i := slices.IndexFunc(o.Tasks, func(t objective.Task) bool { return !t.Done }); i >= 0 {
		r.Next = o.Tasks[i].Text
	}
	return r
}

type objectiveBody struct {
	Now       time.Time
	Row       objectiveRow
	Objective objective.Objective
	FilePath  string
	Tasks     []objectiveTask
	Decisions []choice
	Problems  []fileProblem
	Moves     []objective.Status
	Offered   []decisionRow // decisions that can be linked
	Tags      string
}

type objectiveTask struct {
	objective.Task
	Number    int    // from 1
	ClaimPath string // "" for none
}

func objectivePage(v *visit) error {
	store, err := v.objectives()
	if err != nil {
		return err
	}
	o, problems, err := store.Read(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	b := objectiveBody{Now: v.now(), Row: objectiveRowOf(&o), Objective: o, FilePath: filePath(o.Path), Tags: strings.Join(o.Tags, ", ")}
	for i, t := range o.Tasks {
		row := objectiveTask{Task: t, Number: i + 1}
		if t.Claim != "" {
			row.ClaimPath = pathOf("claims", t.Claim)
		}
		b.Tasks = append(b.Tasks, row)
	}
	b.Problems = mapped(problems, func(p *objective.Problem) fileProblem { return fileProblemOf((*decision.Problem)(p)) })
	v.addDecisions(&b)
	b.Moves = slices.DeleteFunc(objective.Statuses(), func(s objective.Status) bool { return s == o.Status })
	return v.page("objective", page{Title: o.ID + ": " + o.Title, Section: secStructure, Tab: "Objectives", Live: []string{liveProject}, Body: b})
}

// addDecisions finds the decisions that the objective names, and those that it can link to. If
// decisions are turned off, it only shows their names.
func (v *visit) addDecisions(b *objectiveBody) {
	reg, err := v.decisions()
	for _, id := range b.Objective.Decisions {
		c := choice{Name: id}
		if err == nil {
			if r, err := reg.Find(id); err == nil {
				c.Name, c.Value, c.Path = r.Handle, r.Title.Text, decisionPath(&r)
			}
		}
		b.Decisions = append(b.Decisions, c)
	}
	if err != nil || !v.canOperate() {
		return
	}
	for _, r := range reg.List() {
		if !r.Archived && len(b.Offered) < maxOffered {
			b.Offered = append(b.Offered, decisionRowOf(&r))
		}
	}
}

// objectiveAction returns a handler that changes the file of the path's objective and
// redirects to its page.
func objectiveAction(change func(v *visit, s *objective.Store, id string) (did string, err error)) func(*visit) error {
	return func(v *visit) error {
		s, err := v.objectives()
		if err != nil {
			return err
		}
		id := v.r.PathValue("id")
		did, err := change(v, s, id)
		if err != nil {
			return err
		}
		return v.redirectDone(v.returnPath(pathOf("objectives", id)), did)
	}
}

func moveObjective(v *visit, s *objective.Store, id string) (string, error) {
	to := objective.Status(v.formValue("to"))
	if !to.Valid() {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is not a status of an objective", to), Try: "Use one of " + strings.Join(objectiveStatuses(), ", ") + "."}
	}
	_, err := s.Update(v.ctx(), id, objective.Update{Status: &to})
	return "moved", err
}

// editObjective changes the fields of an objective. The form has all of them.
func editObjective(v *visit, s *objective.Store, id string) (string, error) {
	title, description, owner := v.formValue("title"), v.formText("description"), v.formValue("owner")
	_, err := s.Update(v.ctx(), id, objective.Update{Title: &title, Description: &description, Owner: &owner, Tags: append([]string{}, commas(v.formValue("tags"))...)})
	return "changed", err
}

func addTask(v *visit, s *objective.Store, id string) (string, error) {
	_, err := s.Link(v.ctx(), id, objective.Link{Task: v.formValue("task")})
	return "added", err
}

// completeTask marks a task as done by the visitor. The form names the task by its text,
// because its position may have changed.
func completeTask(v *visit, s *objective.Store, id string) (string, error) {
	_, err := s.Link(v.ctx(), id, objective.Link{Task: v.r.PostForm.Get("task"), Done: true, By: v.principal.Name})
	return "done", err
}

func linkObjective(v *visit, s *objective.Store, id string) (string, error) {
	u := objective.Update{AddDecisions: commas(v.formValue("decision")), AddSessions: commas(v.formValue("session"))}
	if len(u.AddDecisions)+len(u.AddSessions) == 0 {
		return "", &ken.Error{Code: ken.CodeInvalid, Msg: "nothing is named to link it with", Try: "Name a decision or a session."}
	}
	_, err := s.Update(v.ctx(), id, u)
	return "added", err
}

type objectiveForm struct {
	Problem *errorPage // why it was not written; nil before the first try
	Offered []decisionRow

	Title, Description, Owner, Tags, Tasks, Decision string
}

func newObjectivePage(v *visit) error {
	if _, err := v.objectives(); err != nil {
		return err
	}
	return v.objectiveForm(&objectiveForm{})
}

func (v *visit) objectiveForm(b *objectiveForm) error {
	var offer objectiveBody
	v.addDecisions(&offer)
	b.Offered = offer.Offered
	p := page{Title: "Set an objective", Section: secStructure, Tab: "Objectives", Body: b}
	if b.Problem != nil {
		p.Status = b.Problem.Status
	}
	return v.page("objective_new", p)
}

// writeObjective writes a new objective. On an error the form is shown again with its values.
func writeObjective(v *visit) error {
	s, err := v.objectives()
	if err != nil {
		return err
	}
	b := objectiveForm{Title: v.formValue("title"), Description: v.formText("description"), Owner: v.formValue("owner"), Tags: v.formValue("tags"), Tasks: v.formText("tasks"), Decision: v.formValue("decision")}
	o, err := s.Create(v.ctx(), objective.Draft{Title: b.Title, Description: b.Description, Owner: b.Owner, Tags: commas(b.Tags), Tasks: nonEmptyLines(b.Tasks), Decisions: commas(b.Decision)})
	if err != nil {
		p := errorPageOf(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		b.Problem = &p
		return v.objectiveForm(&b)
	}
	return v.redirectDone(pathOf("objectives", o.ID), "put")
}
