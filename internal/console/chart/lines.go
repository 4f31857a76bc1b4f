package chart

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
)

// Series is one line. NaN and infinite values are gaps.
type Series struct {
	Name   string
	Values []float64
	Tone   Tone
}

// LinesData holds values over time.
type LinesData struct {
	Title  string
	Unit   string
	Log    bool // use a logarithmic scale; values <= 0 are gaps
	Times  []time.Time
	Series []Series
}

// Lines draws the series, with their names at the right end. The marks of each series
// have a shape of their own. Every value has a tooltip, so aggregate data with more
// than some hundred values.
func Lines(d LinesData) template.HTML {
	f := figure{kind: "chart-lines", title: d.Title}
	low, high := math.Inf(1), math.Inf(-1)
	var says []string
	for _, s := range d.Series {
		last := math.NaN()
		for i := range min(len(s.Values), len(d.Times)) {
			if v, ok := d.at(s, i); ok {
				low, high, last = min(low, v), max(high, v), v
			}
		}
		says = append(says, clean(s.Name)+" ends at "+amount(last, d.Unit))
	}
	f.desc = strings.Join(says, ", ")
	scale := []float64{0, 1}
	switch {
	case low > high:
	case d.Log:
		scale = decades(low, high)
	default:
		scale = ticks(min(0, low), high, 4)
	}
	return f.draw(func(c *canvas, width float64) float64 {
		var list []string
		for _, s := range d.Series {
			list = append(list, s.Name)
		}
		room := names(list, width)
		r := frame{left: 30, right: width - room, top: 10, bottom: 190}
		for _, v := range scale {
			r.left = max(r.left, min(width*.25, widthOf(number(v), small)+8))
		}
		y := func(v float64) float64 {
			from, to := scale[0], scale[len(scale)-1]
			if d.Log {
				from, to, v = math.Log10(from), math.Log10(to), math.Log10(max(v, from))
			}
			return r.bottom - (v-from)/(to-from)*(r.bottom-r.top)
		}
		for _, v := range scale {
			r.level(c, y(v), number(v))
		}
		if d.Unit != "" {
			c.text(r.left+4, r.top+11, "start", "soft halo", d.Unit, 80)
		}
		x := d.axis(c, r)
		var ends []float64
		var drawn []string
		var classes []raw
		for i, s := range d.Series {
			if end, ok := d.draw(c, r, i, s, x, y); ok {
				ends, drawn, classes = append(ends, end), append(drawn, s.Name), append(classes, s.Tone.class(i))
			}
		}
		r.column(c, drawn, ends, classes, room)
		return r.bottom + 24
	})
}

// at returns a series' i-th value, and whether it can be drawn.
func (d LinesData) at(s Series, i int) (float64, bool) {
	v := s.Values[i]
	if math.IsNaN(v) || math.IsInf(v, 0) || d.Log && v <= 0 {
		return 0, false
	}
	return bounded(v), true
}

// axis draws the horizontal axis, and returns a function for the x coordinate of the
// i-th position.
func (d LinesData) axis(c *canvas, r frame) func(int) float64 {
	if len(d.Times) == 0 {
		c.line(r.left, r.bottom, r.right, r.bottom, "axis")
		return nil
	}
	const inset = 6
	from, to := slices.MinFunc(d.Times, time.Time.Compare), slices.MaxFunc(d.Times, time.Time.Compare)
	x := func(t time.Time) float64 { return r.left + inset + position(t, from, to)*(r.right-r.left-2*inset) }
	r.moments(c, from, to, x)
	return func(i int) float64 { return x(d.Times[i]) }
}

// draw draws one series and returns the height of its end; ok is false if it has no
// values.
func (d LinesData) draw(c *canvas, r frame, i int, s Series, x func(int) float64, y func(float64) float64) (end float64, ok bool) {
	c.put(`<g class="%v">`, s.Tone.class(i))
	count := min(len(s.Values), len(d.Times))
	path := &canvas{}
	pen := raw("M")
	for k := range count {
		v, there := d.at(s, k)
		if !there {
			pen = "M"
			continue
		}
		path.put("%v%v %v", pen, x(k), y(v))
		pen, end, ok = "L", y(v), true
	}
	if ok {
		c.put(`<path class="line" d="%v"/>`, path.raw())
	}
	// Marks this close would hide the line, so they are left out; the tooltips stay.
	crowded := count > 1 && (r.right-r.left)/float64(count) < 11
	for k := range count {
		v, there := d.at(s, k)
		if !there {
			continue
		}
		c.put(`<g><title>%v</title>`, tip(timeLabel(d.Times[k]), s.Name+" "+amount(v, d.Unit), ""))
		if crowded && k%max(1, count/8) != count/16 {
			c.put(`<circle class="hit" cx="%v" cy="%v" r="5"/>`, x(k), y(v))
		} else {
			c.shape(i, x(k), y(v), 3.25)
		}
		c.put(`</g>`)
	}
	c.put(`</g>`)
	return end, ok
}

// Table returns the data as a table.
func (d LinesData) Table() template.HTML {
	head := []string{""}
	for _, s := range d.Series {
		head = append(head, heading(s.Name, d.Unit))
	}
	return table(d.Title, 0, head, d.Times, func(i int, t time.Time) []string {
		row := []string{timeLabel(t)}
		for _, s := range d.Series {
			v := math.NaN()
			if i < len(s.Values) {
				v = s.Values[i]
			}
			row = append(row, number(v))
		}
		return row
	})
}
