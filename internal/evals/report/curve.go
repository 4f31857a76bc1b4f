package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken/evals"
)

// latency shows the median and the 99th percentile of each mode, on a logarithmic
// scale: they are far apart.
func latency(r *evals.Report) raw {
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

// tradeOff sets abstention against silencing, a point for each mode and setting.
func tradeOff(r *evals.Report) raw {
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

// curve is one mode's values along a key that was varied.
type curve struct {
	name   string
	points []evals.Score
}

// curves shows how recall@10 goes along a single numeric key, a line for each mode.
func (p *page) curves(r *evals.Report) {
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

// alongOneKey returns the modes' scores by value, if exactly one key was varied,
// with at least three values.
func alongOneKey(r *evals.Report) (key string, values []string, lines []curve) {
	for _, name := range r.Order {
		s := r.Modes[name]
		if len(s.Settings) != 1 {
			return "", nil, nil
		}
		for k, v := range s.Settings {
			if key == "" {
				key = k
			}
			if k != key {
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
