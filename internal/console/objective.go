package console

import (
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/objective"
)

// objectiveBody is an objective's page.
type objectiveBody struct {
	Now       time.Time
	Row       objectiveRow
	Objective objective.Objective
	FilePath  string
	Tasks     []goalTask
	Decisions []choice
	Problems  []fileProblem
	Moves     []objective.Status
	Offered   []decisionRow // that it may hang on
	Tags      string
}

// goalTask is a step of an objective.
type goalTask struct {
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
		row := goalTask{Task: t, Number: i + 1}
		if t.Claim != "" {
			row.ClaimPath = pathOf("claims", t.Claim)
		}
		b.Tasks = append(b.Tasks, row)
	}
	for _, p := range problems {
		b.Problems = append(b.Problems, problemIn(p.Path, p.Line, p.Text, p.Try))
	}
	v.hangsOn(&b)
	for _, s := range objective.Statuses() {
		if s != o.Status {
			b.Moves = append(b.Moves, s)
		}
	}
	return v.page("objective", page{Title: o.ID + ": " + o.Title, Section: secStructure, Tab: "Objectives", Live: []string{liveProject}, Body: b})
}

// hangsOn finds the decisions that the objective names, and those that it may name. Where
// decisions are switched off, their names are all there is.
func (v *visit) hangsOn(b *objectiveBody) {
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
	if err != nil || !v.operates() {
		return
	}
	for _, r := range reg.List() {
		if !r.Archived && len(b.Offered) < mostOffered {
			b.Offered = append(b.Offered, decisionRowOf(r))
		}
	}
}
