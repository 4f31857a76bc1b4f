package tools

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
)

// historyIn are knowledge_history's arguments.
type historyIn struct {
	ID    string `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Limit int    `json:"limit,omitempty" rule:"min=1;max=100;default=20"`
}

// eventView is one event in a claim's history.
type eventView struct {
	At       time.Time `json:"at"`
	Type     string    `json:"type"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Other    string    `json:"other,omitempty" jsonschema:"the claim that replaced it"`
	Evidence []string  `json:"evidence,omitempty"`
	Erased   bool      `json:"erased,omitempty" jsonschema:"the details were forgotten"`
}

// historyResult is the history of a claim, oldest first.
type historyResult struct {
	ID     string      `json:"id"`
	Claim  *claimView  `json:"claim,omitempty" jsonschema:"as it is now; none when it was forgotten"`
	Events []eventView `json:"events"`
	Older  int         `json:"older,omitempty" jsonschema:"events before these"`
}

// Write implements Output.
func (h *historyResult) Write(p *Page) {
	p.Line("What happened to claim " + h.ID + ", oldest first:")
	if h.Older > 0 {
		p.Line(strconv.Itoa(h.Older) + " earlier events are left out.")
	}
	if h.Claim != nil {
		if h.Claim.Session != "" {
			p.Line("It was learned in session " + h.Claim.Session + ".")
		}
		p.claim(h.Claim)
	}
	for i := range h.Events {
		e := &h.Events[i]
		line := e.At.UTC().Format("2006-01-02 15:04:05") + " " + e.Type
		if e.From != "" {
			line += " " + e.From + " to"
		}
		if e.To != "" {
			line += " " + e.To
		}
		if e.By != "" {
			line += " by " + e.By
		}
		var more []string
		if e.Reason != "" {
			more = append(more, "because: "+e.Reason)
		}
		if e.Other != "" {
			more = append(more, "claim "+e.Other)
		}
		if e.Erased {
			more = append(more, "forgotten")
		}
		more = append(more, e.Evidence...)
		if len(more) == 0 {
			more = []string{"no details"}
		}
		p.Part(neutralize(line), more)
	}
}

func knowledgeHistory() Tool {
	return Define(Spec{Name: "knowledge_history", Title: "History of a claim", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Show what happened to a claim: when it was learned, backed, verified, disputed or replaced, by whom, and on what evidence.",
		Example:     `{"id":"3f9a2c71"}`},
		func(ctx context.Context, c *Call, in historyIn) (*historyResult, error) {
			out := &historyResult{ID: in.ID, Events: []eventView{}}
			k, err := c.find(ctx, in.ID)
			switch {
			case err == nil:
				out.ID = k.ID
				shown := c.show(k)
				out.Claim = &shown
			case !errors.Is(err, ken.ErrNotFound) || len(c.Scopes) > 0: // the scope of a forgotten claim is unknown
				return nil, err
			}
			events, failed := c.Store.History(ctx, out.ID)
			if errors.Is(failed, ken.ErrNotFound) || failed == nil && out.Claim == nil && !forgotten(events) {
				return nil, notFound(in.ID)
			}
			if failed != nil {
				return nil, failed
			}
			if out.Older = len(events) - in.Limit; out.Older > 0 {
				events = events[out.Older:]
			}
			out.Older = max(out.Older, 0)
			for i := range events {
				out.Events = append(out.Events, event(&events[i]))
			}
			return out, nil
		})
}

// forgotten reports whether a history is that of an erased claim. (For a claim that exists outside
// the caller's scopes, the caller may not see the history.)
func forgotten(events []ken.ClaimEvent) bool {
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool { return e.Type == ken.EventForgotten })
}

func event(e *ken.ClaimEvent) eventView {
	out := eventView{At: e.At.UTC(), Type: string(e.Type), From: string(e.From), To: string(e.To), By: oneLine(e.Actor.ID, maxSource),
		Reason: oneLine(e.Reason, 400), Other: e.Other, Erased: e.Erased}
	for _, p := range e.Evidence[:min(len(e.Evidence), 20)] {
		out.Evidence = append(out.Evidence, oneLine(label(p), 300))
	}
	return out
}
