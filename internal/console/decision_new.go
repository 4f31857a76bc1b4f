package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
)

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
