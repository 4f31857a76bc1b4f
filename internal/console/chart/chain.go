package chart

import (
	"fmt"
	"html/template"
	"slices"
)

// maxLinks is how many versions a chain draws, the newest ones.
const maxLinks = 40

// Version is one of several things that superseded one another.
type Version struct {
	ID      string
	Label   string
	Href    string
	Note    string // such as its date; shown below the label
	Current bool   // it is valid now
}

// Supersession says that an older version was superseded by a newer one.
type Supersession struct {
	Older, Newer string // IDs
}

// ChainData holds versions and their supersessions, in any order.
type ChainData struct {
	Title    string
	Versions []Version
	Steps    []Supersession
}

type versionBox struct {
	Version
	box
	row int
}

// Chain draws versions as boxes, from the oldest at the top to the newest. Versions that
// superseded the same one are in one row. A supersession that closes a cycle is dashed.
func Chain(d ChainData) template.HTML {
	rows, steps, drawn := chainRows(d)
	f := figure{kind: "chart-chain", title: d.Title, desc: plural(len(d.Versions), "version", "versions") + ", oldest first"}
	for _, row := range rows {
		for _, k := range row {
			f.links = f.links || local(k.Href)
			if k.Current {
				f.desc += ", current: " + cut(clean(k.Label), 400, large)
			}
		}
	}
	if rest := len(d.Versions) - drawn; rest > 0 {
		f.note = fmt.Sprintf("%s not drawn.", plural(rest, "version", "versions"))
	}
	return f.draw(func(c *canvas, width float64) float64 {
		const rowHeight, between, side = 58.0, 40.0, 24.0
		most := 4
		if width <= narrow {
			most = 2
		}
		y := 1.0
		if slices.ContainsFunc(steps, func(s succession) bool { return s.back && s.newer.row == 0 }) {
			y = 18 // leave room for the arrow above
		}
		for _, row := range rows {
			for lines := row; len(lines) > 0; {
				line := lines[:min(most, len(lines))]
				lines = lines[len(line):]
				w := min(460, (width-2*side-12*float64(len(line)-1))/float64(len(line)))
				x := side
				for _, k := range line {
					k.box = box{x: x, y: y, w: w, h: rowHeight}
					x += w + 12
				}
				y += rowHeight + between
			}
		}
		for lane, s := range steps {
			s.draw(c, lane)
		}
		for _, row := range rows {
			for _, k := range row {
				k.draw(c)
			}
		}
		return max(1, y-between+14)
	})
}

// draw draws the box of a version.
func (k *versionBox) draw(c *canvas) {
	tone, class, state := raw("c-muted"), raw("box"), ""
	if k.Current {
		tone, class, state = "c-ok", "box current", "✓ current"
	}
	closing := c.open(k.Href, tip(k.Label, state, k.Note), tone)
	c.rect(k.x, k.y, k.w, k.h, 5, class)
	c.rect(k.x+4, k.y+5, 4, k.h-10, 2, "area")
	first, second := wrap(clean(k.Label), k.w-24, large)
	below := joinTips(state, clean(k.Note))
	y := k.y + 17
	if second == "" {
		y += 7
	}
	c.text(k.x+15, y, "start", "label name", first, k.w-22)
	if second != "" {
		y += 16
		c.text(k.x+15, y, "start", "label name", second, k.w-22)
	}
	c.text(k.x+15, y+17, "start", "soft", below, k.w-24)
	c.put(`%v`, closing)
}

// succession is a supersession between two drawn versions.
type succession struct {
	older, newer *versionBox
	back         bool // it closes a cycle
}

// draw draws the arrow: straight down to the next row, or along a lane on the left to
// another row.
func (s succession) draw(c *canvas, lane int) {
	a, b := s.older, s.newer
	c.put(`<g class="c-muted"><title>%v</title>`, clean(a.Label)+" → "+clean(b.Label))
	x, y := b.x+min(b.w/2, 60), b.y
	switch {
	case s.back || a.row+1 != b.row:
		class := raw("line thin")
		if s.back {
			class = "line thin dash"
		}
		x = b.x + 26
		c.put(`<path class="%v" d="M%v %vv9H%vV%vH%vV%v"/>`, class, a.x+26, a.y+a.h, 4+5*float64(lane%4), b.y-13-5*float64(lane%2), x, y-7)
	default:
		from := a.x + min(a.w/2, 60)
		mid := (a.y + a.h + y) / 2
		c.put(`<path class="line thin" d="M%v %vC%v %v %v %v %v %v"/>`, from, a.y+a.h, from, mid, x, mid, x, y-7)
	}
	c.put(`<polygon class="head" points="%v,%v %v,%v %v,%v"/></g>`, x, y, x-4, y-8, x+4, y-8)
}

// chainRows puts each version in the row below the lowest of those that it superseded.
func chainRows(d ChainData) (rows [][]*versionBox, steps []succession, drawn int) {
	byID := map[string]*versionBox{}
	var all []*versionBox
	for _, v := range d.Versions {
		if byID[v.ID] == nil {
			k := &versionBox{Version: v}
			byID[v.ID] = k
			all = append(all, k)
		}
	}
	newer, older := map[*versionBox][]*versionBox{}, map[*versionBox]int{}
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
		steps[i].back = circles[[2]*versionBox{s.older, s.newer}]
	}
	// Without cycles, moving versions down ends after at most as many rounds as there are
	// versions.
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
	slices.SortStableFunc(all, func(a, b *versionBox) int { return a.row - b.row })
	if len(all) > maxLinks {
		all = all[len(all)-maxLinks:]
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

// circles finds the supersessions that close a cycle. It searches depth first from the
// oldest version; an edge to a version on the current path closes a cycle.
func circles(all []*versionBox, newer map[*versionBox][]*versionBox, older map[*versionBox]int) map[[2]*versionBox]bool {
	const onTheWay, done = 1, 2
	state, found := map[*versionBox]int{}, map[[2]*versionBox]bool{}
	var visit func(k *versionBox)
	visit = func(k *versionBox) {
		state[k] = onTheWay
		for _, n := range newer[k] {
			switch state[n] {
			case onTheWay:
				found[[2]*versionBox{k, n}] = true
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
