package chart

import (
	"fmt"
	"html/template"
	"math"
)

// Stage is one step of a turn.
type Stage struct {
	Label string
	Start float64 // milliseconds after the turn began; NaN if unknown
	MS    float64 // duration in milliseconds
	Note  string  // shown in the tooltip
	Tone  Tone
}

// WaterfallData holds the stages of a turn.
type WaterfallData struct {
	Title  string
	Stages []Stage
}

// Waterfall draws a bar for each stage on a common axis of milliseconds. If a start is
// unknown, all bars begin at zero and the picture says so: it then shows only
// durations.
func Waterfall(d WaterfallData) template.HTML {
	known, end := true, 0.0
	for _, s := range d.Stages {
		known = known && !math.IsNaN(s.Start) && !math.IsInf(s.Start, 0) && s.Start >= 0
	}
	for _, s := range d.Stages {
		end = max(end, d.start(s, known)+part(s.MS))
	}
	f := figure{kind: "chart-waterfall", title: d.Title, desc: fmt.Sprintf("%s, %s", plural(len(d.Stages), "stage", "stages"), amount(end, "ms"))}
	if !known && len(d.Stages) > 0 {
		f.desc = fmt.Sprintf("%s, the longest %s", plural(len(d.Stages), "stage", "stages"), amount(end, "ms"))
		f.note = "When each stage began is not known: the bars show how long it took."
	}
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
			from := x(d.start(s, known))
			to := max(from+2, x(d.start(s, known)+part(s.MS)))
			closing := c.open("", tip(s.Label, d.says(s, known), s.Note), s.Tone.class(0))
			c.rect(0, y, width, row, 0, "hit")
			c.text(0, y+16, "start", "label", s.Label, left-8)
			c.rect(from, y+(row-thick)/2, to-from, thick, min(3, (to-from)/2), "area")
			c.text(to+6, y+16, "start", "soft", amount(s.MS, "ms"), values)
			c.put(`%v`, closing)
		}
		return bottom + 2
	})
}

// start returns when a stage began, or 0 if not all starts are known.
func (d WaterfallData) start(s Stage, known bool) float64 {
	if !known {
		return 0
	}
	return part(s.Start)
}

func (d WaterfallData) says(s Stage, known bool) string {
	if !known {
		return amount(s.MS, "ms")
	}
	return amount(s.MS, "ms") + " from " + amount(s.Start, "ms")
}

// Table returns the data as a table.
func (d WaterfallData) Table() template.HTML {
	var rows [][]string
	for _, s := range d.Stages {
		rows = append(rows, []string{s.Label, number(s.Start), number(s.MS)})
	}
	return table(d.Title, 0, []string{"stage", "start (ms)", "took (ms)"}, rows)
}
