package chart

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Series is one line. NaN and infinities are gaps.
type Series struct {
	Name   string
	Values []float64
	Tone   Tone
}

// LinesData is how values go over time, or over categories where there are no times.
type LinesData struct {
	Title      string
	Unit       string
	Log        bool // a logarithmic scale; values up to 0 are gaps on it
	Times      []time.Time
	Location   *time.Location // of the axis; nil for UTC
	Categories []string
	Series     []Series
}

// Lines draws the series with their names at the right end. Each has marks of its own
// shape. Every value is a tooltip, so fold what has more than some hundred places.
func Lines(d LinesData) template.HTML {
	f := figure{kind: "chart-lines", title: d.Title}
	low, high := math.Inf(1), math.Inf(-1)
	var says []string
	for _, s := range d.Series {
		last := math.NaN()
		for i := range min(len(s.Values), d.len()) {
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
		list := make([]string, len(d.Series))
		for i, s := range d.Series {
			list[i] = s.Name
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

// len is the number of places along the axis.
func (d LinesData) len() int {
	if len(d.Times) > 0 {
		return len(d.Times)
	}
	return len(d.Categories)
}

// at is a series' value at a place, if there is one that can be drawn.
func (d LinesData) at(s Series, i int) (float64, bool) {
	v := s.Values[i]
	if math.IsNaN(v) || math.IsInf(v, 0) || d.Log && v <= 0 {
		return 0, false
	}
	return bounded(v), true
}

// axis draws what stands below, and returns where the i-th place is.
func (d LinesData) axis(c *canvas, r frame) func(int) float64 {
	const inset = 6
	if len(d.Times) > 0 {
		from, to := d.Times[0], d.Times[0]
		for _, t := range d.Times {
			if t.Before(from) {
				from = t
			}
			if t.After(to) {
				to = t
			}
		}
		x := func(t time.Time) float64 { return r.left + inset + along(t, from, to)*(r.right-r.left-2*inset) }
		r.moments(c, from, to, d.Location, x)
		return func(i int) float64 { return x(d.Times[i]) }
	}
	c.line(r.left, r.bottom, r.right, r.bottom, "axis")
	step := (r.right - r.left) / float64(max(1, len(d.Categories)))
	x := func(i int) float64 { return r.left + (float64(i)+.5)*step }
	each := max(1, int(math.Ceil(44/step)))
	for i := 0; i < len(d.Categories); i += each {
		c.text(x(i), r.bottom+17, "middle", "soft", d.Categories[i], step*float64(each)-4)
	}
	return x
}

// draw draws one series and returns where it ends.
func (d LinesData) draw(c *canvas, r frame, i int, s Series, x func(int) float64, y func(float64) float64) (end float64, ok bool) {
	c.put(`<g class="%v">`, s.Tone.class(i))
	count := min(len(s.Values), d.len())
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
	// Marks closer than this would hide the line; the tooltips stay.
	crowded := count > 1 && (r.right-r.left)/float64(count) < 11
	for k := range count {
		v, there := d.at(s, k)
		if !there {
			continue
		}
		c.put(`<g><title>%v</title>`, tip(d.place(k), s.Name+" "+amount(v, d.Unit), ""))
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

// place names a place of the axis.
func (d LinesData) place(i int) string {
	if len(d.Times) == 0 {
		return d.Categories[i]
	}
	loc := d.Location
	if loc == nil {
		loc = time.UTC
	}
	return d.Times[i].In(loc).Format("2 Jan 2006 15:04")
}

// Table is the data to read.
func (d LinesData) Table() template.HTML {
	head := []string{""}
	for _, s := range d.Series {
		head = append(head, heading(s.Name, d.Unit))
	}
	var rows [][]string
	for i := range d.len() {
		row := []string{d.place(i)}
		for _, s := range d.Series {
			v := math.NaN()
			if i < len(s.Values) {
				v = s.Values[i]
			}
			row = append(row, number(v))
		}
		rows = append(rows, row)
	}
	return table(d.Title, 0, head, rows)
}

// SparkData is a row of values, oldest first. NaN and infinities are gaps.
type SparkData struct {
	Label  string // what it is, for those who can't see it
	Unit   string
	Values []float64
	Tone   Tone
}

// Spark draws a line as small as a word, to stand in a text or a table. Its last value is
// marked; the scale is its own.
func Spark(d SparkData) template.HTML {
	low, high, last := math.Inf(1), math.Inf(-1), math.NaN()
	for _, v := range d.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			last = v
			low, high = min(low, bounded(v)), max(high, bounded(v))
		}
	}
	const width, height, inset = 120.0, 28.0, 4.0
	c := &canvas{}
	c.put(`<span class="chart chart-spark"><svg viewBox="0 0 %v %v" width="%v" height="%v" role="img" aria-label="%v"><g class="%v">`,
		width, height, width, height, tip(d.Label, "last "+amount(last, d.Unit), ""), d.Tone.class(0))
	if low <= high {
		y := func(v float64) float64 {
			if low == high {
				return height / 2
			}
			return height - inset - (bounded(v)-low)/(high-low)*(height-2*inset)
		}
		path, end := &canvas{}, 0.0
		pen := raw("M")
		for i, v := range d.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				pen = "M"
				continue
			}
			end = inset + float64(i)/float64(max(1, len(d.Values)-1))*(width-2*inset)
			path.put("%v%v %v", pen, end, y(v))
			pen = "L"
		}
		c.put(`<path class="line thin" d="%v"/><circle class="area" cx="%v" cy="%v" r="2.5"/>`, path.raw(), end, y(last))
	}
	c.put(`</g></svg></span>`)
	return template.HTML(c.b.String())
}

// Table is the data to read.
func (d SparkData) Table() template.HTML {
	var rows [][]string
	for i, v := range d.Values {
		rows = append(rows, []string{strconv.Itoa(i + 1), number(v)})
	}
	return table(d.Label, 0, []string{"", heading("value", d.Unit)}, rows)
}

// ticks are round values that cover a range, about as many as wanted.
func ticks(low, high float64, want int) []float64 {
	low, high = bounded(low), bounded(high)
	if high <= low {
		high = low + max(1, math.Abs(low)*.1)
	}
	raw := (high - low) / float64(max(1, want))
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= raw*.999 {
			step = m * unit
			break
		}
	}
	var out []float64
	for i := math.Floor(low/step + 1e-9); len(out) < 4*want+4; i++ {
		v := i * step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		if out = append(out, v); v >= high-step*1e-9 {
			break
		}
	}
	return out
}

// decades are the values of a logarithmic scale that covers a range above 0: 1, 2 and 5
// of each power of ten where there is room for them, else the powers alone.
func decades(low, high float64) []float64 {
	low = max(low, 1e-6)
	high = max(high, low)
	from, to := math.Floor(math.Log10(low)+1e-9), math.Ceil(math.Log10(high)-1e-9)
	var out []float64
	if to-from <= 4 {
		for e := from; e <= to; e++ {
			for _, m := range []float64{1, 2, 5} {
				out = append(out, m*math.Pow(10, e))
			}
		}
		for len(out) > 2 && out[1] <= low*(1+1e-9) {
			out = out[1:]
		}
		for len(out) > 2 && out[len(out)-2] >= high*(1-1e-9) {
			out = out[:len(out)-1]
		}
		return out
	}
	each := max(1, math.Ceil((to-from)/7))
	for e := from; ; e += each {
		out = append(out, math.Pow(10, e))
		if e >= to {
			return out
		}
	}
}

// tick is a place on an axis of time.
type tick struct {
	at    time.Time
	label string
}

// timeTicks are round moments of a location within a range, at most as many as wanted.
// The first of a day says the day.
func timeTicks(from, to time.Time, loc *time.Location, want int) []tick {
	if loc == nil {
		loc = time.UTC
	}
	want = max(2, want)
	span := to.Sub(from) // saturates
	if span <= 0 {
		return []tick{{from, from.In(loc).Format("2 Jan 15:04")}}
	}
	day := 24 * time.Hour
	for _, step := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if span/step <= time.Duration(want) {
			return clockTicks(from.In(loc), to, step)
		}
	}
	days := 1
	for _, n := range []int{1, 2, 7, 14} {
		if days = n; span/(day*time.Duration(n)) <= time.Duration(want) {
			return dayTicks(from.In(loc), to, func(t time.Time) time.Time { return t.AddDate(0, 0, days) }, "2 Jan")
		}
	}
	months := 1
	for _, n := range []int{1, 3, 6, 12, 60, 120, 600, 1200} {
		if months = n; span/(30*day*time.Duration(n)) <= time.Duration(want) {
			break
		}
	}
	t := from.In(loc)
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, loc)
	if months >= 12 {
		first = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, loc)
	}
	return dayTicks(first, to, func(t time.Time) time.Time { return t.AddDate(0, months, 0) }, "Jan 2006", from)
}

