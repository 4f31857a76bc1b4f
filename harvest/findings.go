package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/pattern"
)

// findings writes what tool calls found and changed. The last finding about an entity counts; its
// history has the others.
func (r *harvestRun) findings(ctx context.Context) error {
	var found []ken.Claim
	for _, f := range finding.Extract(r.tr, r.o.Tools) {
		found = append(found, f.Claim(r.tr.Info))
	}
	if r.o.Ingest {
		found = append(found, finding.Ingest(r.tr, r.o.Tools, r.o.IngestChars)...)
	}
	ids, err := r.write(ctx, "finding", r.addDerivations(found), r.planFinding)
	r.out.Findings = ids
	return err
}

// Reasons why a finding or a pattern is not stored.
const (
	dropOlder    = "older than what is known"
	dropRejected = "rejected before"
)

// minExtension is the minimum extension of a finding's expiry time that is written to the log.
const minExtension = 7 * 24 * time.Hour

// planFinding plans the write of one finding. It drops a finding that a person rejected, or that is
// older than the known one about the same entity. A finding that repeats a known one only adds new
// evidence of the file's content, and may extend the expiry.
func (r *harvestRun) planFinding(ctx context.Context, c *ken.Claim) (pendingWrite, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.createStep(c), nil
	case err != nil:
		return pendingWrite{}, err
	case have.Status == ken.StatusSuperseded, have.Status == ken.StatusDisputed && have.Text == c.Text:
		r.out.Dropped[dropRejected]++
		return pendingWrite{}, nil
	case have.Support(nil).NewestAt.After(c.CreatedAt):
		r.out.Dropped[dropOlder]++
		return pendingWrite{}, nil
	case have.Text != c.Text, c.ExpiresAt.Sub(have.ExpiresAt) > minExtension && !have.ExpiresAt.IsZero():
		return r.createStep(c), nil
	}
	fresh := slices.DeleteFunc(slices.Clone(c.Evidence), func(e ken.Evidence) bool { return !hasFileHash(e) || slices.ContainsFunc(have.Evidence, coveredBy(e)) })
	if len(fresh) > 0 {
		return r.reinforceStep(have.ID, fresh), nil
	}
	if have.Session != c.Session && have.Support(nil).NewestAt.Before(c.CreatedAt) {
		r.out.Dropped[consolidate.Known]++
		return pendingWrite{}, nil
	}
	return pendingWrite{id: have.ID}, nil // from an earlier run of this harvest
}

// hasFileHash reports whether evidence has a file's content hash.
func hasFileHash(e ken.Evidence) bool { return e.Kind == ken.EvidenceFile && e.ContentHash != "" }

// coveredBy reports whether other evidence makes e unnecessary: it is about the same file, and has
// the same content or is newer.
func coveredBy(e ken.Evidence) func(ken.Evidence) bool {
	return func(o ken.Evidence) bool {
		return o.Kind == e.Kind && o.Reference() == e.Reference() && (o.ContentHash == e.ContentHash || !e.FetchedAt.After(o.FetchedAt))
	}
}

// patterns writes candidates for patterns and reinforces known patterns, once per session, whether
// a person has approved them or not. A rejected pattern stays rejected.
func (r *harvestRun) patterns(ctx context.Context) error {
	ids, err := r.write(ctx, "pattern", r.addDerivations(pattern.Extract(r.tr, r.o.Tools)), r.planPattern)
	r.out.Patterns = ids
	return err
}

// planPattern plans the write of one pattern.
func (r *harvestRun) planPattern(ctx context.Context, c *ken.Claim) (pendingWrite, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.createStep(c), nil
	case err != nil:
		return pendingWrite{}, err
	case have.Status == ken.StatusDisputed, have.Status == ken.StatusSuperseded:
		r.out.Dropped[dropRejected]++
		return pendingWrite{}, nil
	}
	again, err := r.alreadyCounted(ctx, &have)
	if err != nil || again {
		return pendingWrite{id: have.ID}, err
	}
	return r.reinforceStep(have.ID, limitToolResults(have.Evidence, c.Evidence)), nil
}

