package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Bar is one row of [Bars].
type Bar struct {
	Label string
	Value float64
	Href  string // a path of this site; "" for no link
}

// BarsData is a list of amounts, drawn in the order given.
type BarsData struct {
	Title string
	Unit  string
	Bars  []Bar
}

// Bars draws horizontal bars, one in each row, with a common zero. A negative value has no bar.
func Bars(d BarsData) template.HTML {
	high := 0.0
	f := figure{kind: "chart-bars", title: d.Title, desc: plural(len(d.Bars), "bar", "bars")}
	for i, b := range d.Bars {
		if i == 0 || part(b.Value) > high {
			f.desc = fmt.Sprintf("%s, most: %s %s", plural(len(d.Bars), "bar", "bars"), clean(b.Label), amount(b.Value, d.Unit))
		}
		high = max(high, part(b.Value))
		f.links = f.links || local(b.Href)
	}
	high = cmp.Or(high, 1)
	return f.draw(func(c *canvas, width float64) float64 {
		const row, thick = 26.0, 12.0
		names, values := 0.0, 0.0
		for _, b := range d.Bars {
			names = max(names, widthOf(clean(b.Label), large))
			values = max(values, widthOf(amount(b.Value, d.Unit), large))
		}
		names, values = min(names, width*.36)+10, min(values, width*.3)+10
		room := width - values - names
		for i, b := range d.Bars {
			y, long := float64(i)*row, part(b.Value)/high*room
			closing := c.open(b.Href, tip(b.Label, amount(b.Value, d.Unit), ""), Tone("").class(0))
			c.rect(0, y, width, row, 0, "hit")
			c.text(0, y+17, "start", "label name", b.Label, names-8)
			c.rect(names, y+(row-thick)/2, room, thick, 3, "track")
			if long > 0 {
				long = max(long, 2) // so that it is visible
			}
			c.rect(names, y+(row-thick)/2, long, thick, min(3, long/2), "area")
			c.text(width, y+17, "end", "label", amount(b.Value, d.Unit), values)
			c.put(`%v`, closing)
		}
		return max(1, float64(len(d.Bars))*row)
	})
}

// heading returns the head of a column with its unit.
func heading(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// tip returns the text of a tooltip: a name, its value, and a note.
func tip(name, value, note string) string {
	s := name
	if value != "" {
		s += ": " + value
	}
	if note != "" {
		s += " – " + note
	}
	return s
}

// Interval is a value with its confidence interval. If Low and High equal Value or are
// NaN, no whisker is drawn.
type Interval struct {
	Value, Low, High float64
}

// Group is one setting or measure with a value for each name.
type Group struct {
	Label  string
	Values []Interval // in the order of the names; NaN for a missing one
}

// GroupsData compares several things side by side, in several settings.
type GroupsData struct {
	Title  string
	Unit   string
	Max    float64 // top of the scale, such as 1 for recall; 0 fits the values
	Names  []string
	Groups []Group
}

// Groups draws a column for each value, with a whisker for its interval. Groups that do
// not fit into one row continue in the next. The scale begins at zero; a negative value
// has no column.
func Groups(d GroupsData) template.HTML {
	f := figure{kind: "chart-groups", title: d.Title,
		desc: fmt.Sprintf("%s in %s", plural(len(d.Names), "column", "columns"), plural(len(d.Groups), "group", "groups"))}
	var entries []entry
	for k, name := range d.Names {
		entries = append(entries, entry{letter: letter(k), class: Tone("").class(k), name: name})
	}
	f.legend = legend(entries)
	high := bounded(d.Max)
	for _, g := range d.Groups {
		for k := range min(len(g.Values), len(d.Names)) {
			high = max(high, bounded(g.Values[k].Value), bounded(g.Values[k].High))
		}
	}
	if high <= 0 {
		high = 1
	}
	scale := ticks(0, high, 4)
	return f.draw(func(c *canvas, width float64) float64 {
		const panel, below = 150.0, 42.0
		left := 8 + widthOf(number(scale[len(scale)-1]), small)
		for _, v := range scale {
			left = max(left, min(width*.25, widthOf(number(v), small)+8))
		}
		room := width - left
		names := max(1, float64(len(d.Names)))
		least := names*15 + 16
		row := max(1, min(len(d.Groups), int(room/least)))
		rows := (len(d.Groups) + row - 1) / row
		row = max(1, (len(d.Groups)+max(1, rows)-1)/max(1, rows)) // spread evenly over the rows
		slot := min(room/float64(row), names*46+24)
		column := min(38, (slot-16)/names)
		for n := range rows {
			top := float64(n)*(panel+below) + 16
			r := frame{left: left, right: left + slot*float64(row), top: top, bottom: top + panel - 16}
			y := func(v float64) float64 {
				return r.bottom - max(0, bounded(v))/scale[len(scale)-1]*(r.bottom-r.top)
			}
			for _, v := range scale {
				r.level(c, y(v), number(v))
			}
			for i := n * row; i < min(len(d.Groups), (n+1)*row); i++ {
				from := left + float64(i-n*row)*slot
				d.group(c, d.Groups[i], from+(slot-column*names)/2, column, r.bottom, y)
				c.text(from+slot/2, r.bottom+32, "middle", "label", d.Groups[i].Label, slot-6)
			}
			c.line(r.left, r.bottom, r.right, r.bottom, "axis")
		}
		return max(1, float64(rows)*(panel+below))
	})
}

// group draws the columns of a group; x is the left edge of the first.
func (d GroupsData) group(c *canvas, g Group, x, column, bottom float64, y func(float64) float64) {
	for k, name := range d.Names {
		if k >= len(g.Values) || math.IsNaN(g.Values[k].Value) {
			x += column
			continue
		}
		v, mid := g.Values[k], x+column/2
		closing := c.open("", tip(g.Label, name+" "+d.says(v), ""), Tone("").class(k))
		c.rect(x+1.5, y(v.Value), column-3, bottom-y(v.Value), min(2, column/4), "area")
		top := y(v.Value)
		if v.interval() {
			low, high := y(v.Low), y(v.High)
			c.put(`<path class="whisker" d="M%v %vV%vM%v %vh6M%v %vh6"/>`, mid, low, high, mid-3, low, mid-3, high)
			top = min(top, high)
		}
		if s := short(v.Value); widthOf(s, small) <= column {
			c.text(mid, top-4, "middle", "soft", s, column)
		}
		if column >= 13 {
			c.text(mid, bottom+13, "middle", "soft", letter(k), column+4)
		}
		c.put(`%v`, closing)
		x += column
	}
}

// short formats a value above a column: with two decimals if it is below 1.
func short(v float64) string {
	if v > 0 && v < .995 {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 2, 64), "0")
	}
	return number(v)
}