// clockTicks are moments of the clock, counted from midnight so that they are round in
// the location whatever its offset.
func clockTicks(from, to time.Time, step time.Duration) (out []tick) {
	midnight := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	layout := "15:04"
	if step < time.Minute {
		layout = "15:04:05"
	}
	day := -1
	for t := midnight.Add(from.Sub(midnight).Truncate(step)); !t.After(to) && len(out) < 50; t = t.Add(step) {
		if t.Before(from) {
			continue
		}
		label := t.Format(layout)
		if t.YearDay() != day && (day >= 0 || len(out) == 0) {
			day = t.YearDay()
			if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
				label = t.Format("2 Jan")
			} else {
				label = t.Format("2 Jan ") + label
			}
		}
		out = append(out, tick{t, label})
	}
	return out
}

// dayTicks are midnights a step apart, not before the earliest.
func dayTicks(from, to time.Time, next func(time.Time) time.Time, layout string, earliest ...time.Time) (out []tick) {
	after := from
	if len(earliest) > 0 {
		after = earliest[0]
	}
	t := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	for ; !t.After(to) && len(out) < 50; t = next(t) {
		if !t.Before(after) {
			out = append(out, tick{t, t.Format(layout)})
		}
	}
	return out
}

// spread moves labels apart that want places between low and high, at least a distance
// from one another if there is room, and in the order that they have. It changes what
// it is given.
func spread(places []float64, distance, low, high float64) {
	distance = min(distance, (high-low)/float64(max(1, len(places)-1)))
	for i := range places {
		places[i] = max(places[i], low+float64(i)*distance)
		if i > 0 {
			places[i] = max(places[i], places[i-1]+distance)
		}
	}
	for i := len(places) - 1; i >= 0; i-- {
		places[i] = min(places[i], high-float64(len(places)-1-i)*distance)
	}
}

