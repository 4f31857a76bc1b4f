package tools

import (
	"context"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// disputeIn are knowledge_dispute's arguments.
type disputeIn struct {
	ID       string       `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Reason   string       `json:"reason" rule:"filled;chars=1000" jsonschema:"what speaks against it"`
	Evidence []evidenceIn `json:"evidence,omitempty" rule:"items=10"`
}

// disputeResult is the outcome of a dispute.
type disputeResult struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Disputed bool     `json:"disputed"`
	Marked   bool     `json:"marked,omitempty" jsonschema:"a person put it into every turn, so a person decides; it is in the attention queue"`
	Notes    []string `json:"notes,omitempty"`
}

// Write implements Output.
func (d *disputeResult) Write(p *Page) {
	switch {
	case d.Marked:
		p.Line("A person put this claim into every turn, so a person decides: your dispute is in the attention queue, and the claim stands until then.")
	case d.Disputed:
		p.Line("Disputed. No new turn is given it until a person has settled it; conversations that know it are told that it is disputed.")
	}
	p.Line("id " + d.ID + ", " + d.Status)
	p.notes(d.Notes)
}

// alwaysInjected reports whether a claim is of a kind that a person has put into every turn.
func alwaysInjected(k *ken.Claim) bool {
	switch k.Kind {
	case ken.KindHot, ken.KindPattern, ken.KindPlaybook, ken.KindDecision, ken.KindObjective:
		return k.Status != ken.StatusHypothesis
	}
	return k.Constraint
}

func knowledgeDispute() Tool {
	return Define(Spec{Name: "knowledge_dispute", Title: "Dispute a claim", Effect: Writes, Right: Write, Idempotent: true,
		Description: "Say that a claim is wrong, and why. It is not recalled until a person decides. Rules and other things that a person " +
			"put into every turn stay until then.",
		Example: `{"id":"3f9a2c71","reason":"the timeout is 5 s since March: see config.go"}`},
		func(ctx context.Context, c *Call, in disputeIn) (*disputeResult, error) {
			k, err := c.find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			ev, err := c.evidence(ctx, in.Evidence)
			if err != nil {
				return nil, err
			}
			reason := in.Reason
			for _, e := range ev.pieces {
				reason += " · " + label(e)
			}
			out := &disputeResult{ID: k.ID, Status: string(k.Status), Notes: ev.notes}
			switch {
			case k.Status == ken.StatusDisputed:
				out.Disputed = true
				out.Notes = append(out.Notes, "it was disputed already")
				return out, nil
			case alwaysInjected(&k):
				out.Marked = true
				_, err := c.mark(ctx, attention.DisputeRequested, k.ID, reason)
				return out, err
			}
			if err := c.handle().Dispute(ctx, k.ID, reason); err != nil {
				return nil, err
			}
			if err := matcher.Withdraw(ctx, c.Store, &k, c.actor()); err != nil {
				return nil, err
			}
			c.Touch(k.ID)
			out.Disputed, out.Status = true, string(ken.StatusDisputed)
			return out, nil
		})
}

// label identifies a piece of evidence in the reason of a dispute.
func label(e ken.Evidence) string {
	parts := []string{string(e.Kind)}
	for _, s := range []string{e.ID, e.Path, e.URL, e.CommitSHA, e.ToolCallID} {
		if s != "" {
			parts = append(parts, analysis.Clip(s, 200))
			break
		}
	}
	if e.Detail != "" {
		parts = append(parts, analysis.Clip(e.Detail, 200))
	}
	return strings.Join(parts, " ")
}

// markIn holds forget_memory's arguments.
type markIn struct {
	ID     string `json:"id" rule:"filled;chars=80" jsonschema:"of the claim, such as the letters after k:"`
	Reason string `json:"reason,omitempty" rule:"chars=400" jsonschema:"without repeating the claim"`
}

// markResult is the outcome of a request that a person has to confirm.
type markResult struct {
	ID      string `json:"id"`
	Marked  bool   `json:"marked" jsonschema:"it is in the operator's attention queue"`
	Again   bool   `json:"again,omitempty" jsonschema:"it was there already"`
	Confirm string `json:"confirm" jsonschema:"the command with which the operator does it"`
}

// Write implements Output.
func (m *markResult) Write(p *Page) {
	p.Line("Marked for the operator; nothing was changed. The claim stays in use until the operator confirms with: " + m.Confirm)
	if m.Again {
		p.Line("It was marked already.")
	}
}

func forgetMemory() Tool {
	return Define(Spec{Name: "forget_memory", Title: "Ask to forget a claim", Effect: Marks, Right: Write, Idempotent: true,
		Description: "Ask the operator to erase a claim, for example when the user wants it forgotten. It stays until the operator confirms. " +
			"If it is wrong, use knowledge_dispute.",
		Example: `{"id":"3f9a2c71","reason":"the user asked for it"}`},
		func(ctx context.Context, c *Call, in markIn) (*markResult, error) {
			k, err := c.find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			fresh, err := c.mark(ctx, attention.ForgetRequested, k.ID, in.Reason)
			if err != nil {
				return nil, err
			}
			return &markResult{ID: k.ID, Marked: true, Again: !fresh, Confirm: "ken forget " + k.ID}, nil
		})
}

// mark adds a claim to the operator's attention queue.
func (c *Call) mark(ctx context.Context, e attention.Event, id, reason string) (fresh bool, err error) {
	c.Touch(id)
	return attention.PutMark(ctx, c.Store.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: c.Session,
		Actor: c.actor(), At: c.Now()})
}
