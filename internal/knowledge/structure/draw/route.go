package draw

import (
	"cmp"
	"slices"
)

type point struct{ x, y int }

// curve is a line as it is drawn: a cubic Bézier curve of four points, or several of
// them, each beginning where the one before ends.
type curve struct {
	points []point
	label  point // the middle of its label
}

// end is where a line leaves or reaches a box.
type end struct {
	line, which int // which is 0 where it leaves
	far         int // the middle of the other box
}

// meeting is a side of a box: -1 is its left.
type meeting struct{ box, side int }

// route draws lines between boxes: from side to side where they are in neighbouring
// columns, as an arc beside a column within one, and around the root otherwise.
func route(p *picture, boxes []box) []curve {
	meets := map[meeting][]end{}
	for i := range p.lines {
		from, to := p.lines[i].from, p.lines[i].to
		a, b := facing(&boxes[from], &boxes[to])
		meets[meeting{from, a}] = append(meets[meeting{from, a}], end{i, 0, boxes[to].middle()})
		meets[meeting{to, b}] = append(meets[meeting{to, b}], end{i, 1, boxes[from].middle()})
	}
	ends := make([][2]point, len(p.lines))
	for at, all := range meets {
		slices.SortFunc(all, func(a, b end) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.line, b.line)) })
		b := &boxes[at.box]
		x := b.x
		if at.side > 0 {
			x = b.right()
		}
		for k, e := range all {
			ends[e.line][e.which] = point{x, b.y + b.h*(k+1)/(len(all)+1)}
		}
	}
	out := make([]curve, len(p.lines))
	labelled := map[int]int{} // lines that have their label beside a box
	above := 0
	for i := range p.lines {
		from, to := &boxes[p.lines[i].from], &boxes[p.lines[i].to]
		a, b := ends[i][0], ends[i][1]
		switch abs(from.column - to.column) {
		case 1:
			outer := p.lines[i].to
			if abs(from.column) > abs(to.column) {
				outer = p.lines[i].from
			}
			out[i] = across(a, b, outer == p.lines[i].from, labelled[outer])
			labelled[outer]++
		case 0:
			out[i] = beyond(a, b, sign(from.column))
		default:
			out[i] = around(a, b, boxes[0].y-rowGap-above*(smallSize+6))
			above++
		}
	}
	return out
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// facing tells at which sides a line leaves one box and reaches the other.
func facing(from, to *box) (leaves, reaches int) {
	switch {
	case from.column < to.column:
		return 1, -1
	case from.column > to.column:
		return -1, 1
	}
	return sign(from.column), sign(from.column)
}

// turns are eighths of the way to the outer box at which labels of its lines are put:
// near it, where lines are apart, then far from each other.
var turns = []int{6, 2, 4, 7, 3, 5}

// across is a line between neighbouring columns, the kth of its outer box.
func across(a, b point, outerFirst bool, k int) curve {
	half := (b.x - a.x) / 2
	c := curve{points: []point{a, {a.x + half, a.y}, {b.x - half, b.y}, b}}
	t := turns[k%len(turns)]
	if outerFirst {
		t = 8 - t
	}
	c.label = on(c.points, t)
	return c
}

// beyond is an arc on the outer side of a column.
func beyond(a, b point, side int) curve {
	out := side * min(arc+abs(a.y-b.y)/6, columnGap)
	c := curve{points: []point{a, {a.x + out, a.y}, {b.x + out, b.y}, b}}
	c.label = on(c.points, 4)
	return c
}

// around is a line that passes at a height.
func around(a, b point, y int) curve {
	mid := point{(a.x + b.x) / 2, y}
	quarter := (b.x - a.x) / 4
	return curve{label: mid, points: []point{a, {a.x + quarter, a.y}, {mid.x - quarter, y}, mid, {mid.x + quarter, y}, {b.x - quarter, b.y}, b}}
}

// on is the point of a cubic Bézier curve at so many eighths of its way.
func on(p []point, t int) point {
	u := 8 - t
	w := [4]int{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t}
	var x, y int
	for i, k := range w {
		x, y = x+k*p[i].x, y+k*p[i].y
	}
	return point{x / 512, y / 512}
}
