package structure

import "sort"

// focal finds the entities among the mentions.
func (g *Graph) focal(w *walker, s *Signs) ([]Focus, error) {
	ms := mentionsOf(s)
	names := make([]string, len(ms.list))
	for i := range ms.list {
		names[i] = ms.list[i].name
	}
	if len(names) == 0 {
		return nil, nil
	}
	var found []mention
	for i, ok := range g.src.Known(names) {
		if ok && ms.means(&ms.list[i]) {
			found = append(found, ms.list[i])
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].better(&found[j]) })
	names = make([]string, len(found))
	for i := range found {
		names[i] = found[i].name
	}
	if err := w.known(names, true); err != nil {
		return nil, err
	}
	var out []Focus
	at := map[string]bool{}
	for i := range found {
		m := &found[i]
		for _, entity := range w.meant(m.name) {
			if at[entity] {
				continue
			}
			at[entity] = true
			f := Focus{Name: entity, Names: w.names(entity), From: m.from, Said: m.name}
			if w.holds(f.Names) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// holds reports whether anything that passes the filter carries one of the names: a
// name that only what is out of scope, or disputed, carries is none.
func (w *walker) holds(names []string) bool {
	for _, n := range names {
		if o := w.at[n]; o != nil && o.Records > 0 {
			return true
		}
	}
	return false
}
