package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/store"
)

type decisionBody struct {
	Row        decisionRow
	Record     *decision.Record
	FilePath   string
	StatusSays string     // as written in the file, if that differs
	Parts      []passage  // text before the options
	After      []passage  // text after the options
	Governs    []governed // what it lists
	Names      []governed // what its text names
	Supersedes []choice
	Successors []choice
	Chain      template.HTML // "" without supersessions
	Problems   []fileProblem
	Claims     []row // claims whose evidence is its file
	AllClaims  string
	Moves      []decision.Status // likely next statuses
	OtherMoves []decision.Status // the other statuses
	Others     []decisionRow     // decisions that may supersede it
	Archivable bool
}

type passage struct{ Title, Text string }

// governed is something that a decision governs. Path is its page, if the name is
// unambiguous.
type governed struct{ Name, Path string }

// Limits: targets that are looked up, claims shown, and decisions that a form offers.
const (
	maxTargets = 60
	maxResting = 5
	maxOffered = 500
)

func decisionPage(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	r, err := reg.Find(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	b := decisionBody{Row: decisionRowOf(&r), Record: &r, FilePath: filePath(r.Path)}
	if written := r.StatusText.Text; !strings.HasPrefix(strings.ToLower(written), b.Row.Status) {
		b.StatusSays = written
	}
	b.fillText(&r)
	for _, t := range decision.Targets(r) {
		switch {
		case t.Exact && len(b.Governs) < maxTargets:
			b.Governs = append(b.Governs, governed{t.Name, v.namedPath(t.Name)})
		case !t.Exact && len(b.Names) < maxTargets:
			b.Names = append(b.Names, governed{t.Name, v.namedPath(t.Name)})
		}
	}
	line, err := reg.History(r.Path)
	if err != nil {
		return err
	}
	b.Chain = chainOf(&r, line)
	b.Supersedes, b.Successors = references(r.Supersedes, line), references(r.SupersededBy, line)
	b.Problems = mapped(slices.DeleteFunc(reg.Problems(), func(p decision.Problem) bool { return p.Path != r.Path }), fileProblemOf)
	if v.canOperate() {
		b.fillActions(reg, &r)
	}
	if err := v.addClaimsOnFile(r.Path, &b); err != nil {
		return err
	}
	return v.page("decision", page{Title: b.Row.Handle + ": " + b.Row.Title, Section: secStructure, Tab: "Decisions", Live: []string{liveProject}, Body: b})
}

// fillText sets the texts of the record, without the options, in their order.
func (b *decisionBody) fillText(r *decision.Record) {
	add := func(to *[]passage, title, text string) {
		if strings.TrimSpace(text) != "" {
			*to = append(*to, passage{title, text})
		}
	}
	add(&b.Parts, "", r.Preamble.Text)
	add(&b.Parts, "Context", r.Context.Text)
	add(&b.Parts, "Drivers", bullets(r.Drivers))
	add(&b.After, "Decision", r.Decision.Text)
	add(&b.After, "Consequences", r.Consequences.Text)
	add(&b.After, "Confirmation", r.Confirmation.Text)
	add(&b.After, "More", r.More.Text)
	for i, s := range r.Sections {
		if s.Kind == "" && !shownAbove(r, i) {
			add(&b.After, s.Title, s.Text.Text)
		}
	}
}

// shownAbove reports whether the page already shows the section elsewhere.
func shownAbove(r *decision.Record, section int) bool {
	s := &r.Sections[section]
	for i := range r.Sections[:section] {
		switch over := &r.Sections[i]; {
		case over.Kind == "" || over.Kind == decision.KindTitle || over.Level >= s.Level || over.End < s.End:
		case over.Kind == decision.KindOptions || over.Kind == decision.KindProsAndCons:
			return slices.ContainsFunc(r.Options, func(o decision.Option) bool {
				return strings.EqualFold(o.Title.Text, s.Title) && (o.Text != "" || len(o.Pros)+len(o.Cons)+len(o.Neutral) > 0)
			})
		default:
			return true
		}
	}
	return false
}

func bullets(values []decision.Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString("• " + v.Text + "\n")
	}
	return b.String()
}

