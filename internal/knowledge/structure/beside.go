package structure

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken/internal/analysis"
)

// Beside is a thing that hangs together with one that a turn names, as something other
// than a claim says: the code does. It counts as one dependency away, for as long as the
// turn lasts.
type Beside struct {
	Focus    string   // what the turn names, as it is to be told
	Names    []string // of the thing, in any spelling; those that claims carry count
	Type     string   // how they hang together: "calls"
	Out      bool     // Focus calls it; else the other way round
	Strength float64  // 0..1, as of a dependency
}

// noFocus is the place of what is none of the focal entities.
const noFocus = -1

// beside are the steps to what lies beside the turn's names, the strongest first and
// then in their order; each entity once, and none that is focal itself.
func (c *collector) beside(list []Beside, focal []Focus, b Bounds) ([]step, error) {
	type raw struct {
		at   int
		name string
	}
	var all []raw
	var names []string
	for i := range list {
		if list[i].Strength < b.MinStrength {
			continue
		}
		for _, n := range list[i].Names {
			if n = analysis.Entity(n); n != "" {
				all, names = append(all, raw{i, n}), append(names, n)
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	known := all[:0]
	var wanted []string
	for i, ok := range c.w.src.Known(names) {
		if ok {
			known, wanted = append(known, all[i]), append(wanted, all[i].name)
		}
	}
	if err := c.w.known(wanted, false); err != nil {
		return nil, err
	}
	var out []step
	for _, r := range known {
		l := &list[r.at]
		for _, entity := range c.w.meant(r.name) {
			if !slices.ContainsFunc(focal, func(f Focus) bool { return f.Name == entity }) {
				out = append(out, step{Step{Focus: l.Focus, Entity: entity, Type: l.Type, Out: l.Out, Strength: l.Strength}, noFocus})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(b.Strength, a.Strength) })
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(s step) bool {
		was := seen[s.Entity]
		seen[s.Entity] = true
		return was
	}), nil
}
