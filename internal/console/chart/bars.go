package chart

import (
	"fmt"
	"html/template"
)

// Bar is one row of [Bars].
type Bar struct {
	Label string
	Value float64
	Href  string // a path of this site; "" for no link
	Note  string // said in the tooltip
	Tone  Tone
}

// BarsData is a list of things with how much there is of each, in the order given.
type BarsData struct {
	Title string
	Unit  string
	Bars  []Bar
	// Whole is what the bars are parts of; above 0, each row says its share.
	Whole float64
}

// Bars draws horizontal bars, a row for each, from a common zero.
func Bars(d BarsData) template.HTML {
	low, high := 0.0, 0.0
	f := figure{kind: "chart-bars", title: d.Title, desc: plural(len(d.Bars), "bar", "bars")}
	for i, b := range d.Bars {
		v := bounded(b.Value)
		if i == 0 || v > high {
			f.desc = fmt.Sprintf("%s, most: %s %s", plural(len(d.Bars), "bar", "bars"), clean(b.Label), amount(b.Value, d.Unit))
		}
		low, high = min(low, v), max(high, v)
		f.links = f.links || local(b.Href)
	}
	if high == low {
		high = 1
	}
	return f.draw(func(c *canvas, width float64) float64 {
		const row, thick = 26.0, 12.0
		names, values, shares := 0.0, 0.0, 0.0
		for _, b := range d.Bars {
			names = max(names, widthOf(clean(b.Label), large))
			values = max(values, widthOf(amount(b.Value, d.Unit), large))
			shares = max(shares, widthOf(d.share(b), small))
		}
		if shares > 0 {
			shares += 12
		}
		names, values = min(names, width*.36)+10, min(values, width*.3)+10
		right := width - values - shares
		x := func(v float64) float64 { return names + (v-low)/(high-low)*(right-names) }
		for i, b := range d.Bars {
			y, v := float64(i)*row, bounded(b.Value)
			closing := c.open(b.Href, tip(b.Label, tip2(amount(b.Value, d.Unit), d.share(b)), b.Note), b.Tone.class(0))
			c.rect(0, y, width, row, 0, "hit")
			c.text(0, y+17, "start", "label name", b.Label, names-8)
			c.rect(names, y+(row-thick)/2, right-names, thick, 3, "track")
			from, to := x(min(0, v)), x(max(0, v))
			if v != 0 {
				to = max(to, from+2) // what is there is seen
			}
			c.rect(from, y+(row-thick)/2, to-from, thick, min(3, (to-from)/2), "area")
			c.text(width-shares, y+17, "end", "label", amount(b.Value, d.Unit), values)
			if shares > 0 {
				c.text(width, y+17, "end", "soft", d.share(b), shares)
			}
			c.put(`%v`, closing)
		}
		if low < 0 {
			c.line(x(0), 0, x(0), float64(len(d.Bars))*row, "axis")
		}
		return max(1, float64(len(d.Bars))*row)
	})
}

// share is what part of the whole a bar is, "" where there is none.
func (d BarsData) share(b Bar) string {
	if d.Whole <= 0 {
		return ""
	}
	return percent(share(b.Value, d.Whole))
}

// Table is the data to read.
func (d BarsData) Table() template.HTML {
	head := []string{"", heading("value", d.Unit)}
	if d.Whole > 0 {
		head = append(head, "share")
	}
	var rows [][]string
	for _, b := range d.Bars {
		row := []string{b.Label, number(b.Value)}
		if d.Whole > 0 {
			row = append(row, d.share(b))
		}
		rows = append(rows, row)
	}
	return table(d.Title, 0, head, rows)
}

// heading names a column with its unit.
func heading(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// tip is a tooltip: a name, its value, and what else is known.
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