// maxToolResults is the maximum number of tool results stored as evidence of a claim.
// Reinforcements are counted separately, so more would only make the claim longer.
const maxToolResults = 6

// limitToolResults removes tool results from new evidence if there are too many. Each session has
// its own, whereas an exit code or a test result replaces the previous one.
func limitToolResults(have, more []ken.Evidence) []ken.Evidence {
	isToolResult := func(e ken.Evidence) bool { return e.Kind == ken.EvidenceToolResult }
	n := 0
	for _, e := range have {
		if isToolResult(e) {
			n++
		}
	}
	var out []ken.Evidence
	for _, e := range more {
		if isToolResult(e) {
			if n++; n > maxToolResults {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// actor returns the actor of this session's reinforcements: see alreadyCounted.
func (r *harvestRun) actor() ken.Actor {
	return ken.Actor{Type: "system", ID: "harvest of " + r.tr.Info.ID}
}

// alreadyCounted reports whether this session wrote or reinforced the claim already, in an earlier
// harvest. The history shows that, so evidence need not grow with every session that has the
// pattern.
func (r *harvestRun) alreadyCounted(ctx context.Context, c *ken.Claim) (bool, error) {
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

// removeTainted removes from the transcript the tool calls that an external text caused, and their
// results. In an episode or a finding they would count as the agent's own, and would remain after
// the text is deleted.
func (r *harvestRun) removeTainted(ctx context.Context) error {
	if r.o.Tainted == nil {
		return nil
	}
	taints, err := r.o.Tainted(ctx, r.tr.Info.ID)
	if err != nil {
		return fmt.Errorf("read which calls were flagged: %w", err)
	}
	for _, t := range taints {
		if !slices.Contains(r.tainting, t.Claim) {
			r.tainting = append(r.tainting, t.Claim)
		}
	}
	if len(taints) == 0 {
		return nil
	}
	tr := *r.tr
	tr.Entries = nil
	results := map[string]bool{} // ids of calls whose results are removed
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

// pendingWrite is a planned write of one claim.
type pendingWrite struct {
	id string                                       // id of the claim if it exists already; "" if there is nothing to store
	do func(context.Context) (id string, err error) // nil if nothing must be written
}

func (r *harvestRun) createStep(c *ken.Claim) pendingWrite {
	return pendingWrite{do: func(ctx context.Context) (string, error) { return r.o.Store.WriteClaim(ctx, *c) }}
}

func (r *harvestRun) reinforceStep(id string, evidence []ken.Evidence) pendingWrite {
	return pendingWrite{id: id, do: func(ctx context.Context) (string, error) {
		return id, r.o.Store.Reinforce(ctx, id, evidence, r.actor())
	}}
}

// writers is the number of concurrent writes. The store commits concurrent writes together, and
// most of the time is spent in a commit's sync to the disk.
const writers = 16

// write writes claims that don't depend on each other: each has its own key. It returns the ids of
// the claims that now exist, in order and each once.
func (r *harvestRun) write(ctx context.Context, what string, claims []ken.Claim, plan func(context.Context, *ken.Claim) (pendingWrite, error)) (ids []string, err error) {
	steps := make([]pendingWrite, len(claims))
	for i := range claims {
		if steps[i], err = plan(ctx, &claims[i]); err != nil {
			return nil, fmt.Errorf("look up a %s: %w", what, err)
		}
	}
	errs := make([]error, len(steps))
	room := make(chan struct{}, writers)
	var all sync.WaitGroup
	for i := range steps {
		if steps[i].do == nil {
			continue
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = caught.Run(func() (err error) {
				steps[i].id, err = steps[i].do(ctx)
				return err
			})
		})
	}
	all.Wait()
	for i := range steps {
		switch {
		case errs[i] != nil && !r.refused(what, errs[i]):
			return ids, fmt.Errorf("write a %s: %w", what, errs[i])
		case errs[i] == nil && steps[i].id != "":
			add(&ids, steps[i].id)
		}
	}
	return ids, nil
}