// frame is the room of a chart with axes: y grows downwards from top to bottom.
type frame struct {
	left, right, top, bottom float64
}

// column is the names beside a chart's right edge, each at its own height.
func (r frame) column(c *canvas, names []string, places []float64, classes []raw, width float64) {
	wanted := append([]float64(nil), places...)
	order := ascending(wanted)
	sorted := make([]float64, len(order))
	for k, i := range order {
		sorted[k] = wanted[i]
	}
	spread(sorted, 14, r.top+4, r.bottom)
	for k, i := range order {
		y := sorted[k]
		c.put(`<g class="%v"><polyline class="line thin" points="%v,%v %v,%v %v,%v"/></g>`, classes[i], r.right+2, wanted[i], r.right+8, y, r.right+13, y)
		c.text(r.right+17, y+4, "start", "soft", names[i], width-17)
	}
}

// ascending is the order of values, equal ones as they come.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
		for k := i; k > 0 && values[order[k]] < values[order[k-1]]; k-- {
			order[k], order[k-1] = order[k-1], order[k]
		}
	}
	return order
}

// names is the room for names at the right edge.
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

// moments draws the axis of time. The place of a moment is asked of x.
func (r frame) moments(c *canvas, from, to time.Time, loc *time.Location, x func(time.Time) float64) {
	c.line(r.left, r.bottom, r.right, r.bottom, "axis")
	free := 0.0
	for _, t := range timeTicks(from, to, loc, int((r.right-r.left)/58)) {
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

// along is the place of a moment in a span, from 0 to 1. Spans of centuries do not fit a
// time.Duration, so it reckons in seconds.
func along(t, from, to time.Time) float64 {
	span := float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
	if span <= 0 {
		return 0
	}
	at := float64(t.Unix()-from.Unix()) + float64(t.Nanosecond()-from.Nanosecond())/1e9
	return max(0, min(1, at/span))
}
