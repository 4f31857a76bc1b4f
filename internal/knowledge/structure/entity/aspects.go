package entity

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// aspects are those of all names of the entity, by weight, each with its claims.
func (v *viewer) aspects(outlines []store.Outline) error {
	merged := merge(outlines)
	largest := structure.Degree(merged)
	for i := range merged {
		a := &merged[i]
		var shown, used float64
		if v.o.Utility != nil {
			shown, used = v.o.Utility.Counts(v.view.Name, a.Name)
		}
		v.view.Aspects = append(v.view.Aspects, Aspect{a.Name, structure.Weight(a, largest, shown, used), a.Claims, a.Constraints, []Claim{}})
	}
	order := make([]int, len(merged))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(v.view.Aspects[b].Weight, v.view.Aspects[a].Weight), cmp.Compare(merged[a].Name, merged[b].Name))
	})
	out := []Aspect{}
	for _, at := range order[:min(len(order), v.o.Aspects)] {
		a := v.view.Aspects[at]
		for _, r := range merged[at].Top[:min(len(merged[at].Top), v.o.Attributes)] {
			c, ok, err := v.read(r)
			if err != nil {
				return err
			}
			if ok {
				a.Attributes = append(a.Attributes, c)
			}
		}
		out = append(out, a)
	}
	v.view.Aspects = out
	return nil
}

// merge joins the aspects of outlines of one entity's names, by name. The counts of
// other names are added up, so one that two names share counts twice.
func merge(outlines []store.Outline) []store.AspectOutline {
	at := map[string]int{}
	var out []store.AspectOutline
	for i := range outlines {
		for _, a := range outlines[i].Aspects {
			n, ok := at[a.Name]
			if !ok {
				at[a.Name] = len(out)
				a.Top = slices.Clone(a.Top)
				out = append(out, a)
				continue
			}
			o := &out[n]
			o.Claims += a.Claims
			o.Constraints += a.Constraints
			o.Others += a.Others
			o.Top = append(o.Top, a.Top...)
		}
	}
	slices.SortFunc(out, func(a, b store.AspectOutline) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
