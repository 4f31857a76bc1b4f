package chart

import (
	"cmp"
	_ "embed" // the style sheet
	"html/template"
	"slices"
	"time"
)

// frame is the plotting area of a chart with axes: y grows downwards from top to bottom.
type frame struct {
	left, right, top, bottom float64
}

// column writes names at the right edge of a chart, each at its own height.
func (r frame) column(c *canvas, names []string, places []float64, classes []raw, width float64) {
	order, sorted := ascending(places), slices.Sorted(slices.Values(places))
	spread(sorted, 14, r.top+4, r.bottom)
	for k, i := range order {
		y := sorted[k]
		c.put(`<g class="%v"><polyline class="line thin" points="%v,%v %v,%v %v,%v"/></g>`, classes[i], r.right+2, places[i], r.right+8, y, r.right+13, y)
		c.text(r.right+17, y+4, "start", "soft", names[i], width-17)
	}
}

// ascending returns the indices of values in ascending order; equal values keep their
// order.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// names returns the width that names need at the right edge.
func names(list []string, width float64) float64 {
	most := 0.0
	for _, s := range list {
		most = max(most, widthOf(clean(s), small))
	}
	return min(most+18, width*.28)
}

// level draws a line of the vertical scale with its value.
func (r frame) level(c *canvas, y float64, label string) {
	c.line(r.left, y, r.right, y, "grid")
	c.text(r.left-6, y+4, "end", "soft", label, r.left-6)
}

// timeLabel formats a time of the axis, in UTC.
func timeLabel(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04") }

// moments draws the time axis. x returns the position of a time.
func (r frame) moments(c *canvas, from, to time.Time, x func(time.Time) float64) {
	c.line(r.left, r.bottom, r.right, r.bottom, "axis")
	free := 0.0
	for _, t := range timeTicks(from.UTC(), to, int((r.right-r.left)/58)) {
		at := x(t.at)
		c.line(at, r.bottom, at, r.bottom+4, "axis")
		half := widthOf(t.label, small) / 2
		place := max(half, min(at, r.right-half))
		if place-half < free {
			continue
		}
		free = place + half + 6
		c.text(place, r.bottom+17, "middle", "soft", t.label, 2*half+1)
	}
}

// position returns the position of a time in a span, from 0 to 1. It computes in seconds,
// because a span of centuries overflows a time.Duration.
func position(t, from, to time.Time) float64 {
	span := float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
	if span <= 0 {
		return 0
	}
	at := float64(t.Unix()-from.Unix()) + float64(t.Nanosecond()-from.Nanosecond())/1e9
	return max(0, min(1, at/span))
}

// table returns a chart's data as a table, with a row for each item. The first words columns
// hold text, the first of them the row's name; the others hold numbers.
func table[T any](title string, words int, head []string, items []T, row func(int, T) []string) template.HTML {
	c := &canvas{}
	c.put(`<div class="chart-data"><table>`)
	if title != "" {
		c.put(`<caption>%v</caption>`, title)
	}
	class := func(i int) raw {
		if i > words {
			return ` class="num"`
		}
		return ""
	}
	c.put(`<thead><tr>`)
	for i, s := range head {
		c.put(`<th scope="col"%v>%v</th>`, class(i), s)
	}
	c.put(`</tr></thead><tbody>`)
	for n, item := range items {
		c.put(`<tr>`)
		for i, s := range row(n, item) {
			if i == 0 {
				c.put(`<th scope="row">%v</th>`, s)
				continue
			}
			c.put(`<td%v>%v</td>`, class(i), s)
		}
		c.put(`</tr>`)
	}
	c.put(`</tbody></table></div>`)
	return template.HTML(c.b.String())
}

// CSS is the style sheet of the figures. It defines the colours as custom properties of
// :root. Otherwise it only styles .chart, .chart-list and .chart-data.
//
//go:embed chart.css
var CSS string
