package tools

import (
	"cmp"
	"context"
	"strconv"

	"github.com/kenlayer/ken/middleware"
)

// Found is what a recall found, best first.
type Found struct {
	Mode   string  `json:"mode" jsonschema:"how it was searched: hybrid, keyword or vector"`
	Cause  string  `json:"cause,omitempty" jsonschema:"why the mode is less than what is configured"`
	Claims []Claim `json:"claims"`
	More   int     `json:"more,omitempty" jsonschema:"rules about it that the limit left out"`
}

// Write implements Output.
func (f *Found) Write(p *Page) {
	if len(f.Claims) == 0 {
		p.Line("Nothing is known that bears on it.")
	} else {
		p.Line(strconv.Itoa(len(f.Claims)) + " found, best first.")
	}
	if f.Cause != "" {
		p.Line("Searched by " + f.Mode + ": " + f.Cause)
	}
	if f.More > 0 {
		p.Line(strconv.Itoa(f.More) + " rules about it were left out by the limit.")
	}
	for i := range f.Claims {
		p.Item(&f.Claims[i])
	}
}

// recall asks what is known. Nothing of the question is kept.
func (c *Call) recall(ctx context.Context, in recallIn) (*Found, error) {
	f := c.filter(statuses(in.Statuses))
	f.Kinds, f.ClaimsOnly = kinds(in.Kinds), !in.Documents
	if in.MinTrust != "" {
		if err := f.MinTrust.UnmarshalText([]byte(in.MinTrust)); err != nil {
			return nil, err
		}
	}
	got, err := c.r.layer.Recaller(c.Store, middleware.RecallQuery{Limit: cmp.Or(in.Limit, defaultLimit), Filter: f}).Ask(ctx, in.Query, f.Scopes)
	if err != nil {
		return nil, err
	}
	out := &Found{Mode: string(got.Mode), Cause: oneLine(got.Cause, maxHeading), Claims: make([]Claim, 0, len(got.Claims)), More: got.More}
	for i := range got.Claims {
		r := &got.Claims[i]
		k := c.showAs(r.Claim, r.Tier, r.Trust)
		k.Score = r.Score
		out.Claims = append(out.Claims, k)
	}
	return out, nil
}

// recallIn are memory_recall's arguments.
type recallIn struct {
	Query string `json:"query" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	recallOptions
}

// recallOptions are the arguments that both names of a recall have.
type recallOptions struct {
	Limit     int      `json:"limit,omitempty" rule:"min=1;max=50;default=5"`
	Kinds     []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision or hot"`
	Statuses  []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Documents bool     `json:"documents,omitempty" jsonschema:"search files of the repository as well"`
	MinTrust  string   `json:"min_trust,omitempty" rule:"enum=external|agent|operator"`
}

// defaultLimit is how many claims a recall finds unless it says otherwise.
const defaultLimit = 5

func memoryRecall() Tool {
	return Define(Spec{Name: "memory_recall", Title: "Recall", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Search what is known: facts, findings, summaries of sessions, playbooks, decisions. Use it before you ask the user " +
			"what they may have said already, and when the knowledge block of this turn is not enough.",
		Example: `{"query":"how are payments retried?","limit":5}`},
		func(ctx context.Context, c *Call, in recallIn) (*Found, error) { return c.recall(ctx, in) })
}

// knowledgeIn are knowledge_recall's arguments.
type knowledgeIn struct {
	Question string `json:"question" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	recallOptions
}

// knowledgeRecall is memory_recall under an older name.
func knowledgeRecall() Tool {
	return Define(Spec{Name: "knowledge_recall", Title: "Recall claims", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Another name of memory_recall.",
		Example:     `{"question":"what patterns does this codebase use for transactions?","statuses":["verified","disputed"]}`},
		func(ctx context.Context, c *Call, in knowledgeIn) (*Found, error) {
			return c.recall(ctx, recallIn{in.Question, in.recallOptions})
		})
}
