package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/middleware"
)

// recallResult holds the claims that a recall found, best first.
type recallResult struct {
	Mode     string      `json:"mode" jsonschema:"how it was searched: hybrid, keyword or vector"`
	Cause    string      `json:"cause,omitempty" jsonschema:"why the mode is less than what is configured"`
	Claims   []claimView `json:"claims"`
	More     int         `json:"more,omitempty" jsonschema:"rules about it that the limit left out"`
	Indexing string      `json:"indexing,omitempty" jsonschema:"that the repository is still being indexed, and how far"`
}

// Write implements Output.
func (f *recallResult) Write(p *Page) {
	switch {
	case len(f.Claims) == 0 && f.Indexing != "":
		p.Line("Nothing is found yet: " + f.Indexing + ". Ask again in a moment.")
	case len(f.Claims) == 0:
		p.Line("Nothing is known that bears on it.")
	default:
		p.Line(strconv.Itoa(len(f.Claims)) + " found, best first.")
		if f.Indexing != "" {
			p.Line("There may be more later: " + f.Indexing + ".")
		}
	}
	if f.Cause != "" {
		p.Line("Searched by " + f.Mode + ": " + f.Cause)
	}
	if f.More > 0 {
		p.Line(strconv.Itoa(f.More) + " rules about it were left out by the limit.")
	}
	p.claims(f.Claims)
}

// indexWait is how long a search waits for the first index of a new project.
var indexWait = 2 * time.Second

