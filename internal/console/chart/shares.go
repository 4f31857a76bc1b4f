package chart

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// Bucket holds the counts of one period.
type Bucket struct {
	At     time.Time
	Counts []float64 // one for each name, in the same order; missing ones are 0
}

// SharesData holds the division of a whole over time.
type SharesData struct {
	Title   string
	Unit    string // unit of the counts, such as turns
	Names   []string
	Tones   []Tone        // one for each name; missing ones get the next colour
	Buckets []Bucket      // oldest first
	Width   time.Duration // of a bucket
}

// Shares draws a column for each bucket, divided into 100 %. An empty bucket has no
// column. Every part has a tooltip, so use at most some hundred buckets.
func Shares(d SharesData) template.HTML {
	f := figure{kind: "chart-shares", title: d.Title}
	classes := make([]raw, len(d.Names))
	sums := make([]float64, len(d.Names))
	all := 0.0
	last := -1
	for i, b := range d.Buckets {
		total, counts := d.of(b)
		if total > 0 {
			last = i
		}
		for k, v := range counts {
			sums[k] += v
		}
		all += total
	}
	var says []string
	for k, name := range d.Names {
		classes[k] = d.tone(k).class(k)
		says = append(says, clean(name)+" "+percent(share(sums[k], all)))
	}
	f.desc = fmt.Sprintf("%s: %s", amount(all, d.Unit), strings.Join(says, ", "))
	return f.draw(func(c *canvas, width float64) float64 {
		room := names(d.Names, width)
		r := frame{left: 50, right: width - room, top: 8, bottom: 176}
		for _, at := range []float64{0, .25, .5, .75, 1} {
			r.level(c, r.bottom-at*(r.bottom-r.top), percent(at))
		}
		if len(d.Buckets) == 0 {
			c.text((r.left+r.right)/2, (r.top+r.bottom)/2, "middle", "soft", "nothing yet", width)
			return r.bottom + 24
		}
		from, to := d.Buckets[0].At, d.Buckets[len(d.Buckets)-1].At.Add(max(d.Width, time.Second))
		x := func(t time.Time) float64 { return r.left + position(t, from, to)*(r.right-r.left) }
		ends := make([]float64, len(d.Names))
		for i, b := range d.Buckets {
			total, counts := d.of(b)
			if total == 0 {
				continue
			}
			left, right := x(b.At), x(b.At.Add(max(d.Width, time.Second)))
			gap := min(2, (right-left)*.2)
			y := r.bottom
			for k, v := range counts {
				high := v / total * (r.bottom - r.top)
				if i == last {
					ends[k] = y - high/2
				}
				if high <= 0 {
					continue
				}
				closing := c.open("", fmt.Sprintf("%s, %s: %s of %s, %s", timeLabel(b.At), clean(d.Names[k]), number(v), amount(total, d.Unit), percent(v/total)), classes[k])
				line := min(1, high/3) // gap between two parts
				c.rect(left, y-high+line, max(.5, right-left-gap), high-line, 0, "area")
				c.put(`%v`, closing)
				y -= high
			}
		}
		r.moments(c, from, to, x)
		if last >= 0 {
			r.column(c, d.Names, ends, classes, room)
		}
		return r.bottom + 24
	})
}

func (d SharesData) tone(k int) Tone {
	if k < len(d.Tones) {
		return d.Tones[k]
	}
	return ""
}

// of returns a bucket's counts, one for each name, and their sum.
func (d SharesData) of(b Bucket) (total float64, counts []float64) {
	counts = make([]float64, len(d.Names))
	for k := range counts {
		if k < len(b.Counts) {
			counts[k] = part(b.Counts[k])
			total += counts[k]
		}
	}
	return total, counts
}

