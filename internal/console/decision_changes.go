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

// changingDecision is a handler that changes the file of the decision of the path, and
// goes on to its page.
func changingDecision(change func(v *visit, reg *decision.Registry, r *decision.Record) (now decision.Record, did string, err error)) func(*visit) error {
	return func(v *visit) error {
		reg, err := v.decisions()
		if err != nil {
			return err
		}
		r, err := reg.Find(v.r.PathValue("id"))
		if err != nil {
			return err
		}
		if seen := v.said("hash"); seen != "" && seen != r.Hash {
			return changedMeanwhile(r.Path)
		}
		now, did, err := change(v, reg, &r)
		if err != nil {
			return err
		}
		v.con.govern()
		return v.did(decisionPath(&now), did)
	}
}

// changedMeanwhile refuses to change a file that says something else than the page with
// the form did: who decides has not read it.
func changedMeanwhile(file string) error {
	return &ken.Error{Code: ken.CodeExists, Msg: file + " has changed since the page was made", Try: "Read it as it is now, and decide again."}
}

func moveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	to, err := decisionStatus(v.said("to"))
	if err != nil {
		return *r, "", err
	}
	now, err := reg.SetStatus(v.ctx(), r.Path, to)
	return now, "moved", err
}

// supersedeDecision stays at the one that was superseded: what took its place is a link
// away.
func supersedeDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	by := v.said("by")
	if by == "" {
		return *r, "", &ken.Error{Code: ken.CodeInvalid, Field: "by", Msg: "nothing is named that takes its place", Try: "Name a decision that is there, or write a new one."}
	}
	was, _, err := reg.Supersede(v.ctx(), r.Path, by)
	return was, "succeeded", err
}

func archiveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	now, err := reg.Archive(v.ctx(), r.Path)
	return now, "shelved", err
}

// decisionStatus reads a status that a person may give.
func decisionStatus(s string) (decision.Status, error) {
	var names []string
	for _, st := range decision.Statuses() {
		if st == decision.Superseded {
			continue
		}
		if s == string(st) {
			return st, nil
		}
		names = append(names, string(st))
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is no status that can be given", s), Try: "Use one of " + strings.Join(names, ", ") + "."}
}

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

// decisionForm is the form of a new decision, as it was filled in.
type decisionForm struct {
	Problem  *problemPage // why it was not written; nil while nothing was tried
	Old      *decisionRow // that it supersedes; nil for none
	OldHash  string
	Statuses []decision.Status

	Title, Status, Date, Folder                         string
	Context, Decision, Consequences, Confirmation, More string
	Chosen                                              string
	Alternatives, Drivers, Governs                      string // a line each
	Tags, Deciders, Consulted, Informed                 string // between commas
}

func newDecisionPage(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	b := decisionForm{Status: string(decision.Proposed), Date: v.now().Format(time.DateOnly)}
	if old := v.text("supersedes"); old != "" {
		r, err := reg.Find(old)
		if err != nil {
			return err
		}
		b.supersedes(&r)
		b.Status, b.Governs, b.Tags = string(decision.Accepted), strings.Join(textsOf(r.Governs), "\n"), strings.Join(textsOf(r.Tags), ", ")
	}
	return v.decisionForm(&b)
}

func (b *decisionForm) supersedes(r *decision.Record) {
	row := decisionRowOf(*r)
	b.Old, b.OldHash = &row, r.Hash
}

func (v *visit) decisionForm(b *decisionForm) error {
	for _, s := range decision.Statuses() {
		if s != decision.Superseded {
			b.Statuses = append(b.Statuses, s)
		}
	}
	p := page{Title: "Write a decision", Section: secStructure, Tab: "Decisions", Body: b}
	if b.Problem != nil {
		p.Status = b.Problem.Status
	}
	return v.page("decision_new", p)
}

// writeDecision writes a new decision, in place of another one if the form names it.
// What can't be written comes back in the form, so that nobody writes it twice.
func writeDecision(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	b := decisionForm{Title: v.said("title"), Status: v.said("status"), Date: v.said("date"), Folder: v.said("folder"), Context: v.lines("context"),
		Decision: v.lines("decision"), Consequences: v.lines("consequences"), Confirmation: v.lines("confirmation"), More: v.lines("more"), Chosen: v.said("chosen"),
		Alternatives: v.lines("alternatives"), Drivers: v.lines("drivers"), Governs: v.lines("governs"), Tags: v.said("tags"), Deciders: v.said("deciders"),
		Consulted: v.said("consulted"), Informed: v.said("informed")}
	old := v.said("supersedes")
	if old != "" { // which the form must name again, whatever is wrong with it
		r, err := reg.Find(old)
		if err != nil {
			return err
		}
		b.supersedes(&r)
	}
	now, err := b.write(v, reg, old)
	if err != nil {
		p := problemOf(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		b.Problem = &p
		return v.decisionForm(&b)
	}
	v.con.govern()
	if old != "" {
		return v.did(decisionPath(&now), "succeeded")
	}
	return v.did(decisionPath(&now), "put")
}

// write writes the decision that the form describes.
func (b *decisionForm) write(v *visit, reg *decision.Registry, old string) (decision.Record, error) {
	d, err := b.draft()
	switch {
	case err != nil:
		return decision.Record{}, err
	case old == "":
		return reg.Create(v.ctx(), d)
	case v.said("hash") != "" && v.said("hash") != b.OldHash:
		return decision.Record{}, changedMeanwhile(b.Old.File)
	}
	_, now, err := reg.SupersedeBy(v.ctx(), old, d)
	return now, err
}

// draft is the decision that the form describes.
func (b *decisionForm) draft() (d decision.Draft, err error) {
	d = decision.Draft{Title: b.Title, Folder: b.Folder, Context: b.Context, Decision: b.Decision, Consequences: b.Consequences, Confirmation: b.Confirmation,
		More: b.More, Drivers: listed(b.Drivers), Governs: listed(b.Governs), Tags: commas(b.Tags), Deciders: commas(b.Deciders), Consulted: commas(b.Consulted),
		Informed: commas(b.Informed)}
	for _, s := range listed(b.Alternatives) {
		d.Options = append(d.Options, alternative(s, false))
	}
	if b.Chosen != "" {
		d.Options = append(d.Options, alternative(b.Chosen, true))
	}
	if d.Status, err = decisionStatus(b.Status); err != nil {
		return d, err
	}
	if b.Date != "" {
		if d.Date, err = time.Parse(time.DateOnly, b.Date); err != nil {
			return d, &ken.Error{Code: ken.CodeInvalid, Field: "date", Msg: "this is no day", Try: "Write it as 2026-11-22."}
		}
	}
	return d, nil
}

// alternative reads "title: why".
func alternative(s string, chosen bool) decision.Alternative {
	title, why, _ := strings.Cut(s, ": ")
	return decision.Alternative{Title: strings.TrimSpace(title), Text: strings.TrimSpace(why), Chosen: chosen}
}

// lines is a text of the form with the ends of lines that files have: a browser sends
// those of mail.
func (v *visit) lines(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n"))
}

// listed are the lines of a text that say something.
func listed(s string) (out []string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
