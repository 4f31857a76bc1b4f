package tools

import (
	"context"

	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionReadIn are decision_read's arguments.
type decisionReadIn struct {
	ID      string `json:"id" rule:"filled;chars=400" jsonschema:"such as ADR-0042, 42, the path of its file, or a part of its title"`
	History bool   `json:"history,omitempty" jsonschema:"also list what came before and after it"`
}

// AlternativeShown is an option that was considered.
type AlternativeShown struct {
	Title  string   `json:"title"`
	Text   string   `json:"text,omitempty"`
	Pros   []string `json:"pros,omitempty"`
	Cons   []string `json:"cons,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
}

// DecisionRead is all of a decision.
type DecisionRead struct {
	Decision     Decision           `json:"decision"`
	Deciders     []string           `json:"deciders,omitempty"`
	Context      string             `json:"context,omitempty"`
	Drivers      []string           `json:"drivers,omitempty"`
	Chosen       string             `json:"chosen,omitempty" jsonschema:"the decision in its own words"`
	Alternatives []AlternativeShown `json:"alternatives"`
	Consequences string             `json:"consequences,omitempty"`
	Confirmation string             `json:"confirmation,omitempty"`
	More         string             `json:"more,omitempty"`
	Cut          bool               `json:"cut,omitempty" jsonschema:"some text is longer than what is shown: read the file"`
	Problems     []string           `json:"problems,omitempty" jsonschema:"what is wrong with its file"`
	History      []Decision         `json:"history,omitempty" jsonschema:"the oldest first"`
}

// Bounds of what is shown of one decision, in code points.
const (
	maxSection = 6000
	maxPart    = 1100 // in the text for a model
	maxEntry   = 400
)

// Write implements Output.
func (r *DecisionRead) Write(p *Page) {
	d := &r.Decision
	p.Line(d.Handle + " is " + d.Status + ". It is in " + d.Path + ".")
	if r.Cut {
		p.Line("Some of it is longer than what is shown: read the file.")
	}
	for _, s := range r.Problems {
		p.Line("problem: " + s)
	}
	part := func(title, text string) {
		if text != "" {
			p.Part(title, []string{bounded(text, maxPart)})
		}
	}
	part("title", d.Title)
	if part("decision", r.Chosen); r.Chosen == "" {
		part("what it says", d.Text)
	}
	part("context", r.Context)
	part("consequences", r.Consequences)
	for _, list := range []struct {
		title string
		lines []string
	}{{"governs", d.Governs}, {"supersedes", d.Supersedes}, {"superseded by", d.SupersededBy}, {"tags", d.Tags}, {"drivers", r.Drivers}} {
		listed(p, list.title, list.lines)
	}
	var lines []string
	for _, a := range r.Alternatives {
		s := a.Title
		if a.Chosen {
			s += " (chosen)"
		}
		if a.Text != "" {
			s += ": " + a.Text
		}
		lines = append(lines, s)
	}
	listed(p, "considered", lines)
	part("confirmation", r.Confirmation)
	part("more", r.More)
	for i := range r.History {
		p.Item(&r.History[i].item)
	}
}

func decisionRead() Tool {
	return Define(Spec{Name: "decision_read", Title: "Read an architecture decision", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Read one architecture decision: what was decided and why, the alternatives, what follows, and what it governs.",
		Example:     `{"id":"ADR-0042"}`},
		func(ctx context.Context, c *Call, in decisionReadIn) (*DecisionRead, error) {
			code, err := c.decided(ctx)
			if err != nil {
				return nil, err
			}
			all := code.Decisions()
			r, err := all.Find(in.ID)
			if err != nil {
				return nil, err
			}
			out := c.readDecision(&r)
			for _, p := range all.Problems() {
				if p.Path == r.Path && len(out.Problems) < 10 {
					out.Problems = append(out.Problems, lineOf(placed(p.Path, p.Line)+": "+p.Text, maxEntry))
				}
			}
			if in.History {
				line, err := all.History(r.Handle)
				if err != nil {
					return nil, err
				}
				for i := range line[:min(len(line), maxListed)] {
					if line[i].Path != r.Path {
						out.History = append(out.History, c.showDecision(&line[i]))
					}
				}
			}
			return out, nil
		})
}

func (c *Call) readDecision(r *decision.Record) *DecisionRead {
	out := &DecisionRead{Decision: c.showDecision(r), Deciders: values(r.Deciders), Drivers: values(r.Drivers), Alternatives: []AlternativeShown{}}
	text := func(s string) string {
		shown, cut := fromFile(s, maxSection)
		out.Cut = out.Cut || cut
		return shown
	}
	out.Context, out.Chosen, out.Consequences = text(r.Context.Text), text(r.Decision.Text), text(r.Consequences.Text)
	out.Confirmation, out.More = text(r.Confirmation.Text), text(r.More.Text)
	for i := range r.Options[:min(len(r.Options), maxListed)] {
		o := &r.Options[i]
		shown, cut := fromFile(o.Text, maxEntry)
		out.Cut = out.Cut || cut
		out.Alternatives = append(out.Alternatives, AlternativeShown{lineOf(o.Title.Text, maxHeading), shown, values(o.Pros), values(o.Cons), o.Chosen})
	}
	for _, s := range []string{out.Context, out.Chosen, out.Consequences} {
		if s != "" {
			c.showFile(out.Decision.item.ID, "decision", s)
		}
	}
	return out
}
