package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/pattern"
)

// findings writes what tool calls found out and changed: the last one of an
// entity wins, and its history keeps the rest.
func (r *harvestRun) findings(ctx context.Context) error {
	var found []ken.Claim
	for _, f := range finding.Extract(r.tr, r.o.Tools) {
		found = append(found, f.Claim(r.tr.Info))
	}
	if r.o.Ingest {
		found = append(found, finding.Ingest(r.tr, r.o.Tools, r.o.IngestChars)...)
	}
	ids, err := r.write(ctx, "finding", found, r.finding)
	r.out.Findings = ids
	return err
}

// Reasons for which a finding or a pattern is not kept.
const (
	dropOlder    = "older than what is known"
	dropRejected = "rejected before"
)

// longer is by how much a finding that passes must stand longer than the one that
// says the same for the log to hear of it.
const longer = 7 * 24 * time.Hour

// finding says what is to be written of one, unless a later session found something
// out about the same entity already, or a person refused it. Of one that says what
// is known, only the file's new content is vouched for, and the time that it stands
// grows.
func (r *harvestRun) finding(ctx context.Context, c *ken.Claim) (pendingWrite, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.written(c), nil
	case err != nil:
		return pendingWrite{}, err
	case have.Status == ken.StatusSuperseded, have.Status == ken.StatusDisputed && have.Text == c.Text:
		r.out.Dropped[dropRejected]++
		return pendingWrite{}, nil
	case have.Support(nil).NewestAt.After(c.CreatedAt):
		r.out.Dropped[dropOlder]++
		return pendingWrite{}, nil
	case have.Text != c.Text, c.ExpiresAt.Sub(have.ExpiresAt) > longer && !have.ExpiresAt.IsZero():
		return r.written(c), nil
	}
	fresh := slices.DeleteFunc(slices.Clone(c.Evidence), func(e ken.Evidence) bool { return !vouches(e) || slices.ContainsFunc(have.Evidence, covers(e)) })
	if len(fresh) > 0 {
		return r.reinforced(have.ID, fresh), nil
	}
	if have.Session != c.Session && have.Support(nil).NewestAt.Before(c.CreatedAt) {
		r.out.Dropped[consolidate.Known]++
		return pendingWrite{}, nil
	}
	return pendingWrite{id: have.ID}, nil // an earlier run of this harvest
}

// vouches reports evidence of a file's content.
func vouches(e ken.Evidence) bool { return e.Kind == ken.EvidenceFile && e.ContentHash != "" }

// covers finds evidence of the same file that makes e superfluous: it is of the
// same content, or newer.
func covers(e ken.Evidence) func(ken.Evidence) bool {
	return func(o ken.Evidence) bool {
		return o.Kind == e.Kind && o.Reference() == e.Reference() && (o.ContentHash == e.ContentHash || !e.FetchedAt.After(o.FetchedAt))
	}
}

// patterns writes candidates, and reinforces those that are known: once a
// session, whether a person has approved them or not. One that was rejected stays
// rejected.
func (r *harvestRun) patterns(ctx context.Context) error {
	ids, err := r.write(ctx, "pattern", pattern.Extract(r.tr, r.o.Tools), r.pattern)
	r.out.Patterns = ids
	return err
}

// pattern says what is to be written of one.
func (r *harvestRun) pattern(ctx context.Context, c *ken.Claim) (pendingWrite, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.written(c), nil
	case err != nil:
		return pendingWrite{}, err
	case have.Status == ken.StatusDisputed, have.Status == ken.StatusSuperseded:
		r.out.Dropped[dropRejected]++
		return pendingWrite{}, nil
	}
	again, err := r.counted(ctx, &have)
	if err != nil || again {
		return pendingWrite{id: have.ID}, err
	}
	return r.reinforced(have.ID, enough(have.Evidence, c.Evidence)), nil
}

// maxWitnesses is how many tool results stand for a pattern. Reinforcements are
// counted beside them, so more would only make the claim longer.
const maxWitnesses = 6

// enough leaves tool results out of new evidence once there are many: each session
// has its own, while an exit code or a test result takes the place of the last one.
func enough(have, more []ken.Evidence) []ken.Evidence {
	witness := func(e ken.Evidence) bool { return e.Kind == ken.EvidenceToolResult }
	n := 0
	for _, e := range have {
		if witness(e) {
			n++
		}
	}
	var out []ken.Evidence
	for _, e := range more {
		if witness(e) {
			if n++; n > maxWitnesses {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// actor marks what this session reinforces: see counted.
func (r *harvestRun) actor() ken.Actor {
	return ken.Actor{Type: "system", ID: "harvest of " + r.tr.Info.ID}
}

// counted reports whether this session wrote or reinforced the claim already, in
// a harvest before this one. The history knows, so evidence need not grow with
// every session that sees a pattern.
func (r *harvestRun) counted(ctx context.Context, c *ken.Claim) (bool, error) {
	if c.Session == r.tr.Info.ID {
		return true, nil
	}
	events, err := r.o.Store.History(ctx, c.ID)
	if err != nil {
		return false, fmt.Errorf("read history: %w", err)
	}
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool {
		return e.Type == ken.EventReinforced && e.Actor == r.actor()
	}), nil
}

// leaveOut takes the calls that somebody else's text had the agent make out of what is
// harvested, with their results: told by an episode or a finding, they would be the
// agent's own the next time, and outlive the text when that is forgotten.
func (r *harvestRun) leaveOut(ctx context.Context) error {
	if r.o.Tainted == nil {
		return nil
	}
	taints, err := r.o.Tainted(ctx, r.tr.Info.ID)
	if err != nil {
		return fmt.Errorf("read which calls were flagged: %w", err)
	}
	if r.tainted = len(taints) > 0; !r.tainted {
		return nil
	}
	tr := *r.tr
	tr.Entries = nil
	results := map[string]bool{} // ids of calls whose results go
	flagged := func(c ken.ToolCall) bool {
		return slices.ContainsFunc(taints, func(t ken.Taint) bool {
			return t.Call != "" && t.Call == c.ID || t.Call == "" && t.Tool == c.Name
		})
	}
	for _, e := range r.tr.Entries {
		if e.Message.Role == "tool" && results[e.Message.ToolCallID] {
			continue
		}
		if slices.ContainsFunc(e.Message.ToolCalls, flagged) {
			var rest []ken.ToolCall
			for _, c := range e.Message.ToolCalls {
				if !flagged(c) {
					rest = append(rest, c)
					continue
				}
				if c.ID != "" {
					results[c.ID] = true
				}
				r.out.Dropped[dropTainted]++
			}
			if e.Message.ToolCalls = rest; len(rest) == 0 && e.Message.Text == "" {
				continue
			}
		}
		tr.Entries = append(tr.Entries, e)
	}
	if cp := tr.Checkpoint; cp != nil { // its last step may be such a call
		c := *cp
		c.LastStep = ""
		tr.Checkpoint = &c
	}
	r.tr = &tr
	return nil
}

// voice is what a session's summary is trusted: like the agent who speaks, and, where
// somebody else's text steered it, like that.
func (r *harvestRun) voice() ken.Trust {
	if r.tainted {
		return ken.TrustExternal
	}
	return ken.TrustAgent
}
