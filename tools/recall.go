package tools

import (
	"context"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// Found is what a recall found, best first.
type Found struct {
	Mode   string  `json:"mode" jsonschema:"how it was searched: hybrid, keyword or vector"`
	Cause  string  `json:"cause,omitempty" jsonschema:"why the mode is less than what is configured"`
	Claims []Claim `json:"claims"`
	Note   string  `json:"note"`
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
	for i := range f.Claims {
		p.Item(&f.Claims[i])
	}
}

// recall asks what is known. Nothing of the question is kept.
func (c *Call) recall(ctx context.Context, question string, limit int, f ken.Filter) (*Found, error) {
	got, err := c.r.layer.Recaller(c.Store, middleware.RecallQuery{Limit: limit, Filter: f}).Ask(ctx, question, f.Scopes)
	if err != nil {
		return nil, err
	}
	out := &Found{Mode: string(got.Mode), Cause: oneLine(got.Cause, maxHeading), Claims: make([]Claim, 0, len(got.Claims)), Note: note}
	for i := range got.Claims {
		r := &got.Claims[i]
		k := c.showAs(r.Claim, r.Tier, r.Trust)
		k.Score = r.Score
		out.Claims = append(out.Claims, k)
	}
	return out, nil
}

// recallIn are the arguments that both recalls have.
type recallIn struct {
	Query string   `json:"query" rule:"filled;chars=2000" jsonschema:"what you want to know, in words that the answer may have"`
	Limit int      `json:"limit,omitempty" rule:"min=1;max=50;default=5" jsonschema:"the most to find"`
	Kinds []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these kinds, such as fact, finding, episode, playbook, pattern, decision or hot"`
}

// defaultLimit is how many claims a recall finds unless it says otherwise.
const defaultLimit = 5

func (in *recallIn) limit() int {
	if in.Limit > 0 {
		return in.Limit
	}
	return defaultLimit
}

func memoryRecall() Tool {
	return Define(Spec{Name: "memory_recall", Title: "Recall", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Search what is known that bears on a question: facts, findings, summaries of sessions, playbooks, decisions. " +
			"It searches by words and by meaning. Use it before you ask the user what they may have said already, and when you " +
			"need more than the knowledge block of this turn gives.",
		Example: `{"query":"how are payments retried?","limit":5}`},
		func(ctx context.Context, c *Call, in recallIn) (*Found, error) {
			f := c.filter(nil)
			f.Kinds = kinds(in.Kinds)
			return c.recall(ctx, in.Query, in.limit(), f)
		})
}

// knowledgeIn are knowledge_recall's arguments.
type knowledgeIn struct {
	Question  string   `json:"question" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	Limit     int      `json:"limit,omitempty" rule:"min=1;max=50;default=5" jsonschema:"the most to find"`
	Statuses  []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"only these; by default what holds now: observed, inferred and verified"`
	Kinds     []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these kinds"`
	Documents bool     `json:"documents,omitempty" jsonschema:"find pieces of the repository as well"`
	MinTrust  string   `json:"min_trust,omitempty" rule:"enum=external|agent|operator" jsonschema:"the least trusted speaker"`
}

func knowledgeRecall() Tool {
	return Define(Spec{Name: "knowledge_recall", Title: "Recall claims", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Search claims with their standing: status, tier and trust. Ask for disputed or superseded ones by name, to see " +
			"what was contested or how something was before.",
		Example: `{"question":"what patterns does this codebase use for transactions?","statuses":["verified","disputed"]}`},
		func(ctx context.Context, c *Call, in knowledgeIn) (*Found, error) {
			f := c.filter(statuses(in.Statuses))
			f.Kinds, f.ClaimsOnly = kinds(in.Kinds), !in.Documents
			if in.MinTrust != "" {
				if err := f.MinTrust.UnmarshalText([]byte(in.MinTrust)); err != nil {
					return nil, err
				}
			}
			both := recallIn{Limit: in.Limit}
			return c.recall(ctx, in.Question, both.limit(), f)
		})
}
