package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// statsIn are memory_stats' arguments: none.
type statsIn struct{}

// Stats counts what is known, as far as the caller sees it.
type Stats struct {
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
func (s *Stats) Write(p *Page) {
	p.Line(fmt.Sprintf("%d claims, %d sessions; %d of %d records have a vector.", s.Claims, s.Sessions, s.Embedded, s.Records))
	for _, m := range []struct {
		name string
		of   map[string]int
	}{{"kinds", s.Kinds}, {"statuses", s.Statuses}, {"tiers", s.Tiers}, {"trust", s.Trust}} {
		if len(m.of) > 0 {
			p.Line(m.name + ": " + counted(m.of))
		}
	}
	if !s.Newest.IsZero() {
		p.Line("newest: " + s.Newest.Format(time.RFC3339))
	}
}

// counted writes counts, and none for none.
func counted(m map[string]int) string {
	var parts []string
	for _, k := range sorted(m) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// reportEvery is how many claims are counted between two reports of progress.
const reportEvery = 1000

func memoryStats() Tool {
	return Define(Spec{Name: "memory_stats", Title: "Count what is known", Effect: Reads, Right: Read, Idempotent: true,
		Description: "Count what is known by kind, status, tier and trust.", Example: `{}`},
		func(ctx context.Context, c *Call, _ statsIn) (*Stats, error) {
			out := &Stats{Kinds: map[string]int{}, Statuses: map[string]int{}, Tiers: map[string]int{}, Trust: map[string]int{}}
			f := c.filter(ken.Statuses())
			f.Structural, f.Now = true, c.Now()
			out.Embedded, out.Records = c.Store.Coverage()
			for k, err := range c.Store.Scan(ctx, &f, every) {
				if err != nil {
					return nil, err
				}
				v := c.r.layer.View(k)
				out.Claims++
				out.Kinds[bounded(string(k.Kind), 64)]++
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
			sessions, err := c.r.layer.Journal(c.Owner).List(ctx)
			for i := range sessions {
				if c.seesSession(&sessions[i]) {
					out.Sessions++
				}
			}
			return out, err
		})
}