// chainOf draws the supersessions around a record.
func chainOf(r *decision.Record, line []decision.Record) template.HTML {
	if len(line) < 2 {
		return ""
	}
	d := chart.ChainData{Title: "What superseded what"}
	type step struct{ older, newer string }
	seen := map[step]bool{}
	add := func(older, newer string) {
		if s := (step{older, newer}); older != "" && newer != "" && older != newer && !seen[s] {
			seen[s] = true
			d.Steps = append(d.Steps, chart.Supersession{Older: older, Newer: newer})
		}
	}
	for i := range line {
		x := &line[i]
		version := chart.Version{ID: x.Path, Label: x.Handle + " " + x.Title.Text, Note: strings.TrimSpace(statusName(x.Status) + " " + dayOf(x.Date)),
			Current: x.Status == decision.Accepted && !x.Archived}
		if x.Path == r.Path {
			version.Note += " · this one"
		} else {
			version.Href = decisionPath(x)
		}
		d.Versions = append(d.Versions, version)
		for _, ref := range x.Supersedes {
			add(referencedPath(ref, line), x.Path)
		}
		for _, ref := range x.SupersededBy {
			add(x.Path, referencedPath(ref, line))
		}
	}
	return chart.Chain(d)
}

// referencedPath returns the path of the record that a reference means, or "".
func referencedPath(ref decision.Reference, line []decision.Record) string {
	i := slices.IndexFunc(line, func(r decision.Record) bool { return ref.Path != "" && r.Path == ref.Path })
	if i < 0 {
		i = slices.IndexFunc(line, func(r decision.Record) bool { return ref.ID != "" && strings.EqualFold(r.ID.Text, ref.ID) })
	}
	if i < 0 {
		return ""
	}
	return line[i].Path
}

// references returns a record's references, with links to existing records.
func references(refs []decision.Reference, line []decision.Record) (out []choice) {
	for _, ref := range refs {
		c := choice{Name: cmp.Or(ref.ID, ref.Text)}
		if ref.Partial {
			c.Value = "in part"
		}
		if path := referencedPath(ref, line); path != "" {
			i := slices.IndexFunc(line, func(r decision.Record) bool { return r.Path == path })
			c.Path = decisionPath(&line[i])
		}
		out = append(out, c)
	}
	return out
}

// likelyStatuses lists, for each status, those that usually follow it.
var likelyStatuses = map[decision.Status][]decision.Status{decision.Proposed: {decision.Accepted, decision.Rejected}, decision.Unknown: {decision.Proposed, decision.Accepted, decision.Rejected},
	decision.Accepted: {decision.Deprecated}}

// fillActions sets what a user may do with the record.
func (b *decisionBody) fillActions(reg *decision.Registry, r *decision.Record) {
	for _, s := range decision.Statuses() {
		switch {
		case s == r.Status || s == decision.Superseded:
		case slices.Contains(likelyStatuses[r.Status], s):
			b.Moves = append(b.Moves, s)
		default:
			b.OtherMoves = append(b.OtherMoves, s)
		}
	}
	switch r.Status {
	case decision.Superseded, decision.Deprecated, decision.Rejected:
		b.Archivable = !r.Archived
	}
	for _, o := range reg.List() {
		if (o.Status == decision.Accepted || o.Status == decision.Proposed) && !o.Archived && o.Path != r.Path && len(b.Others) < maxOffered {
			b.Others = append(b.Others, decisionRowOf(&o))
		}
	}
}

// addClaimsOnFile finds claims whose evidence is the record's file, if the claims are
// counted.
func (v *visit) addClaimsOnFile(file string, b *decisionBody) error {
	return v.withClaims(func(s store.Engine) error {
		p, err := v.con.claims.Select(s.Owner(), facet.Selection{Files: []string{file}, Limit: maxResting})
		if err != nil || p.Total == 0 {
			return err
		}
		if p.Total > maxResting {
			b.AllClaims = pathOf("claims") + "?file=" + escapeQuery(file)
		}
		b.Claims, err = v.readRows(s, p.IDs)
		return err
	})
}

// decisionAction returns a handler that changes the file of the path's decision and
// redirects to its page.
func decisionAction(change func(v *visit, reg *decision.Registry, r *decision.Record) (now decision.Record, did string, err error)) func(*visit) error {
	return func(v *visit) error {
		reg, err := v.decisions()
		if err != nil {
			return err
		}
		r, err := reg.Find(v.r.PathValue("id"))
		if err != nil {
			return err
		}
		if seen := v.formValue("hash"); seen != "" && seen != r.Hash {
			return fileChangedError(r.Path)
		}
		now, did, err := change(v, reg, &r)
		if err != nil {
			return err
		}
		v.con.refreshGovernance()
		return v.redirectDone(decisionPath(&now), did)
	}
}

// fileChangedError returns the error for a file that changed since the form was loaded:
// the visitor has not read the new text.
func fileChangedError(file string) error {
	return &ken.Error{Code: ken.CodeExists, Msg: file + " has changed since the page was loaded", Try: "Read it as it is now, and decide again."}
}

func moveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	to, err := decisionStatus(v.formValue("to"))
	if err != nil {
		return *r, "", err
	}
	now, err := reg.SetStatus(v.ctx(), r.Path, to)
	return now, "moved", err
}

