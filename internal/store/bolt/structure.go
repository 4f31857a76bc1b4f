package bolt

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// file keeps the index of names up with a row that was put; t.mu is held.
func (t *table) file(ref store.Ref, about *outline.About) {
	if about == nil || t.rows[ref].gone() {
		t.about.Remove(ref)
		return
	}
	t.about.Put(t.outlined(ref, *about))
}

func (t *table) outlined(ref store.Ref, about outline.About) outline.Record {
	r := &t.rows[ref]
	return outline.Record{Ref: ref, ID: r.id, Kind: t.classes[r.class].Kind, Tier: r.tier, Created: r.created,
		Constraint: r.flags&flagConstraint != 0, About: about}
}

// Known implements store.Structure.
func (s *Store) Known(names []string) []bool {
	out := make([]bool, len(names))
	now := toMilli(s.o.Now())
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	for i, name := range names {
		out[i] = s.t.about.Known(name, func(ref store.Ref) bool { return s.t.stands(ref, now) })
	}
	return out
}

// stands reports whether a recall may return the record, as far as its status and its
// time go; t.mu is held.
func (t *table) stands(ref store.Ref, now int64) bool {
	r := &t.rows[ref]
	return !r.gone() && standing(t.classes[r.class].Status) && (r.expires == 0 || now < r.expires)
}

func standing(s ken.Status) bool {
	return s == ken.StatusObserved || s == ken.StatusVerified || s == ken.StatusInferred
}

// Outlines implements store.Structure. All of it is of one commit.
func (s *Store) Outlines(_ context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.t.about.Outlines(names, s.t.pass(f), o), nil
}

// pass is what a filter lets be told; t.mu is held for as long as it is used.
func (t *table) pass(f *ken.Filter) outline.Pass {
	only := outline.Links(f)
	claims, links := t.sieve(f), t.sieve(&only)
	return outline.Pass{Claim: claims.accept, Link: links.accept}
}

// outlined are the records that an outline names.
func outlined(o *store.Outline) []store.Ref {
	refs := slices.Clone(o.Constraints)
	for i := range o.Links {
		refs = append(refs, o.Links[i].Ref)
	}
	for i := range o.Aspects {
		refs = append(refs, o.Aspects[i].Top...)
	}
	return refs
}

// Names implements store.Structure.
func (s *Store) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return store.AllNames(ctx, f, s.NamesAfter)
}

// NamesAfter implements store.Served.
func (s *Store) NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	page, more = s.t.about.Names(s.t.pass(f), after, n)
	return page, more, nil
}

// env is what commands of this request get of the world.
func (t *txn) env() store.Env {
	env := t.s.o.env()
	if assign := t.s.o.Assign; assign != nil {
		env.Assign = func(c *ken.Claim) { assign(inside{t.s, t}, c) }
	}
	return env
}

// inside is the store's structure as a request sees it: what earlier ones of its
// batch wrote counts, so that it makes no difference which writes share a
// transaction.
type inside struct {
	*Store
	t *txn
}

// Known implements store.Structure.
func (i inside) Known(names []string) []bool {
	out := i.Store.Known(names)
	for n, name := range names {
		out[n] = out[n] || i.t.mine.names[name] || i.t.batch.names[name]
	}
	return out
}

// note remembers the names of a claim that was just written, for those after it.
func (t *txn) note(c *ken.Claim) {
	if t.s.o.Assign == nil || len(c.Entities) == 0 || c.Kind == ken.KindDocument || !standing(c.Status) {
		return
	}
	names := map[string]bool{}
	for _, n := range store.SpellEntities(c.Entities) {
		names[n] = true
	}
	t.mine.name(names)
}

func (l *layer) name(names map[string]bool) {
	if l.names == nil && len(names) > 0 {
		l.names = map[string]bool{}
	}
	maps.Copy(l.names, names)
}
