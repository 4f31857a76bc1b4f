package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/objective"
)

// changingObjective is a handler that changes the file of the objective of the path, and
// goes back to its page.
func changingObjective(change func(v *visit, s *objective.Store, id string) (did string, err error)) func(*visit) error {
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
		return v.did(v.back(pathOf("objectives", id)), did)
	}
}

func moveObjective(v *visit, s *objective.Store, id string) (string, error) {
	to := objective.Status(v.said("to"))
	if !to.Valid() {
		var names []string
		for _, st := range objective.Statuses() {
			names = append(names, string(st))
		}
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is no status of an objective", to), Try: "Use one of " + strings.Join(names, ", ") + "."}
	}
	_, err := s.Update(v.ctx(), id, objective.Update{Status: &to})
	return "moved", err
}

// editObjective changes what the objective says of itself: the form has all of it.
func editObjective(v *visit, s *objective.Store, id string) (string, error) {
	title, description, owner := v.said("title"), v.lines("description"), v.said("owner")
	_, err := s.Update(v.ctx(), id, objective.Update{Title: &title, Description: &description, Owner: &owner, Tags: append([]string{}, commas(v.said("tags"))...)})
	return "changed", err
}

func addTask(v *visit, s *objective.Store, id string) (string, error) {
	_, err := s.Link(v.ctx(), id, objective.Link{Task: v.said("task")})
	return "added", err
}

// tickTask marks a task as done by the visitor. The form names it by its text: others may
// have moved it meanwhile.
func tickTask(v *visit, s *objective.Store, id string) (string, error) {
	_, err := s.Link(v.ctx(), id, objective.Link{Task: v.r.PostForm.Get("task"), Done: true, By: v.who.Name})
	return "done", err
}

func linkObjective(v *visit, s *objective.Store, id string) (string, error) {
	u := objective.Update{AddDecisions: commas(v.said("decision")), AddSessions: commas(v.said("session"))}
	if len(u.AddDecisions)+len(u.AddSessions) == 0 {
		return "", &ken.Error{Code: ken.CodeInvalid, Msg: "nothing is named to link it with", Try: "Name a decision or a session."}
	}
	_, err := s.Update(v.ctx(), id, u)
	return "added", err
}

// objectiveForm is the form of a new objective, as it was filled in.
type objectiveForm struct {
	Problem *problemPage // why it was not written; nil while nothing was tried
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
	v.hangsOn(&offer)
	b.Offered = offer.Offered
	p := page{Title: "Set an objective", Section: secStructure, Tab: "Objectives", Body: b}
	if b.Problem != nil {
		p.Status = b.Problem.Status
	}
	return v.page("objective_new", p)
}

// writeObjective writes a new objective. What can't be written comes back in the form.
func writeObjective(v *visit) error {
	s, err := v.objectives()
	if err != nil {
		return err
	}
	b := objectiveForm{Title: v.said("title"), Description: v.lines("description"), Owner: v.said("owner"), Tags: v.said("tags"), Tasks: v.lines("tasks"), Decision: v.said("decision")}
	o, err := s.Create(v.ctx(), objective.Draft{Title: b.Title, Description: b.Description, Owner: b.Owner, Tags: commas(b.Tags), Tasks: listed(b.Tasks), Decisions: commas(b.Decision)})
	if err != nil {
		p := problemOf(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		b.Problem = &p
		return v.objectiveForm(&b)
	}
	return v.did(pathOf("objectives", o.ID), "put")
}
