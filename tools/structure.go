package tools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
)

// editor changes the structure for the caller. What it writes is the agent's, whatever
// it cites, and a rule only where no external source says so.
func (c *Call) editor(tool string, evidence []ken.Evidence) *edit.Editor {
	return edit.New(c.Store, edit.Options{Now: c.Now, Actor: c.actor(), Evidence: evidence, By: ken.AssignedByModel, Scope: c.scope(), Scopes: c.Scopes,
		Project: c.Project, Session: c.Session, Branch: c.Branch, SourceType: "tool:" + tool})
}

// seen admits what stands now, is within the caller's scopes and trusted enough.
func (c *Call) seen() *ken.Filter {
	f := c.filter(nil)
	f.MinTrust, f.Now = c.r.layer.Config().Retrieval.MinTrust, c.Now()
	return &f
}

// backed is the evidence of something that an agent says: what it gives, or its word.
// Where the words are those of an external claim, that claim is evidence too, and so
// they stay external: to say again what a page says must not make it the agent's.
func (c *Call) backed(ctx context.Context, text string, given []Evidence) (evidenceRead, error) {
	if len(given) == 0 {
		given = []Evidence{{Kind: string(ken.EvidenceAgentAssertion)}}
	}
	ev, err := c.evidence(ctx, given)
	if err != nil {
		return ev, err
	}
	ids, err := c.repeats(ctx, text)
	if err != nil {
		return ev, err
	}
	for _, id := range ids {
		k, err := c.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return ev, err
		}
		if k.Support(nil).Trust < ken.TrustAgent {
			from := ken.FromRepositoryMemory(id)
			from.Trust, from.FetchedAt = ken.TrustExternal, c.Now()
			ev.pieces = append(ev.pieces, from)
			ev.notes = append(ev.notes, "claim "+shortID(id)+" of an external source says so, and this is as external as that")
		}
	}
	return ev, nil
}

// repeats are the claims that say what a text says: that the caller was shown in this
// session, or that are known.
func (c *Call) repeats(ctx context.Context, text string) ([]string, error) {
	var ids []string
	id, echo, err := c.echo(ctx, text)
	if err != nil {
		return nil, err
	}
	if echo && id != "" {
		ids = append(ids, id)
	}
	k := ken.Claim{Kind: ken.KindFact, Text: text, Scope: c.scope(), Status: ken.StatusObserved, CreatedAt: c.Now(),
		Evidence: []ken.Evidence{ken.FromAgentAssertion(c.Agent, "")}}
	known, err := consolidate.Similar(ctx, c.Store, k)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(o ken.Claim) bool { return !c.sees(&o) })
	if a := consolidate.Plan(k, known); a.Do == consolidate.Skip || a.Do == consolidate.Reinforce {
		for _, id := range append(a.IDs, a.Own) {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// when reads a date or a time; zero for nothing.
func when(field, s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" || s == "never" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalid(field, clipped(s)+" is no time", "Write it as in 2026-12-31 or 2026-12-31T18:00:00Z.")
}

// names makes names fit to be shown in a line.
func names(list []string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = oneLine(n, maxName)
	}
	return strings.Join(out, ", ")
}

// maxName bounds what is shown of a name, in code points.
const maxName = 120
