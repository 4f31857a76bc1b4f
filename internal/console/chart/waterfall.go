package chart

import (
	"fmt"
	"html/template"
)

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
	if end == 0 {
		end = 1
	}
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
