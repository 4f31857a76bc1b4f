package harvest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/finding"
)

// findings writes what tool calls found out and changed: the last one of an
// entity wins, and its history keeps the rest.
func (r *run) findings(ctx context.Context) error {
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
func (r *run) finding(ctx context.Context, c *ken.Claim) (step, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.written(c), nil
	case err != nil:
		return step{}, err
	case have.Status == ken.StatusSuperseded, have.Status == ken.StatusDisputed && have.Text == c.Text:
		r.out.Dropped[dropRejected]++
		return step{}, nil
	case have.Support(nil).NewestAt.After(c.CreatedAt):
		r.out.Dropped[dropOlder]++
		return step{}, nil
	case have.Text != c.Text, c.ExpiresAt.Sub(have.ExpiresAt) > longer && !have.ExpiresAt.IsZero():
		return r.written(c), nil
	}
	fresh := slices.DeleteFunc(slices.Clone(c.Evidence), func(e ken.Evidence) bool { return !vouches(e) || slices.ContainsFunc(have.Evidence, covers(e)) })
	if len(fresh) > 0 {
		return r.reinforced(have.ID, fresh), nil
	}
	if have.Session != c.Session && have.Support(nil).NewestAt.Before(c.CreatedAt) {
		r.out.Dropped[consolidate.Known]++
		return step{}, nil
	}
	return step{id: have.ID}, nil // an earlier run of this harvest
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
