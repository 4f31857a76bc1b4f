package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken/evals"
)

// series is how many colours and shapes there are; more modes begin again.
const series = 6

// mark is the i-th series' shape at a point.
func mark(i int, x, y, size float64) raw {
	fill := fmt.Sprintf(`fill="var(--c%d)"`, i%series)
	path := func(points ...float64) raw {
		var s []string
		for k := 0; k < len(points); k += 2 {
			s = append(s, fmt.Sprintf("%.1f,%.1f", x+points[k]*size, y+points[k+1]*size))
		}
		return raw(fmt.Sprintf(`<polygon points="%s" %s/>`, strings.Join(s, " "), fill))
	}
	switch i % series {
	case 1:
		return path(-.85, -.85, .85, -.85, .85, .85, -.85, .85)
	case 2:
		return path(0, -1.25, 1.25, 0, 0, 1.25, -1.25, 0)
	case 3:
		return path(0, -1.1, 1.1, .9, -1.1, .9)
	case 4:
		return path(0, 1.1, 1.1, -.9, -1.1, -.9)
	case 5:
		return path(-1.2, -.4, 1.2, -.4, 1.2, .4, -1.2, .4)
	}
	return raw(fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="%.1f" %s/>`, x, y, size, fill))
}

// modeOf is the mode of a variant, without what was varied.
func modeOf(name string) string {
	mode, _, _ := strings.Cut(name, " ")
	return mode
}

// modes lists the modes of a run, once each: a mode has one colour and shape,
// whatever is varied.
func modes(r *evals.Report) (list []string) {
	for _, name := range r.Order {
		if m := modeOf(name); !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// seriesOf is the number of a variant's mode.
func seriesOf(r *evals.Report, name string) int { return slices.Index(modes(r), modeOf(name)) }

// best is each mode's variant with the highest recall@10, the first of equals.
func best(r *evals.Report) []string {
	var out []string
	for _, m := range modes(r) {
		top := ""
		for _, name := range r.Order {
			if modeOf(name) == m && (top == "" || r.Modes[name].Values["recall@10"] > r.Modes[top].Values["recall@10"]) {
				top = name
			}
		}
		out = append(out, top)
	}
	return out
}

// legend names the series.
func legend(order []string) raw {
	p := &page{}
	p.put(`<ul class="legend">`)
	for i, name := range order {
		p.put(`<li><svg viewBox="0 0 14 14" aria-hidden="true">%s</svg>%s</li>`, mark(i, 7, 7, 5), name)
	}
	p.put(`</ul>`)
	return raw(p.b.String())
}

// plot is a chart under way: a figure with a caption around one SVG.
type plot struct {
	page
	width, height float64
}

func newPlot(caption, label string, width, height float64) *plot {
	p := &plot{width: width, height: height}
	p.put(`<figure>`)
	if caption != "" {
		p.put(`<figcaption>%s</figcaption>`, caption)
	}
	p.put(`<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, width, height, label)
	return p
}

func (p *plot) end() raw {
	p.put(`</svg></figure>`)
	return raw(p.b.String())
}

func (p *plot) text(x, y float64, anchor, class, s string) {
	p.put(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, s)
}

// grid is a line of a scale.
func (p *plot) grid(x1, y1, x2, y2 float64) {
	p.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`, x1, y1, x2, y2)
}

// whisker is an interval, in the series' colour.
func (p *plot) whisker(i int, x1, x2, y float64) {
	p.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="var(--c%d)" stroke-width="2"/>`, x1, y, x2, y, i%series)
}

// across draws the lines of a scale from 0 to 1 behind rows.
func (p *plot) across(left, right, top, bottom float64) {
	for _, at := range []float64{0, .25, .5, .75, 1} {
		x := left + at*(right-left)
		p.grid(x, top, x, bottom)
		p.text(x, bottom+14, "middle", "soft", fmt.Sprint(at))
	}
}

const (
	rowHeight = 22
	axis      = 20
)

// labelWidth is room for the longest name, in units of the chart.
func labelWidth(list []string) float64 {
	most := 0
	for _, s := range list {
		most = max(most, len([]rune(s)))
	}
	return min(260, 16+6.6*float64(most))
}

// overall is one measure over all questions, a row for each mode.
func overall(r *evals.Report, measure string) raw {
	left := labelWidth(r.Order)
	width := left + 260
	height := float64(len(r.Order))*rowHeight + axis + 4
	p := newPlot(measure, measure+" by mode", width, height)
	right := width - 48
	p.across(left, right, 2, height-axis)
	for i, mode := range r.Order {
		s := r.Modes[mode]
		y := float64(i)*rowHeight + rowHeight/2 + 2
		p.text(left-10, y+4, "end", "", mode)
		p.point(seriesOf(r, mode), s, measure, left, right, y)
		p.text(width-4, y+4, "end", "", fraction(s.Values[measure], true))
	}
	return p.end()
}

// point is a value with its interval on a scale from left to right.
func (p *plot) point(i int, s evals.Score, measure string, left, right, y float64) {
	ci, ok := s.CI[measure]
	if !ok {
		return
	}
	x := func(v float64) float64 { return left + v*(right-left) }
	p.whisker(i, x(ci[0]), x(ci[1]), y)
	p.put(`%s`, mark(i, x(s.Values[measure]), y, 5))
}

// byCategory is recall@10 with a group of rows for each kind of question.
func byCategory(r *evals.Report, variants, names []string) raw {
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = fmt.Sprintf("%s (%d)", name, r.ByCategory[name].N)
	}
	left := labelWidth(labels)
	const width, gap, step = 760.0, 12.0, 15.0
	group := float64(len(variants))*step + gap
	height := group*float64(len(names)) + axis + 4
	p := newPlot("", "recall@10 by kind of question and mode", width, height)
	right := width - 48
	p.across(left, right, 2, height-axis)
	for c, name := range names {
		top := float64(c)*group + 2
		p.text(left-10, top+(group-gap)/2+8, "end", "", labels[c])
		for i, mode := range variants {
			s := r.ByCategory[name].Modes[mode]
			y := top + gap/2 + float64(i)*step + step/2
			p.point(seriesOf(r, mode), s, "recall@10", left, right, y)
			p.text(width-4, y+4, "end", "soft", fraction(s.Values["recall@10"], true))
		}
	}
	return p.end()
}