// Table returns the data as a table.
func (d SharesData) Table() template.HTML {
	return table(d.Title, 0, append([]string{"from"}, d.Names...), d.Buckets, func(_ int, b Bucket) []string {
		row := []string{timeLabel(b.At)}
		total, counts := d.of(b)
		for _, v := range counts {
			row = append(row, number(v)+" ("+percent(share(v, total))+")")
		}
		return row
	})
}

// Part is one piece of a whole.
type Part struct {
	Label string
	Value float64 // negative values and NaN count as 0
	Note  string  // shown in the tooltip
	Tone  Tone
}

// StackData is a whole with its parts, in the order given.
type StackData struct {
	Title string
	Unit  string
	Parts []Part
}

// Stack draws one horizontal bar divided into its parts, with a legend that has each
// part's value and share. A part that is too small is drawn wider at the cost of the
// large ones; the numbers are exact.
func Stack(d StackData) template.HTML {
	total, values := d.total()
	f := figure{kind: "chart-stack", title: d.Title, desc: fmt.Sprintf("%s in %s", amount(total, d.Unit), plural(len(d.Parts), "part", "parts"))}
	var entries []entry
	for i, p := range d.Parts {
		entries = append(entries, entry{letter(i), p.Tone.class(i), p.Label, amount(p.Value, d.Unit), percent(share(p.Value, total))})
	}
	if len(d.Parts) > 1 {
		entries = append(entries, entry{"", "", "together", amount(total, d.Unit), ""})
	}
	f.legend = legend(entries)
	return f.draw(func(c *canvas, width float64) float64 {
		const thick, gap = 24.0, 2.0
		c.rect(0, 0, width, thick, 3, "track")
		x, free := 0.0, 0.0 // right end of the previous label
		for i, w := range shareOut(values, width, 4+gap) {
			if w == 0 {
				continue
			}
			p := d.Parts[i]
			closing := c.open("", tip(p.Label, amount(p.Value, d.Unit)+", "+percent(share(p.Value, total)), p.Note), p.Tone.class(i))
			c.rect(x, 0, w-gap, thick, min(2, (w-gap)/2), "area")
			c.put(`%v`, closing)
			s := letter(i)
			if full := s + "  " + clean(p.Label); widthOf(full, small) <= w-gap {
				s = full
			}
			if x >= free && x+widthOf(s, small) <= width {
				c.text(x, thick+15, "start", "soft", s, width)
				free = x + widthOf(s, small) + 4
			}
			x += w
		}
		return thick + 20
	})
}

func (d StackData) total() (total float64, values []float64) {
	values = make([]float64, len(d.Parts))
	for i, p := range d.Parts {
		values[i] = part(p.Value)
		total += values[i]
	}
	return total, values
}

// shareOut divides a width among values: in proportion, but at least least for each
// value above 0, at the cost of the wider ones.
func shareOut(values []float64, width, least float64) []float64 {
	out := make([]float64, len(values))
	lifted := make([]bool, len(values))
	some := 0
	for _, v := range values {
		if v > 0 {
			some++
		}
	}
	if some == 0 {
		return out
	}
	least = min(least, width/float64(some))
	// Each round widens the parts below the minimum, which makes the others narrower.
	for range values {
		rest, sum, again := width, 0.0, false
		for i, v := range values {
			if lifted[i] {
				rest -= least
			} else {
				sum += v
			}
		}
		for i, v := range values {
			switch {
			case v <= 0:
			case lifted[i]:
				out[i] = least
			default:
				out[i] = v / sum * rest
				if out[i] < least {
					lifted[i], again = true, true
				}
			}
		}
		if !again {
			break
		}
	}
	return out
}

// Table returns the data as a table.
func (d StackData) Table() template.HTML {
	total, _ := d.total()
	parts := append(slices.Clone(d.Parts), Part{Label: "together", Value: total})
	return table(d.Title, 0, []string{"part", heading("value", d.Unit), "share"}, parts, func(_ int, p Part) []string {
		return []string{p.Label, number(p.Value), percent(share(p.Value, total))}
	})
}
