package draw

import (
	"cmp"
	"maps"
	"slices"
)

// Sizes, in pixels.
const (
	nameSize  = 14 // size by which names are measured; they are drawn one pixel smaller and bold
	smallSize = 11
	boxHeight = 44
	boxLeast  = 96
	boxPad    = 12
	rowGap    = 20
	columnGap = 96 // in addition to the width of the longest label
	arc       = 44 // minimum depth of an arc between two boxes of a column
	margin    = 24
)

// box is the position of a node.
type box struct {
	x, y, w, h int // x and y of the upper left corner, width and height
	column     int // 0 is the root's column; < 0 is to the left
}

func (b *box) right() int  { return b.x + b.w }
func (b *box) bottom() int { return b.y + b.h }
func (b *box) middle() int { return b.y + b.h/2 }

// layout holds all positions. The view begins at (x, y) and contains everything.
type layout struct {
	x, y, w, h int
	boxes      []box   // in the order of picture.nodes
	curves     []curve // in the order of picture.lines
}

func layOut(p *picture) *layout {
	l := &layout{boxes: make([]box, len(p.nodes))}
	columns := arrange(p, l.boxes)
	for i := range p.nodes {
		l.boxes[i].w, l.boxes[i].h = boxWidth(p, i), boxHeight
	}
	gap := columnGap
	for i := range p.lines {
		gap = max(gap, columnGap+pixelWidth(p.lines[i].label, smallSize))
	}
	l.place(columns, gap)
	l.curves = route(p, l.boxes)
	l.bound(p)
	return l
}

func boxWidth(p *picture, i int) int {
	n := &p.nodes[i]
	top := pixelWidth(named(n), nameSize)
	if n.Constraints > 0 {
		top += boxPad + p.badgeWidth(n.Constraints)
	}
	return max(boxLeast, 2*boxPad+max(top, pixelWidth(p.typed(n), smallSize)))
}

func (p *picture) badge(n int) string   { return plural(n, p.words.Badge) }
func (p *picture) badgeWidth(n int) int { return pixelWidth(p.badge(n), smallSize) + 12 }

// arrange sets the column of every node, and returns the nodes of each column from top to
// bottom. There is a column on each side for each distance, which may be empty.
func arrange(p *picture, boxes []box) map[int][]int {
	columns := map[int][]int{}
	if len(boxes) == 0 {
		return columns
	}
	columns[0] = []int{0}
	rings := map[int][]int{}
	for i := 1; i < len(boxes); i++ {
		d := max(p.nodes[i].Depth, 1)
		rings[d] = append(rings[d], i)
	}
	inner := []int{0}
	for at, d := range slices.Sorted(maps.Keys(rings)) {
		sides := beside(p, boxes, inner, rings[d], at == 0)
		inner = nil
		for _, side := range []int{-1, 1} {
			column := side * (at + 1)
			for _, i := range sides[side] {
				boxes[i].column = column
			}
			columns[column] = sides[side]
			inner = append(inner, sides[side]...)
		}
	}
	return columns
}

