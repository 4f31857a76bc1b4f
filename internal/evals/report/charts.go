package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/evals/sweep"
)

// series is the number of colours and shapes; further modes reuse them.
const series = 6

// shapes are the corners of the series' polygons. The first series has circles.
var shapes = [series][]float64{
	1: {-.85, -.85, .85, -.85, .85, .85, -.85, .85},
	2: {0, -1.25, 1.25, 0, 0, 1.25, -1.25, 0},
	3: {0, -1.1, 1.1, .9, -1.1, .9},
	4: {0, 1.1, 1.1, -.9, -1.1, -.9},
	5: {-1.2, -.4, 1.2, -.4, 1.2, .4, -1.2, .4},
}

// mark returns the i-th series' shape at a point.
func mark(i int, x, y, size float64) raw {
	fill := fmt.Sprintf(`fill="var(--c%d)"`, i%series)
	var points []string
	for p := range slices.Chunk(shapes[i%series], 2) {
		points = append(points, fmt.Sprintf("%.1f,%.1f", x+p[0]*size, y+p[1]*size))
	}
	if points == nil {
		return raw(fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="%.1f" %s/>`, x, y, size, fill))
	}
	return raw(fmt.Sprintf(`<polygon points="%s" %s/>`, strings.Join(points, " "), fill))
}

// modeOf returns the mode of a variant, without the varied settings.
func modeOf(name string) string {
	mode, _, _ := strings.Cut(name, " ")
	return mode
}

// modes returns the modes of a run, without duplicates: a mode has one colour and shape
// for all its variants.
func modes(r *sweep.Report) (list []string) {
	for _, name := range r.Order {
		if m := modeOf(name); !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// seriesOf returns the number of a variant's mode.
func seriesOf(r *sweep.Report, name string) int { return slices.Index(modes(r), modeOf(name)) }

// best returns each mode's variant with the highest recall@10, the first of equals.
func best(r *sweep.Report) []string {
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

// legend returns the legend of the series.
func legend(order []string) raw {
	p := &page{}
	p.put(`<ul class="legend">`)
	for i, name := range order {
		p.put(`<li><svg viewBox="0 0 14 14" aria-hidden="true">%s</svg>%s</li>`, mark(i, 7, 7, 5), name)
	}
	p.put(`</ul>`)
	return raw(p.b.String())
}

// plot builds a chart: a figure with one SVG and a caption.
type plot struct{ page }

func newPlot(caption, label string, width, height float64) *plot {
	p := &plot{}
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

// grid draws a line of a scale.
func (p *plot) grid(x1, y1, x2, y2 float64) {
	p.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="grid"/>`, x1, y1, x2, y2)
}

// whisker draws an interval, in the series' colour.
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

// labelWidth returns the width for the longest name, in units of the chart.
func labelWidth(list []string) float64 {
	most := 0
	for _, s := range list {
		most = max(most, len([]rune(s)))
	}
	return min(260, 16+6.6*float64(most))
}

// overall draws one measure over all questions, with a row for each mode.
func overall(r *sweep.Report, measure string) raw {
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

// point draws a value with its interval on a scale from left to right.
func (p *plot) point(i int, s sweep.Score, measure string, left, right, y float64) {
	ci, ok := s.CI[measure]
	if !ok {
		return
	}
	x := func(v float64) float64 { return left + v*(right-left) }
	p.whisker(i, x(ci[0]), x(ci[1]), y)
	p.put(`%s`, mark(i, x(s.Values[measure]), y, 5))
}

// byCategory draws recall@10 with a group of rows for each category of questions.
func byCategory(r *sweep.Report, variants, names []string) raw {
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

// latency draws the median and the 99th percentile of each mode, on a logarithmic
// scale, because they are far apart.
func latency(r *sweep.Report) raw {
	low, high := math.Inf(1), 0.0
	for _, mode := range r.Order {
		v := r.Modes[mode].Values
		low, high = min(low, v["p50_ms"]), max(high, v["p99_ms"])
	}
	from, to := math.Floor(math.Log10(max(low, .01))), math.Ceil(math.Log10(max(high, .1)))
	if to <= from {
		to = from + 1
	}
	left := labelWidth(r.Order)
	const width = 760.0
	height := float64(len(r.Order))*rowHeight + axis + 4
	p := newPlot("", "median and 99th percentile of a turn's time by mode, in milliseconds", width, height)
	right := width - 130
	x := func(ms float64) float64 { return left + (math.Log10(max(ms, .01))-from)/(to-from)*(right-left) }
	for e := from; e <= to; e++ {
		v := math.Pow(10, e)
		p.grid(x(v), 2, x(v), height-axis)
		p.text(x(v), height-axis+14, "middle", "soft", fmt.Sprintf("%g ms", v))
	}
	for i, mode := range r.Order {
		v, n := r.Modes[mode].Values, seriesOf(r, mode)
		y := float64(i)*rowHeight + rowHeight/2 + 2
		p.text(left-10, y+4, "end", "", mode)
		p.whisker(n, x(v["p50_ms"]), x(v["p99_ms"]), y)
		p.put(`%s`, mark(n, x(v["p50_ms"]), y, 5))
		p.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="var(--c%d)" stroke-width="2"/>`, x(v["p99_ms"]), y-5, x(v["p99_ms"]), y+5, n%series)
		p.text(width-4, y+4, "end", "", fmt.Sprintf("p50 %.1f · p99 %.1f", v["p50_ms"], v["p99_ms"]))
	}
	return p.end()
}

// tradeOff draws abstention against silencing, with a point for each mode and setting.
func tradeOff(r *sweep.Report) raw {
	const width, height, left, top, bottom = 760.0, 300.0, 60.0, 12.0, 256.0
	right := width - 20
	most := 0.05
	for _, mode := range r.Order {
		most = max(most, r.Modes[mode].Values["silenced"])
	}
	most = math.Ceil(most*20) / 20
	p := newPlot("", "abstention against silencing by mode", width, height)
	for _, at := range []float64{0, .25, .5, .75, 1} {
		y := bottom - at*(bottom-top)
		p.grid(left, y, right, y)
		p.text(left-8, y+4, "end", "soft", fmt.Sprint(at))
		x := left + at*(right-left)
		p.text(x, bottom+16, "middle", "soft", fraction(at*most, true))
	}
	p.text((left+right)/2, height-8, "middle", "", "silenced")
	p.put(`<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">abstain</text>`, (top+bottom)/2)
	for n, m := range modes(r) {
		var path []string
		for _, name := range r.Order {
			if modeOf(name) != m {
				continue
			}
			v := r.Modes[name].Values
			x, y := left+v["silenced"]/most*(right-left), bottom-v["abstain"]*(bottom-top)
			path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
			p.put(`<g><title>%s: abstain %s, silenced %s</title>%s</g>`, name, fraction(v["abstain"], true), fraction(v["silenced"], true), mark(n, x, y, 6))
		}
		p.put(`<polyline points="%s" fill="none" stroke="var(--c%d)" stroke-width="1"/>`, strings.Join(path, " "), n%series)
	}
	return legend(modes(r)) + p.end()
}

// curve holds one mode's values along a varied key.
type curve struct {
	name   string
	points []sweep.Score
}

// curves draws recall@10 along a single numeric key, with a line for each mode.
func (p *page) curves(r *sweep.Report) {
	key, values, lines := alongOneKey(r)
	if key == "" {
		return
	}
	const width, height, left, top, bottom = 760.0, 260.0, 50.0, 12.0, 220.0
	right := width - 20
	c := newPlot("", "recall@10 along "+key, width, height)
	for _, at := range []float64{0, .25, .5, .75, 1} {
		y := bottom - at*(bottom-top)
		c.grid(left, y, right, y)
		c.text(left-8, y+4, "end", "soft", fmt.Sprint(at))
	}
	x := func(i int) float64 {
		return left + 20 + float64(i)*(right-left-40)/float64(max(1, len(values)-1))
	}
	for i, v := range values {
		c.text(x(i), bottom+16, "middle", "soft", v)
	}
	c.text((left+right)/2, height-6, "middle", "", key)
	var order []string
	for n, line := range lines {
		order = append(order, line.name)
		var path []string
		for i, s := range line.points {
			y := bottom - s.Values["recall@10"]*(bottom-top)
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(i), y))
			c.put(`%s`, mark(n, x(i), y, 4))
		}
		c.put(`<polyline points="%s" fill="none" stroke="var(--c%d)" stroke-width="1.5"/>`, strings.Join(path, " "), n%series)
	}
	p.put(`<h2>Along %s: recall@10</h2>%s%s`, key, legend(order), c.end())
}

// alongOneKey returns the modes' scores by value, if exactly one key was varied, with
// at least three values.
func alongOneKey(r *sweep.Report) (key string, values []string, lines []curve) {
	for _, name := range r.Order {
		s := r.Modes[name]
		if len(s.Settings) != 1 {
			return "", nil, nil
		}
		for k, v := range s.Settings {
			if key = cmp.Or(key, k); k != key {
				return "", nil, nil
			}
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		mode := modeOf(name)
		if len(lines) == 0 || lines[len(lines)-1].name != mode {
			lines = append(lines, curve{name: mode})
		}
		lines[len(lines)-1].points = append(lines[len(lines)-1].points, s)
	}
	if len(values) < 3 {
		return "", nil, nil
	}
	return key, values, lines
}

// Changes formats a comparison as aligned text: a line for each mode and measure,
// followed by what could not be compared.
func Changes(c *sweep.Comparison) string {
	rows := [][]string{{"mode", "measure", "before", "after", "change", "95 %", "p", ""}}
	for _, ch := range c.Changes {
		verdict := ""
		switch {
		case ch.Regression:
			verdict = "worse"
		case ch.Real:
			verdict = "better"
		}
		rows = append(rows, []string{ch.Mode, ch.Measure, fraction(ch.Before, true), fraction(ch.After, true), fmt.Sprintf("%+.3f", ch.Difference),
			fmt.Sprintf("%+.3f…%+.3f", ch.CI[0], ch.CI[1]), fmt.Sprintf("%.3f", ch.P), verdict})
	}
	for _, l := range c.Latency {
		rows = append(rows,
			[]string{l.Mode, "p50 ms", fmt.Sprintf("%.1f", l.Before[0]), fmt.Sprintf("%.1f", l.After[0]), "", "", "", ""},
			[]string{l.Mode, "p99 ms", fmt.Sprintf("%.1f", l.Before[1]), fmt.Sprintf("%.1f", l.After[1]), "", "", "", ""})
	}
	out := align(rows) + fmt.Sprintf("%d questions in both reports", c.Questions)
	if c.OnlyBefore+c.OnlyAfter > 0 {
		out += fmt.Sprintf("; %d only before and %d only after were left out", c.OnlyBefore, c.OnlyAfter)
	}
	out += "\n"
	if c.Before != c.After {
		out += fmt.Sprintf("the reports are of different sets, %s and %s: questions with the same id may not be the same\n", c.Before, c.After)
	}
	for _, mode := range c.Unpaired {
		out += "not compared, as only one report has it: " + mode + "\n"
	}
	return out
}

// Orders formats a comparison of orders as aligned text: the verdict, a line for all
// turns and for each slice, the result of exploration, and the missing data.
func Orders(o *sweep.Orders) string {
	var b strings.Builder
	fmt.Fprintf(&b, "scorer %s\n%d turns logged, %d judged, %d that distinguish the orders; %d learned from\n", o.Verdict, o.Turns, o.Judged, o.Telling, o.Standing.Turns)
	if o.Telling > 0 {
		rows := [][]string{{"slice", "name", "turns", "win", "loss", "tie"}}
		rows[0] = append(append(rows[0], sweep.OrderMeasures...), "change", "95 %")
		rows = append(rows, contest("all", &o.Overall))
		for i := range o.Entities {
			rows = append(rows, contest("entity", &o.Entities[i]))
		}
		for i := range o.Projects {
			rows = append(rows, contest("project", &o.Projects[i]))
		}
		b.WriteString("\n" + align(rows) + "plain→learned, of what was shown and then used; change is in ndcg\n")
	}
	if x := o.Corrected; x.Turns > 0 {
		fmt.Fprintf(&b, "\nat the cut, corrected for what was left out: plain %s, learned %s of what it hands on is used (%d turns, %d explored)\n",
			fraction(x.Plain, true), fraction(x.Learned, true), x.Turns, x.Swapped)
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

func contest(kind string, c *sweep.Contest) []string {
	row := []string{kind, c.Slice, fmt.Sprint(c.Turns), fmt.Sprint(c.Wins), fmt.Sprint(c.Losses), fmt.Sprint(c.Ties)}
	for _, m := range sweep.OrderMeasures {
		row = append(row, fraction(c.Plain[m], true)+"→"+fraction(c.Learned[m], true))
	}
	return append(row, fmt.Sprintf("%+.3f", c.Difference), fmt.Sprintf("%+.3f…%+.3f", c.CI[0], c.CI[1]))
}
