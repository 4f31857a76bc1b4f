package chart

import (
	"html/template"
	"math"
	"strconv"
)

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