// beside divides nodes between the left and the right side. On each side they have the order
// of the nodes that they are connected to.
func beside(p *picture, boxes []box, inner, nodes []int, first bool) map[int][]int {
	type hung struct{ node, parent, side int }
	var all []hung
	for _, n := range nodes {
		h := hung{n, len(inner), 1}
		best := -1
		for i := range p.lines {
			l := &p.lines[i]
			other, side := l.to, -1 // n depends on other
			if l.to == n {
				other, side = l.from, 1
			} else if l.from != n {
				continue
			}
			at := slices.Index(inner, other)
			if at < 0 || l.strength < best || l.strength == best && side < h.side {
				continue
			}
			best, h.parent, h.side = l.strength, at, side
			if !first {
				h.side = sign(boxes[other].column)
			}
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b hung) int { return cmp.Compare(a.parent, b.parent) })
	out := map[int][]int{}
	for _, h := range all {
		out[h.side] = append(out[h.side], h.node)
	}
	if first {
		balance(out)
	}
	return out
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// maxSideHeight is the maximum number of boxes on a side before some are moved to the other
// side.
const maxSideHeight = 12

func balance(sides map[int][]int) {
	for _, s := range []int{-1, 1} {
		for len(sides[s]) > maxSideHeight && len(sides[s]) > len(sides[-s])+1 {
			last := len(sides[s]) - 1
			sides[-s] = append(sides[-s], sides[s][last])
			sides[s] = sides[s][:last]
		}
	}
}

// place sets the positions of columns and boxes around the root, which is at the origin.
func (l *layout) place(columns map[int][]int, gap int) {
	if len(l.boxes) == 0 {
		return
	}
	root := &l.boxes[0]
	for _, side := range []int{1, -1} {
		edge := (root.w + 1) / 2
		for d := 1; d <= len(columns)/2; d++ {
			if len(columns[side*d]) == 0 {
				continue
			}
			widest := 0
			for _, i := range columns[side*d] {
				widest = max(widest, l.boxes[i].w)
			}
			for _, i := range columns[side*d] {
				b := &l.boxes[i]
				b.x = edge + gap
				if side < 0 {
					b.x = -edge - gap - b.w
				}
			}
			edge += gap + widest
		}
	}
	root.x = -root.w / 2
	for _, nodes := range columns {
		y := -(len(nodes)*(boxHeight+rowGap) - rowGap) / 2
		for _, i := range nodes {
			l.boxes[i].y = y
			y += boxHeight + rowGap
		}
	}
}

// bound computes the view.
func (l *layout) bound(p *picture) {
	left, top, right, bottom := 0, 0, pixelWidth(p.leftOutText(), smallSize), 0
	for i := range l.boxes {
		b := &l.boxes[i]
		left, top, right, bottom = min(left, b.x), min(top, b.y), max(right, b.right()), max(bottom, b.bottom())
	}
	for i := range l.curves {
		c := &l.curves[i]
		half := pixelWidth(p.lines[i].label, smallSize)/2 + 2
		for _, q := range c.points {
			left, top, right, bottom = min(left, q.x), min(top, q.y), max(right, q.x), max(bottom, q.y)
		}
		left, right = min(left, c.label.x-half), max(right, c.label.x+half)
		top, bottom = min(top, c.label.y-smallSize), max(bottom, c.label.y+smallSize)
	}
	if p.left > 0 {
		bottom += 2 * smallSize
	}
	l.x, l.y = left-margin, top-margin
	l.w, l.h = right-left+2*margin, bottom-top+2*margin
}

type point struct{ x, y int }

// curve is a drawn line: a cubic Bézier curve of four points, or several of them, each
// starting at the end of the one before.
type curve struct {
	points []point
	label  point // center of the label
}

// end is one end of a line at a box.
type end struct {
	line, which int // which is 0 for the start of the line and 1 for its end
	far         int // y of the middle of the other box
}

// boxSide is a side of a box; side is -1 for the left one and 1 for the right one.
type boxSide struct{ box, side int }

// route computes the lines between boxes: from side to side between neighbouring columns, as
// an arc beside a column within one, and around the root otherwise.
func route(p *picture, boxes []box) []curve {
	meets := map[boxSide][]end{}
	for i := range p.lines {
		from, to := p.lines[i].from, p.lines[i].to
		a, b := sidesFor(&boxes[from], &boxes[to])
		meets[boxSide{from, a}] = append(meets[boxSide{from, a}], end{i, 0, boxes[to].middle()})
		meets[boxSide{to, b}] = append(meets[boxSide{to, b}], end{i, 1, boxes[from].middle()})
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
	labelled := map[int]int{} // by box: number of lines whose label is near it
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
			out[i] = straightLine(a, b, outer == p.lines[i].from, labelled[outer])
			labelled[outer]++
		case 0:
			out[i] = outerArc(a, b, sign(from.column))
		default:
			out[i] = aroundRoot(a, b, boxes[0].y-rowGap-above*(smallSize+6))
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

// sidesFor returns the sides where a line leaves one box and reaches the other.
func sidesFor(from, to *box) (leaves, reaches int) {
	switch {
	case from.column < to.column:
		return 1, -1
	case from.column > to.column:
		return -1, 1
	}
	return sign(from.column), sign(from.column)
}

// labelPositions are positions of labels on the way to the outer box, in eighths. The first is
// near that box, where lines are apart; the next ones are far from each other.
var labelPositions = []int{6, 2, 4, 7, 3, 5}

// straightLine returns a line between neighbouring columns. k is its number at its outer box.
func straightLine(a, b point, outerFirst bool, k int) curve {
	half := (b.x - a.x) / 2
	c := curve{points: []point{a, {a.x + half, a.y}, {b.x - half, b.y}, b}}
	t := labelPositions[k%len(labelPositions)]
	if outerFirst {
		t = 8 - t
	}
	c.label = pointAt(c.points, t)
	return c
}

// outerArc returns an arc on the outer side of a column.
func outerArc(a, b point, side int) curve {
	out := side * min(arc+abs(a.y-b.y)/6, columnGap)
	c := curve{points: []point{a, {a.x + out, a.y}, {b.x + out, b.y}, b}}
	c.label = pointAt(c.points, 4)
	return c
}

// aroundRoot returns a line that passes the root at height y.
func aroundRoot(a, b point, y int) curve {
	mid := point{(a.x + b.x) / 2, y}
	quarter := (b.x - a.x) / 4
	return curve{label: mid, points: []point{a, {a.x + quarter, a.y}, {mid.x - quarter, y}, mid, {mid.x + quarter, y}, {b.x - quarter, b.y}, b}}
}

// pointAt returns the point of a cubic Bézier curve at t eighths of its length.
func pointAt(p []point, t int) point {
	u := 8 - t
	w := [4]int{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t}
	var x, y int
	for i, k := range w {
		x, y = x+k*p[i].x, y+k*p[i].y
	}
	return point{x / 512, y / 512}
}
