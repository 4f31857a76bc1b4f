package structure

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken/store"
)

// aspect is one of an entity's, under all its names.
type aspect struct {
	store.AspectOutline
	weight float64
}

// aspects are an entity's, heaviest first, b.Aspects at most.
func (g *Graph) aspects(w *walker, entity string, names []string, b Bounds) []aspect {
	at := map[string]int{}
	var list []store.AspectOutline
	for _, n := range names {
		o := w.at[n]
		if o == nil {
			continue
		}
		for _, a := range o.Aspects {
			i, ok := at[a.Name]
			if !ok {
				at[a.Name] = len(list)
				list = append(list, a)
				continue
			}
			have := &list[i] // the same aspect under another name of the entity
			have.Claims, have.Constraints, have.Others = have.Claims+a.Claims, have.Constraints+a.Constraints, have.Others+a.Others
			have.Top = g.merged(have.Top, a.Top)
		}
	}
	largest := Degree(list)
	out := make([]aspect, len(list))
	for i := range list {
		var shown, used float64
		if g.utility != nil {
			shown, used = g.utility.Counts(entity, list[i].Name)
		}
		out[i] = aspect{list[i], Weight(&list[i], largest, shown, used)}
	}
	slices.SortFunc(out, func(a, b aspect) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), b.Aspects)]
}

// merged is two lists of records as one, in the order of store.AspectOutline.Top.
func (g *Graph) merged(a, b []store.Ref) []store.Ref {
	out := slices.Concat(a, b)
	rows := make(map[store.Ref]store.Row, len(out))
	for _, ref := range out {
		rows[ref], _ = g.src.Row(ref)
	}
	slices.SortFunc(out, func(x, y store.Ref) int {
		p, q := rows[x], rows[y]
		return cmp.Or(cmp.Compare(q.Support.Tier, p.Support.Tier), q.CreatedAt.Compare(p.CreatedAt), cmp.Compare(p.ID, q.ID), cmp.Compare(x, y))
	})
	return slices.Compact(out)
}

// attributes adds what is filed under an entity's best aspects. like says where the
// entity stands.
func (g *Graph) attributes(c *collector, entity string, names []string, like Attribute, b Bounds) {
	for _, a := range g.aspects(c.w, entity, names, b) {
		for _, ref := range a.Top[:min(len(a.Top), b.Attributes)] {
			if c.had[ref] || c.ruled[ref] {
				continue
			}
			c.had[ref] = true
			at := like
			at.Ref, at.Entity, at.Aspect, at.Weight = ref, entity, a.Name, a.weight
			c.t.Attributes = append(c.t.Attributes, at)
		}
	}
}

// order puts the best first: by nearness and weight, where each further attribute of
// an aspect counts less, so that one aspect does not fill a list.
func (g *Graph) order(list []Attribute) []Attribute {
	if len(list) == 0 {
		return nil
	}
	type under struct{ entity, aspect string }
	type placed struct {
		score float64
		at    int
	}
	nth := map[under]int{}
	by := make([]placed, len(list))
	for i := range list {
		a := &list[i]
		k := under{a.Entity, a.Aspect}
		nth[k]++
		by[i] = placed{a.Near * a.Weight / float64(nth[k]), i}
	}
	slices.SortFunc(by, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(list[a.at].Ref, list[b.at].Ref))
	})
	out := make([]Attribute, len(list))
	for i, p := range by {
		out[i] = list[p.at]
	}
	return out
}
