package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken/internal/code/decision"
)

// decisionSearchIn are decision_search's arguments.
type decisionSearchIn struct {
	Query    string   `json:"query,omitempty" rule:"chars=400" jsonschema:"words of the title or text; default: all"`
	Statuses []string `json:"statuses,omitempty" rule:"items=5;enum=proposed|accepted|rejected|deprecated|superseded" jsonschema:"default: every status"`
	Tag      string   `json:"tag,omitempty" rule:"chars=200"`
	Governs  string   `json:"governs,omitempty" rule:"chars=400" jsonschema:"only what governs this path or symbol"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=100000" jsonschema:"next of the page before"`
}

// DecisionsFound are what a search found, best first.
type DecisionsFound struct {
	Decisions []Decision `json:"decisions"`
	Total     int        `json:"total"`
	Next      int        `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (f *DecisionsFound) Write(p *Page) {
	if len(f.Decisions) == 0 {
		p.Line("There is no such decision.")
		return
	}
	p.Line(strconv.Itoa(len(f.Decisions)) + " of " + strconv.Itoa(f.Total) + " decisions, best first. Read one with decision_read.")
	if f.Next > 0 {
		p.Line("There is more: offset " + strconv.Itoa(f.Next))
	}
	for i := range f.Decisions {
		p.Item(&f.Decisions[i].item)
	}
}

func decisionSearch() Tool {
	return Define(Spec{Name: "decision_search", Title: "Search architecture decisions", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Find this project's architecture decisions by words, tag, status, or the file or symbol that they govern, archived ones too. " +
			"Look here before you decide something.",
		Example: `{"query":"retry policy","statuses":["accepted"]}`},
		func(ctx context.Context, c *Call, in decisionSearchIn) (*DecisionsFound, error) {
			code, err := c.decided(ctx)
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 10
			}
			q := decision.Query{Words: in.Query, Tag: in.Tag, Governs: in.Governs, Limit: in.Limit, Offset: in.Offset}
			for _, s := range in.Statuses {
				q.Statuses = append(q.Statuses, decision.Status(s))
			}
			page := code.Decisions().Search(q)
			out := &DecisionsFound{Decisions: []Decision{}, Total: page.Total, Next: nextOf(in.Offset, len(page.Hits), page.Total)}
			for i := range page.Hits {
				out.Decisions = append(out.Decisions, c.showDecision(&page.Hits[i].Record))
			}
			return out, nil
		})
}
