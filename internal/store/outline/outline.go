package outline

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Pass holds the filters for the records that an answer may contain.
type Pass struct {
	Claim func(store.Ref) bool // for kinds that are not structural
	Link  func(store.Ref) bool // for structural kinds; see Links
}

func (p *Pass) of(r *rec) bool {
	if r.sort >= entities && r.sort <= aliases {
		return p.Link(r.ref)
	}
	return p.Claim(r.ref)
}

// Links returns the filter for structural records: f with the structural kinds instead
// of its own.
func Links(f *ken.Filter) ken.Filter {
	own := *f
	own.Kinds = linkKinds[entities : aliases+1]
	return own
}

// Known reports whether a record that stands accepts carries the name.
func (x *Index) Known(name string, stands func(store.Ref) bool) bool {
	n, ok := x.names.number[name]
	if !ok || name == "" {
		return false
	}
	for _, g := range x.posts[n] {
		for _, slot := range slices.Backward(g.list) {
			if stands(x.recs[slot].ref) {
				return true
			}
		}
	}
	return false
}

// Carriers appends to refs every record that carries the name, in no particular order.
func (x *Index) Carriers(refs []store.Ref, name string) []store.Ref {
	n, ok := x.names.number[name]
	if !ok || name == "" {
		return refs
	}
	for _, g := range x.posts[n] {
		if g.key == candidates { // they are in another group, too
			continue
		}
		for _, slot := range g.list {
			refs = append(refs, x.recs[slot].ref)
		}
	}
	return refs
}

const (
	defaultAspects = 64
	defaultTop     = 20
	defaultLinks   = 64
)

// Outlines returns the outline of each name, with the records that pass.
func (x *Index) Outlines(names []string, pass Pass, o store.OutlineOptions) []store.Outline {
	o.Aspects = cmp.Or(max(o.Aspects, 0), defaultAspects)
	o.Top = cmp.Or(max(o.Top, 0), defaultTop)
	o.Links = cmp.Or(max(o.Links, 0), defaultLinks)
	notes := x.notes.Get().(*outlineBuilder)
	defer x.notes.Put(notes)
	out := make([]store.Outline, len(names))
	var mentioned map[string]bool
	if len(o.Mentioned) > 0 {
		mentioned = make(map[string]bool, len(o.Mentioned))
		for _, name := range o.Mentioned {
			mentioned[name] = true
		}
	}
	for i, name := range names {
		out[i].Name = name
		n, carried := x.names.number[name]
		if carried {
			x.outline(&out[i], n, &pass, &o, notes)
		}
		if mentioned[name] {
			x.mentions(&out[i], n, carried, &pass)
		}
	}
	return out
}

func (x *Index) outline(out *store.Outline, name uint32, pass *Pass, o *store.OutlineOptions, notes *outlineBuilder) {
	notes.begin(x)
	for _, g := range x.posts[name] {
		switch {
		case o.Brief && g.key != constraints && g.key != aliases:
		case g.key == constraints:
			for _, slot := range slices.Backward(g.list) {
				r := &x.recs[slot]
				if !pass.Claim(r.ref) {
					continue
				}
				out.Records++
				out.Constraints = append(out.Constraints, r.ref)
				if r.n > 0 && r.names[0] == name {
					notes.rule(r.aspect, slot)
				}
			}
		case g.key < mentions:
			taken := 0
			for _, slot := range slices.Backward(g.list) {
				r := &x.recs[slot]
				if !pass.Link(r.ref) {
					continue
				}
				out.Records++
				if taken++; taken <= o.Links {
					out.Links = append(out.Links, store.Link{Ref: r.ref, Kind: linkKinds[g.key], Names: x.namesOf(slot),
						Type: x.aspects.text[r.aspect], Strength: x.places[slot].strength})
				}
			}
		case g.key == mentions:
			for _, slot := range g.list {
				if pass.Claim(x.recs[slot].ref) {
					out.Records++
				}
			}
		case g.key == candidates:
			for _, slot := range slices.Backward(g.list) {
				if ref := x.recs[slot].ref; len(out.Candidates) < o.Top && pass.Claim(ref) {
					out.Candidates = append(out.Candidates, ref)
				}
			}
		default:
			t := notes.tally(g.key - beyond)
			notes.generation++
			for _, slot := range slices.Backward(g.list) {
				r := &x.recs[slot]
				if !pass.Claim(r.ref) {
					continue
				}
				if t.claims++; len(t.top) < o.Top {
					t.top = append(t.top, r.ref)
				}
				notes.others(x, t, slot)
			}
			out.Records += t.claims
			notes.finish(x, t)
		}
	}
	if o.Brief {
		return
	}
	notes.rest(x)
	out.Aspects = notes.aspects(x, o.Aspects)
}

func (x *Index) namesOf(slot uint32) []string {
	out := make([]string, x.recs[slot].n)
	for i := range out {
		out[i] = x.names.text[x.nameAt(slot, i)]
	}
	return out
}