// recall searches the knowledge. It stores nothing about the question.
func (c *Call) recall(ctx context.Context, in recallIn) (*recallResult, error) {
	f := c.filter(named[ken.Status](in.Statuses))
	f.Kinds, f.ClaimsOnly = kinds(in.Kinds), !in.Documents
	if in.MinTrust != "" {
		if err := f.MinTrust.UnmarshalText([]byte(in.MinTrust)); err != nil {
			return nil, err
		}
	}
	wait := indexWait
	if !in.Documents {
		wait = 0
	}
	indexing := c.r.layer.Operator().AwaitIndex(ctx, c.Store, wait)
	got, err := c.r.layer.Operator().Recaller(c.Store, middleware.RecallQuery{Limit: in.Limit, Filter: f}).Ask(ctx, in.Query, f.Scopes)
	if err != nil {
		return nil, err
	}
	out := &recallResult{Mode: string(got.Mode), Cause: oneLine(got.Cause, maxHeading), Claims: make([]claimView, 0, len(got.Claims)), More: got.More, Indexing: indexing}
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

// recallOptions are the arguments that both recall tools have.
type recallOptions struct {
	Limit     int      `json:"limit,omitempty" rule:"min=1;max=50;default=5"`
	Kinds     []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision or hot"`
	Statuses  []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Documents bool     `json:"documents,omitempty" jsonschema:"search files of the repository as well"`
	MinTrust  string   `json:"min_trust,omitempty" rule:"enum=external|agent|operator"`
}

func memoryRecall() Tool {
	return Define(Spec{Name: "memory_recall", Title: "Recall", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Search what is known: facts, findings, summaries of sessions, playbooks, decisions. Use it before you ask the user " +
			"what they may have said already, and when the knowledge block of this turn is not enough.",
		Example: `{"query":"how are payments retried?","limit":5}`},
		func(ctx context.Context, c *Call, in recallIn) (*recallResult, error) { return c.recall(ctx, in) })
}

// knowledgeIn are knowledge_recall's arguments.
type knowledgeIn struct {
	Question string `json:"question" rule:"filled;chars=2000" jsonschema:"what you want to know"`
	recallOptions
}

// knowledgeRecall is memory_recall under its older name.
func knowledgeRecall() Tool {
	return Define(Spec{Name: "knowledge_recall", Title: "Recall claims", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Another name of memory_recall.",
		Example:     `{"question":"what patterns does this codebase use for transactions?","statuses":["verified","disputed"]}`},
		func(ctx context.Context, c *Call, in knowledgeIn) (*recallResult, error) {
			return c.recall(ctx, recallIn{in.Question, in.recallOptions})
		})
}

// listIn are memory_list's arguments.
type listIn struct {
	Kinds    []string `json:"kinds,omitempty" rule:"items=10;chars=64;filled" jsonschema:"only these: fact, finding, episode, playbook, pattern, decision, hot or dependency"`
	Rules    bool     `json:"rules,omitempty" jsonschema:"only rules"`
	Statuses []string `json:"statuses,omitempty" rule:"items=6;enum=observed|inferred|hypothesis|verified|disputed|superseded" jsonschema:"default: observed, inferred and verified"`
	Limit    int      `json:"limit,omitempty" rule:"min=1;max=50;default=10"`
	Offset   int      `json:"offset,omitempty" rule:"min=0;max=10000" jsonschema:"next of the page before"`
}

// listResult is a page of claims, newest first.
type listResult struct {
	Claims []claimView `json:"claims"`
	Next   int         `json:"next,omitempty" jsonschema:"the offset of the next page; none when this is the last"`
}

// Write implements Output.
func (l *listResult) Write(p *Page) {
	if len(l.Claims) == 0 {
		p.Line("There is nothing on this page.")
	} else {
		p.Line(strconv.Itoa(len(l.Claims)) + " listed, newest first.")
	}
	p.next(l.Next)
	p.claims(l.Claims)
}

func memoryList() Tool {
	return Define(Spec{Name: "memory_list", Title: "List what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "List what is known, newest first, in pages. To answer a question use memory_recall.",
		Example:     `{"kinds":["fact"],"limit":10}`},
		func(ctx context.Context, c *Call, in listIn) (*listResult, error) {
			f := c.filter(named[ken.Status](in.Statuses))
			f.Kinds, f.MinTrust, f.Now = kinds(in.Kinds), c.r.layer.Config().Retrieval.MinTrust, c.Now()
			most, skip := in.Offset+in.Limit+1, in.Offset
			if in.Rules {
				most = math.MaxInt32 // which of the claims are rules is seen when they are read
			}
			found, err := c.Store.Newest(ctx, &f, most)
			if err != nil {
				return nil, err
			}
			hits := found.Hits
			if !in.Rules {
				hits, skip = hits[min(skip, len(hits)):], 0
			}
			out := &listResult{Claims: []claimView{}}
			for _, h := range hits {
				k, err := c.Store.Claim(ctx, h.Ref)
				if errors.Is(err, ken.ErrNotFound) { // deleted since the scan
					continue
				}
				if err != nil {
					return nil, err
				}
				if in.Rules && !k.Constraint {
					continue
				}
				if skip--; skip >= 0 {
					continue
				}
				if len(out.Claims) == in.Limit {
					out.Next = in.Offset + in.Limit
					break
				}
				out.Claims = append(out.Claims, c.show(k))
			}
			return out, nil
		})
}

// statsIn are memory_stats' arguments: none.
type statsIn struct{}

// statsResult counts the claims that the caller may see.
type statsResult struct {
	Claims   int            `json:"claims" jsonschema:"whatever their status, expired ones apart"`
	Kinds    map[string]int `json:"kinds"`
	Statuses map[string]int `json:"statuses"`
	Tiers    map[string]int `json:"tiers"`
	Trust    map[string]int `json:"trust"`
	Newest   time.Time      `json:"newest,omitzero"`
	Sessions int            `json:"sessions" jsonschema:"of which a journal is kept"`
	Embedded int            `json:"embedded" jsonschema:"records that have a vector, pieces of the repository included"`
	Records  int            `json:"records" jsonschema:"claims and pieces of the repository"`
}

// Write implements Output.
func (s *statsResult) Write(p *Page) {
	p.Line(fmt.Sprintf("%d claims, %d sessions; %d of %d records have a vector.", s.Claims, s.Sessions, s.Embedded, s.Records))
	for _, m := range []struct {
		name string
		of   map[string]int
	}{{"kinds", s.Kinds}, {"statuses", s.Statuses}, {"tiers", s.Tiers}, {"trust", s.Trust}} {
		if len(m.of) > 0 {
			p.Line(m.name + ": " + countsText(m.of))
		}
	}
	if !s.Newest.IsZero() {
		p.Line("newest: " + s.Newest.Format(time.RFC3339))
	}
}

// countsText formats counts; "none" if there are none.
func countsText(m map[string]int) string {
	var parts []string
	for _, k := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// reportEvery is the number of claims between two progress reports.
const reportEvery = 1000

func memoryStats() Tool {
	return Define(Spec{Name: "memory_stats", Title: "Count what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Count what is known by kind, status, tier and trust.", Example: `{}`},
		func(ctx context.Context, c *Call, _ statsIn) (*statsResult, error) {
			out := &statsResult{Kinds: map[string]int{}, Statuses: map[string]int{}, Tiers: map[string]int{}, Trust: map[string]int{}}
			f := c.filter(ken.Statuses())
			f.Structural, f.Now = true, c.Now()
			out.Embedded, out.Records = c.Store.Coverage()
			for k, err := range c.Store.Scan(ctx, &f, allClaims) {
				if err != nil {
					return nil, err
				}
				v := c.r.layer.Operator().View(k)
				out.Claims++
				out.Kinds[analysis.Clip(string(k.Kind), 64)]++
				out.Statuses[string(k.Status)]++
				out.Tiers[v.Tier.String()]++
				out.Trust[v.Trust.String()]++
				if k.CreatedAt.After(out.Newest) {
					out.Newest = k.CreatedAt.UTC().Truncate(time.Second)
				}
				if out.Claims%reportEvery == 0 {
					progress(ctx, "count", out.Claims, out.Records)
				}
			}
			sessions, err := c.r.layer.Operator().Journal(c.Owner).List(ctx)
			for i := range sessions {
				if c.seesSession(&sessions[i]) {
					out.Sessions++
				}
			}
			return out, err
		})
}