// interval reports whether there is an interval to draw.
func (v Interval) interval() bool {
	return v.Low < v.High // false for NaN
}

func (d GroupsData) says(v Interval) string {
	s := amount(v.Value, d.Unit)
	if v.interval() {
		s += " (" + number(v.Low) + " to " + number(v.High) + ")"
	}
	return s
}

// Table returns the data as a table.
func (d GroupsData) Table() template.HTML {
	return table(d.Title, 0, append([]string{""}, d.Names...), d.Groups, func(_ int, g Group) []string {
		row := []string{g.Label}
		for k := range d.Names {
			if k < len(g.Values) {
				row = append(row, d.says(g.Values[k]))
			} else {
				row = append(row, number(math.NaN()))
			}
		}
		return row
	})
}

// Stage is one step of a turn.
type Stage struct {
	Label string
	Start float64 // milliseconds after the turn began
	MS    float64 // duration in milliseconds
	Note  string  // shown in the tooltip
	Tone  Tone
}

// WaterfallData holds the stages of a turn.
type WaterfallData struct {
	Title  string
	Stages []Stage
}

// Waterfall draws a bar for each stage on a common axis of milliseconds.
func Waterfall(d WaterfallData) template.HTML {
	end := 0.0
	for _, s := range d.Stages {
		end = max(end, part(s.Start)+part(s.MS))
	}
	f := figure{kind: "chart-waterfall", title: d.Title, desc: fmt.Sprintf("%s, %s", plural(len(d.Stages), "stage", "stages"), amount(end, "ms"))}
	end = cmp.Or(end, 1)
	return f.draw(func(c *canvas, width float64) float64 {
		const row, thick, head = 24.0, 12.0, 20.0
		left, values := 0.0, 0.0
		for _, s := range d.Stages {
			left = max(left, widthOf(clean(s.Label), large))
			values = max(values, widthOf(amount(s.MS, "ms"), small)+2)
		}
		left, values = min(left, width*.34)+10, min(values, width*.25)
		right := width - values - 8
		scale := ticks(0, end, max(3, int((right-left)/90)))
		x := func(ms float64) float64 { return left + ms/end*(right-left) }
		bottom := head + row*float64(len(d.Stages))
		for i, v := range scale {
			if v > end {
				break
			}
			c.line(x(v), head-4, x(v), bottom, "grid")
			label := number(v)
			if i == 0 {
				label = amount(v, "ms")
			}
			c.text(x(v), 11, "middle", "soft", label, 2*values+16)
		}
		for i, s := range d.Stages {
			y := head + float64(i)*row
			from := x(part(s.Start))
			to := max(from+2, x(part(s.Start)+part(s.MS)))
			closing := c.open("", tip(s.Label, amount(s.MS, "ms")+" from "+amount(s.Start, "ms"), s.Note), s.Tone.class(0))
			c.rect(0, y, width, row, 0, "hit")
			c.text(0, y+16, "start", "label", s.Label, left-8)
			c.rect(from, y+(row-thick)/2, to-from, thick, min(3, (to-from)/2), "area")
			c.text(to+6, y+16, "start", "soft", amount(s.MS, "ms"), values)
			c.put(`%v`, closing)
		}
		return bottom + 2
	})
}

// Table returns the data as a table.
func (d WaterfallData) Table() template.HTML {
	return table(d.Title, 0, []string{"stage", "start (ms)", "took (ms)"}, d.Stages, func(_ int, s Stage) []string {
		return []string{s.Label, number(s.Start), number(s.MS)}
	})
}
