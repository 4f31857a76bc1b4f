package chart

// measure gives every place its rectangle. Columns stand in the middle of the height.
func (l *layout) measure() {
	heights := make([]float64, len(l.columns))
	for k, col := range l.columns {
		for i, p := range col {
			if i > 0 {
				heights[k] += gapBetween(col[i-1], p)
			}
			heights[k] += p.high()
		}
		l.height = max(l.height, heights[k]+2*margin)
	}
	// An edge that stays in its column bulges out to the right of it.
	l.width = float64(max(1, len(l.columns)))*(nodeWidth+columnGap) - columnGap + 2*margin
	for _, e := range l.edges {
		if e.from.column == e.to.column && e.from.column == len(l.columns)-1 {
			l.width = float64(len(l.columns))*(nodeWidth+columnGap) - columnGap/2 + 2*margin
		}
	}
	for k, col := range l.columns {
		y := (l.height - heights[k]) / 2
		for i, p := range col {
			if i > 0 {
				y += gapBetween(col[i-1], p)
			}
			p.box = box{x: margin + float64(k)*(nodeWidth+columnGap), y: y, w: nodeWidth, h: p.high()}
			y += p.high()
		}
	}
	l.nodes = l.nodes[:0:0]
	for _, col := range l.columns {
		for _, p := range col {
			if !p.pass {
				l.nodes = append(l.nodes, p)
			}
		}
	}
	l.height = max(l.height, 1)
}

func (p *place) high() float64 {
	if p.pass {
		return passHeight
	}
	return nodeHeight
}

// gapBetween is less where edges pass beside one another.
func gapBetween(a, b *place) float64 {
	if a.pass && b.pass {
		return 2
	}
	return nodeGap
}

// route finds the points of an edge: from a side of its first box, through its free
// ways, to a side of the other. Ends share a side's height in the order of where
// they come from.
func (l *layout) route(e *link) {
	e.heading = 1
	from, to := e.from, e.to
	if from.column == to.column {
		e.around, e.heading = true, -1
		lift := 0.0
		if from == to {
			lift = 9
		}
		e.bulge = min(columnGap*.55, 26+6*float64(max(from.index-to.index, to.index-from.index)))
		e.points = []point{{from.x + from.w, from.y + from.h/2 - lift}, {to.x + to.w, to.y + to.h/2 + max(lift, 4)}}
		return
	}
	aim := func(i int) float64 { // the height of the i-th stop between
		return e.passes[i].y + e.passes[i].h/2
	}
	toY, fromY := to.y+to.h/2, from.y+from.h/2
	if len(e.passes) > 0 {
		toY, fromY = aim(0), aim(len(e.passes)-1)
	}
	start, end := point{from.x + from.w, port(from, toY, l.height)}, point{to.x, port(to, fromY, l.height)}
	if to.column < from.column {
		e.heading = -1
		start.x, end.x = from.x, to.x+to.w
	}
	e.points = append(e.points, start)
	for i, p := range e.passes {
		y := aim(i)
		left, right := point{p.x, y}, point{p.x + p.w, y}
		if e.heading < 0 {
			left, right = right, left
		}
		e.points = append(e.points, left, right)
	}
	e.points = append(e.points, end)
}

// port is where an edge meets the side of a box: higher if its other end is higher, so
// that the edges of one side do not all meet in one point.
func port(p *place, other, height float64) float64 {
	mid := p.y + p.h/2
	return mid + max(-1, min(1, 3*(other-mid)/max(1, height)))*(p.h/2-8)
}
