package structure

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// allLinks is more links than an entity has: rules are followed over every one.
const allLinks = 1 << 20

// manyAspects is how many aspects of a name are weighed. The index brings those with
// most claims, where weight is what counts.
const manyAspects = 256

// walker reads outlines, each once.
type walker struct {
	ctx  context.Context
	src  Source
	f    *ken.Filter
	full store.OutlineOptions
	at   map[string]*outline

	ends  map[string][]string // see meant
	whole map[string][]string // see names
}

// outline is a name's, and whether all of it was asked for.
type outline struct {
	store.Outline
	full    bool
	aliases []store.Link // of Links
}

func newWalker(ctx context.Context, src Source, f *ken.Filter, b Bounds) *walker {
	if f == nil {
		f = &ken.Filter{}
	}
	return &walker{ctx: ctx, src: src, f: f, at: map[string]*outline{}, ends: map[string][]string{}, whole: map[string][]string{},
		full: store.OutlineOptions{Aspects: manyAspects, Top: b.Attributes, Links: allLinks}}
}

// fetch reads the names that are not there yet, in one call. A full outline has more
// than rules and aliases. A rule may be older than the name that its words have, or be
// filed under another: so what says a name counts, too, unless any text might say it.
func (w *walker) fetch(names []string, full bool) error {
	var want []string
	for _, n := range names {
		if o := w.at[n]; o == nil || full && !o.full {
			want = append(want, n)
		}
	}
	if len(want) == 0 {
		return nil
	}
	slices.Sort(want)
	want = slices.Compact(want)
	o := w.full
	for _, n := range want {
		if !reading.Common(n) {
			o.Mentioned = append(o.Mentioned, n)
		}
	}
	if !full {
		o.Brief = true
	}
	got, err := w.src.Outlines(w.ctx, want, w.f, o)
	if err != nil {
		return err
	}
	all := make([]outline, len(want))
	for i, n := range want {
		all[i].full = full
		if i < len(got) {
			all[i].set(got[i])
		}
		w.at[n] = &all[i]
	}
	return nil
}

func (o *outline) set(got store.Outline) {
	o.Outline = got
	for i := range got.Links { // aliases are the last
		if got.Links[i].Kind == ken.KindAlias {
			o.aliases = got.Links[i:]
			break
		}
	}
}

// aliases are a name's, those between two names.
func (w *walker) aliases(name string) func(yield func(*store.Link) bool) {
	return func(yield func(*store.Link) bool) {
		if o := w.at[name]; o != nil {
			each(o.aliases, ken.KindAlias, yield)
		}
	}
}

// dependencies are a name's, those between two names.
func (w *walker) dependencies(name string) func(yield func(*store.Link) bool) {
	return func(yield func(*store.Link) bool) {
		if o := w.at[name]; o != nil {
			each(o.Links, ken.KindDependency, yield)
		}
	}
}

func each(links []store.Link, kind ken.Kind, yield func(*store.Link) bool) {
	for i := range links {
		l := &links[i]
		if l.Kind == kind && len(l.Names) >= 2 && l.Names[0] != l.Names[1] && !yield(l) {
			return
		}
	}
}
