package chart

import "slices"

// chainRows puts each version a row below the lowest of those that it superseded.
func chainRows(d ChainData) (rows [][]*knot, steps []succession, drawn int) {
	byID := map[string]*knot{}
	var all []*knot
	for _, v := range d.Versions {
		if byID[v.ID] == nil {
			k := &knot{Version: v}
			byID[v.ID] = k
			all = append(all, k)
		}
	}
	newer, older := map[*knot][]*knot{}, map[*knot]int{}
	for _, s := range d.Steps {
		a, b := byID[s.Older], byID[s.Newer]
		if a == nil || b == nil || slices.Contains(newer[a], b) {
			continue
		}
		steps = append(steps, succession{older: a, newer: b})
		newer[a] = append(newer[a], b)
		older[b]++
	}
	circles := circles(all, newer, older)
	for i, s := range steps {
		steps[i].back = circles[[2]*knot{s.older, s.newer}]
	}
	// Without circles, pushing versions down ends after as many rounds as there are.
	for range all {
		moved := false
		for _, s := range steps {
			if !s.back && s.newer.row <= s.older.row {
				s.newer.row, moved = s.older.row+1, true
			}
		}
		if !moved {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *knot) int { return a.row - b.row })
	if len(all) > mostLinks {
		all = all[len(all)-mostLinks:]
		steps = slices.DeleteFunc(steps, func(s succession) bool { return !slices.Contains(all, s.older) || !slices.Contains(all, s.newer) })
	}
	for i, k := range all {
		if i == 0 || k.row != all[i-1].row {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
	}
	for i, row := range rows {
		for _, k := range row {
			k.row = i
		}
	}
	return rows, steps, len(all)
}

// circles finds the steps that close a circle: depth first from the oldest, those that
// lead to a version that is still on the way.
func circles(all []*knot, newer map[*knot][]*knot, older map[*knot]int) map[[2]*knot]bool {
	const onTheWay, done = 1, 2
	state, found := map[*knot]int{}, map[[2]*knot]bool{}
	var visit func(k *knot)
	visit = func(k *knot) {
		state[k] = onTheWay
		for _, n := range newer[k] {
			switch state[n] {
			case onTheWay:
				found[[2]*knot{k, n}] = true
			case 0:
				visit(n)
			}
		}
		state[k] = done
	}
	for _, oldest := range []bool{true, false} {
		for _, k := range all {
			if state[k] == 0 && (older[k] == 0 || !oldest) {
				visit(k)
			}
		}
	}
	return found
}
