// Package sharedview restricts an owner's store to the records that are shared with other owners.
package sharedview

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// View is a read-only view of one owner's store, for other owners. It contains only the
// shared records, see ken.Filter.Shared: no method returns another record, whatever the
// filter. Exceptions are Known and Coverage. Claims are returned without information about
// the owner's sessions. A View is safe for concurrent use.
type View struct {
	e store.Engine
	f ken.Filter // admits the shared records
}

var _ store.Projections = (*View)(nil)

// New returns a View of a store. It excludes claims that have expired at now.
func New(e store.Engine, now time.Time) *View {
	return &View{e, ken.Filter{Shared: true, Structural: true, Now: now}}
}

// Owner returns the owner of the store.
func (v *View) Owner() string { return v.e.Owner() }

// narrow returns a copy of f that admits only shared records. A zero Now becomes the View's time.
func (v *View) narrow(f *ken.Filter) *ken.Filter {
	own := *f
	if own.Shared = true; own.Now.IsZero() {
		own.Now = v.f.Now
	}
	return &own
}

// has reports whether a record is in the view.
func (v *View) has(ref store.Ref) bool {
	_, ok := v.Row(ref)
	return ok
}

// result removes records that are not in the view from a search result.
func (v *View) result(res store.Result, err error) (store.Result, error) {
	hits, cut := res.Hits[:0:0], res.Cut[:0:0]
	for _, h := range res.Hits {
		if v.has(h.Ref) {
			hits = append(hits, h)
		}
	}
	for _, c := range res.Cut {
		if v.has(c.Ref) {
			cut = append(cut, c)
		}
	}
	res.Hits, res.Cut = hits, cut
	return res, err
}

// refs returns those of the refs that are in the view.
func (v *View) refs(all []store.Ref) (in []store.Ref) {
	for _, ref := range all {
		if v.has(ref) {
			in = append(in, ref)
		}
	}
	return in
}

// Keyword implements Projections.
func (v *View) Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (store.Result, error) {
	return v.result(v.e.Keyword(ctx, text, v.narrow(f), limit))
}

// Vector implements Projections.
func (v *View) Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (store.Result, error) {
	return v.result(v.e.Vector(ctx, query, v.narrow(f), limit))
}

// Pinned implements Projections.
func (v *View) Pinned(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return v.result(v.e.Pinned(ctx, v.narrow(f), limit))
}

// Newest implements Projections.
func (v *View) Newest(ctx context.Context, f *ken.Filter, limit int) (store.Result, error) {
	return v.result(v.e.Newest(ctx, v.narrow(f), limit))
}

// Cosines implements Projections. The result is 0 for records that are not in the view.
func (v *View) Cosines(query []float32, refs []store.Ref) []float64 {
	out := v.e.Cosines(query, refs)
	for i, ref := range refs {
		if !v.has(ref) {
			out[i] = 0
		}
	}
	return out
}

// Referring implements Projections.
func (v *View) Referring(ctx context.Context, names []string, f *ken.Filter) ([]store.Ref, error) {
	refs, err := v.e.Referring(ctx, names, v.narrow(f))
	return v.refs(refs), err
}

// Row implements Projections.
func (v *View) Row(ref store.Ref) (store.Row, bool) {
	row, ok := v.e.Row(ref)
	if !ok || v.f.Reject(row.Facts) != "" {
		return store.Row{}, false
	}
	return row, true
}

// Form implements Projections.
func (v *View) Form(ref store.Ref) analysis.Form {
	if !v.has(ref) {
		return analysis.Form{}
	}
	return v.e.Form(ref)
}

// Around implements Projections. It omits those of the n records before and after ref that
// are not shared, so it may return fewer.
func (v *View) Around(ref store.Ref, n int) (before, after []store.Ref) {
	if !v.has(ref) {
		return nil, nil
	}
	before, after = v.e.Around(ref, n)
	return v.refs(before), v.refs(after)
}

// Has implements Projections.
func (v *View) Has(id string) bool {
	_, err := v.Get(context.Background(), id)
	return err == nil
}

// Claim implements Projections.
func (v *View) Claim(ctx context.Context, ref store.Ref) (ken.Claim, error) {
	if !v.has(ref) {
		return ken.Claim{}, notShared()
	}
	return v.redacted(v.e.Claim(ctx, ref))
}

// Get reads a claim by its id. If the claim is not shared, the error is ErrNotFound, whether it
// exists or not.
func (v *View) Get(ctx context.Context, id string) (ken.Claim, error) {
	c, err := v.redacted(v.e.Get(ctx, id))
	if errors.Is(err, ken.ErrInvalid) { // an ambiguous prefix: the error would reveal that other ids exist
		err = notShared()
	}
	return c, err
}

// notShared returns the error for records that do not exist or are not shared.
func notShared() error { return &ken.Error{Code: ken.CodeNotFound, Msg: "no such record"} }

// redacted returns a claim without what other owners may not read. It removes all information about
// the sessions that the claim came from. It removes the quotes of all evidence except human
// assertions. Documents are returned unchanged. A non-nil err is returned as it is.
func (v *View) redacted(c ken.Claim, err error) (ken.Claim, error) {
	if err != nil {
		return ken.Claim{}, err
	}
	if v.f.Reject(c.Facts()) != "" {
		return ken.Claim{}, notShared()
	}
	if c.Kind == ken.KindDocument {
		return c, nil
	}
	c = engine.Clone(&c)
	c.Key, c.Body, c.Session, c.Branch, c.Actor, c.Supersedes, c.SupersededBy = "", nil, "", "", ken.Actor{}, "", ""
	for i := range c.Evidence {
		e := &c.Evidence[i]
		e.SessionID, e.MessageID, e.ToolCallID, e.ArtifactID = "", "", "", ""
		if e.Kind != ken.EvidenceHumanAssertion {
			e.Detail = ""
		}
	}
	return c, nil
}

// Coverage implements Projections. It also counts records that are not shared.
func (v *View) Coverage() (embedded, total int) { return v.e.Coverage() }

// Standby implements Projections.
func (v *View) Standby() string { return v.e.Standby() }

// Known implements Structure. It also reports names that occur only in records that are
// not shared. Callers then read the outlines of a name, which exclude those records.
func (v *View) Known(names []string) []bool { return v.e.Known(names) }

// Outlines implements Structure.
func (v *View) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	return v.e.Outlines(ctx, names, v.narrow(f), o)
}

// Names implements Structure.
func (v *View) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return v.e.Names(ctx, v.narrow(f))
}

// HasAll implements Remote.
func (v *View) HasAll(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !v.Has(id) })
}

// Fetch implements Remote.
func (v *View) Fetch(ctx context.Context, refs []store.Ref) { store.Fetch(ctx, v.e, v.refs(refs)) }