// supersedeDecision stays on the page of the superseded decision, which links to the new
// one.
func supersedeDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	by := v.formValue("by")
	if by == "" {
		return *r, "", &ken.Error{Code: ken.CodeInvalid, Field: "by", Msg: "no decision is named that supersedes it", Try: "Name an existing decision, or write a new one."}
	}
	was, _, err := reg.Supersede(v.ctx(), r.Path, by)
	return was, "succeeded", err
}

func archiveDecision(v *visit, reg *decision.Registry, r *decision.Record) (decision.Record, string, error) {
	now, err := reg.Archive(v.ctx(), r.Path)
	return now, "shelved", err
}

// decisionStatus parses a status that a user may set.
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
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "status", Msg: fmt.Sprintf("%q is not a status that you can set", s), Try: "Use one of " + strings.Join(names, ", ") + "."}
}

type decisionForm struct {
	Problem  *errorPage   // why it was not written; nil before the first try
	Old      *decisionRow // the decision that it supersedes; nil for none
	OldHash  string
	Statuses []decision.Status

	Title, Status, Date, Folder                         string
	Context, Decision, Consequences, Confirmation, More string
	Chosen                                              string
	Alternatives, Drivers, Governs                      string // one per line
	Tags, Deciders, Consulted, Informed                 string // separated by commas
}

func newDecisionPage(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	b := decisionForm{Status: string(decision.Proposed), Date: v.now().Format(time.DateOnly)}
	if old := v.param("supersedes"); old != "" {
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
	row := decisionRowOf(r)
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

// writeDecision writes a new decision. If the form names another decision, the new one
// supersedes it. On an error the form is shown again with its values.
func writeDecision(v *visit) error {
	reg, err := v.decisions()
	if err != nil {
		return err
	}
	b := decisionForm{Title: v.formValue("title"), Status: v.formValue("status"), Date: v.formValue("date"), Folder: v.formValue("folder"), Context: v.formText("context"),
		Decision: v.formText("decision"), Consequences: v.formText("consequences"), Confirmation: v.formText("confirmation"), More: v.formText("more"), Chosen: v.formValue("chosen"),
		Alternatives: v.formText("alternatives"), Drivers: v.formText("drivers"), Governs: v.formText("governs"), Tags: v.formValue("tags"), Deciders: v.formValue("deciders"),
		Consulted: v.formValue("consulted"), Informed: v.formValue("informed")}
	old := v.formValue("supersedes")
	if old != "" { // the form must name it again even if something else is wrong
		r, err := reg.Find(old)
		if err != nil {
			return err
		}
		b.supersedes(&r)
	}
	now, err := b.write(v, reg, old)
	if err != nil {
		p := errorPageOf(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		b.Problem = &p
		return v.decisionForm(&b)
	}
	v.con.refreshGovernance()
	if old != "" {
		return v.redirectDone(decisionPath(&now), "succeeded")
	}
	return v.redirectDone(decisionPath(&now), "put")
}

func (b *decisionForm) write(v *visit, reg *decision.Registry, old string) (decision.Record, error) {
	d, err := b.draft()
	switch {
	case err != nil:
		return decision.Record{}, err
	case old == "":
		return reg.Create(v.ctx(), d)
	case v.formValue("hash") != "" && v.formValue("hash") != b.OldHash:
		return decision.Record{}, fileChangedError(b.Old.File)
	}
	_, now, err := reg.SupersedeBy(v.ctx(), old, d)
	return now, err
}

func (b *decisionForm) draft() (d decision.Draft, err error) {
	d = decision.Draft{Title: b.Title, Folder: b.Folder, Context: b.Context, Decision: b.Decision, Consequences: b.Consequences, Confirmation: b.Confirmation,
		More: b.More, Drivers: nonEmptyLines(b.Drivers), Governs: nonEmptyLines(b.Governs), Tags: commas(b.Tags), Deciders: commas(b.Deciders), Consulted: commas(b.Consulted),
		Informed: commas(b.Informed)}
	for _, s := range nonEmptyLines(b.Alternatives) {
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
			return d, &ken.Error{Code: ken.CodeInvalid, Field: "date", Msg: "this is not a date", Try: "Write it as 2026-11-22."}
		}
	}
	return d, nil
}

// alternative parses "title: why".
func alternative(s string, chosen bool) decision.Alternative {
	title, why, _ := strings.Cut(s, ": ")
	return decision.Alternative{Title: strings.TrimSpace(title), Text: strings.TrimSpace(why), Chosen: chosen}
}

// formText returns a multi-line form value with "\n" line ends; browsers send "\r\n".
func (v *visit) formText(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n"))
}

// nonEmptyLines returns the lines of a text that are not blank.
func nonEmptyLines(s string) (out []string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
