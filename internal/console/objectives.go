package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/kenlayer/ken/internal/code/objective"
)

// objectivesBody is the list of objectives.
type objectivesBody struct {
	Ours     bool
	Now      time.Time
	Rows     []objectiveRow
	Statuses []facetValue // with how many there are
	All      int
	Problems []fileProblem
}

// objectiveRow is an objective as a line of a list.
type objectiveRow struct {
	ID, Title, Says string
	Status          objective.Status
	Tone            string
	Progress        objective.Progress
	Next            string // the first task that remains
	Owner           string
	Tags            []string
	Changed         time.Time
}

// objectivesPage lists objectives: those that are worked on or paused, unless the address
// names a status.
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
		for _, p := range problems {
			b.Problems = append(b.Problems, problemIn(p.Path, p.Line, p.Text, p.Try))
		}
	}
	return v.page("objectives", page{Title: "Objectives", Section: secStructure, Tab: "Objectives", Live: []string{liveProject}, Body: b})
}

// openObjectives stands in the address for what is not over.
const openObjectives = "open"

func (v *visit) listObjectives(all []objective.Objective, b *objectivesBody) {
	here := cmp.Or(v.text("status"), openObjectives)
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
	names := []string{openObjectives}
	for _, s := range objective.Statuses() {
		names = append(names, string(s))
	}
	for _, n := range append(names, "all") {
		if counts[n] > 0 || n == here {
			b.Statuses = append(b.Statuses, facetValue{Label: n, Count: counts[n], Here: n == here, Path: with(v.r.URL, "status", n)})
		}
	}
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
