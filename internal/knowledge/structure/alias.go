package structure

import (
	"cmp"
	"slices"
)

// known reads the names and all that are names of the same things.
func (w *walker) known(names []string, full bool) error {
	seen := make(map[string]bool, len(names))
	var round []string
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			round = append(round, n)
		}
	}
	for _, n := range names {
		add(n)
	}
	for len(round) > 0 {
		now := round
		if err := w.fetch(now, full); err != nil {
			return err
		}
		round = nil
		for _, n := range now {
			for l := range w.aliases(n) {
				add(l.Names[0])
				add(l.Names[1])
			}
		}
	}
	return nil
}

// meant are the names of what a name is a name of: the ends of its aliases, itself
// when it is none. A circle of aliases is one thing, by its first name in byte
// order. They are sorted.
func (w *walker) meant(name string) []string {
	if w.single(name) {
		return []string{name}
	}
	if ends, ok := w.ends[name]; ok {
		return ends
	}
	reach := w.reach(name, up)
	var ends []string
	for _, n := range reach {
		if len(w.next(n, up)) == 0 {
			ends = append(ends, n)
		}
	}
	if ends == nil {
		least := slices.MinFunc(reach, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(w.reach(a, up)), len(w.reach(b, up))), cmp.Compare(a, b))
		})
		ends = []string{least}
	}
	slices.Sort(ends)
	w.ends[name] = ends
	return ends
}

// names are all names of an entity: itself first, the others sorted.
func (w *walker) names(entity string) []string {
	if w.single(entity) {
		return []string{entity}
	}
	if out, ok := w.whole[entity]; ok {
		return out
	}
	out := w.reach(entity, down)
	slices.Sort(out[1:])
	w.whole[entity] = out
	return out
}

// single reports a name without aliases, as most are.
func (w *walker) single(name string) bool {
	o := w.at[name]
	return o == nil || len(o.aliases) == 0
}

// Directions of an alias.
const (
	up   = 0 // to what the name is a name of
	down = 1 // to the other names
)

// next are the names one alias away.
func (w *walker) next(name string, dir int) (out []string) {
	for l := range w.aliases(name) {
		if l.Names[1-dir] == name && !slices.Contains(out, l.Names[dir]) {
			out = append(out, l.Names[dir])
		}
	}
	return out
}

// reach are the names that aliases lead to, the name itself first.
func (w *walker) reach(name string, dir int) []string {
	out, seen := []string{name}, map[string]bool{name: true}
	for i := 0; i < len(out); i++ {
		for _, n := range w.next(out[i], dir) {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}
