package tools

import (
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
)

// Decision is an architecture decision as an answer shows it.
type Decision struct {
	Handle       string   `json:"handle" jsonschema:"names it in other calls, such as ADR-0042"`
	Title        string   `json:"title"`
	Status       string   `json:"status" jsonschema:"proposed, accepted, rejected, deprecated, superseded or unknown; only what is accepted holds"`
	Date         string   `json:"date,omitempty"`
	Path         string   `json:"path" jsonschema:"of its file"`
	Tags         []string `json:"tags,omitempty"`
	Governs      []string `json:"governs,omitempty" jsonschema:"the symbols and paths that it lists"`
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	Archived     bool     `json:"archived,omitempty"`
	Text         string   `json:"text" jsonschema:"what is decided, shortened; decision_read has all of it"`
	Tier         string   `json:"tier,omitempty" jsonschema:"how far it may be believed: Verified, Inferred, Assumed or Guessed"`

	item Claim
}

// maxListed bounds what is shown of a list of a decision.
const maxListed = 50

// showDecision makes a record fit to be shown, and notes that it was.
func (c *Call) showDecision(r *decision.Record) Decision {
	out := Decision{Handle: lineOf(r.Handle, maxName), Title: lineOf(r.Title.Text, maxHeading), Status: string(r.Status), Path: lineOf(r.Path, maxID),
		Tags: values(r.Tags), Governs: values(r.Governs), Supersedes: referred(r.Supersedes), SupersededBy: referred(r.SupersededBy), Archived: r.Archived}
	if r.Status == decision.Unknown {
		out.Status = "unknown"
	}
	if !r.Date.IsZero() {
		out.Date = r.Date.Format(time.DateOnly)
	}
	k, err := decision.Claim(*r)
	if err != nil { // a file that says nothing
		out.item = Claim{ID: r.Handle, Kind: string(ken.KindDecision), Status: string(ken.StatusHypothesis), Tier: ken.Guessed.String(), Heading: out.Title,
			Source: out.Path, CreatedAt: seconds(r.ModTime)}
		return out
	}
	out.item = c.show(k)
	out.Text, out.Tier = out.item.Text, out.item.Tier
	return out
}

func values(list []decision.Value) (out []string) {
	for _, v := range list[:min(len(list), maxListed)] {
		if s := lineOf(v.Text, maxName); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// referred are the records that references name.
func referred(refs []decision.Reference) (out []string) {
	for _, r := range refs[:min(len(refs), maxListed)] {
		s := r.ID
		if s == "" {
			s = r.Text
		}
		if r.Partial {
			s += " (in part)"
		}
		out = append(out, lineOf(s, maxName))
	}
	return out
}

// DecisionResult is a decision as it is now, after a change.
type DecisionResult struct {
	Outcome  string   `json:"outcome" rule:"enum=created|known|superseded"`
	Decision Decision `json:"decision"`
	Notes    []string `json:"notes,omitempty"`
}

// Write implements Output.
func (r *DecisionResult) Write(p *Page) {
	d := &r.Decision
	switch r.Outcome {
	case "created":
		p.Line(d.Handle + " is written to " + d.Path + ", and is " + d.Status + ".")
	case "known":
		p.Line("It is there already as " + d.Handle + " in " + d.Path + ", and is " + d.Status + "; nothing was changed.")
	default:
		p.Line(d.Handle + " is superseded by " + strings.Join(d.SupersededBy, ", ") + ".")
	}
	for _, n := range r.Notes {
		p.Line("note: " + n)
	}
	p.Item(&d.item)
}
