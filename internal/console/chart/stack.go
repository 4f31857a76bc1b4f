package chart

import (
	"fmt"
	"html/template"
	"strconv"
)

// Part is one piece of a whole.
type Part struct {
	Label string
	Value float64 // what is below 0 or no number counts as nothing
	Note  string  // said in the tooltip
	Tone  Tone
}

// StackData is a whole and the parts that it is made of, in the order given.
type StackData struct {
	Title string
	Unit  string
	Parts []Part
}

// Stack draws one horizontal bar cut into its parts, with a legend that has each
// part's value and share. A part too small to be seen is drawn wide enough, at the
// cost of the large ones; the numbers are the true ones.
func Stack(d StackData) template.HTML {
	total, values := d.total()
	f := figure{kind: "chart-stack", title: d.Title, desc: fmt.Sprintf("%s in %s", amount(total, d.Unit), plural(len(d.Parts), "part", "parts"))}
	var entries []entry
	for i, p := range d.Parts {
		entries = append(entries, entry{i + 1, p.Tone.class(i), p.Label, amount(p.Value, d.Unit), percent(share(p.Value, total))})
	}
	if len(d.Parts) > 1 {
		entries = append(entries, entry{0, "", "together", amount(total, d.Unit), ""})
	}
	f.legend = legend(entries)
	return f.draw(func(c *canvas, width float64) float64 {
		const thick, gap = 24.0, 2.0
		c.rect(0, 0, width, thick, 3, "track")
		x, free := 0.0, 0.0 // free is where the label before ends
		for i, w := range shareOut(values, width, 4+gap) {
			if w == 0 {
				continue
			}
			p := d.Parts[i]
			closing := c.open("", tip(p.Label, amount(p.Value, d.Unit)+", "+percent(share(p.Value, total)), p.Note), p.Tone.class(i))
			c.rect(x, 0, w-gap, thick, min(2, (w-gap)/2), "area")
			c.put(`%v`, closing)
			s := strconv.Itoa(i + 1)
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

// shareOut divides a width among values: in proportion, but at least the least for each
// that is above 0, which the wider ones pay for.
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
	// Each round lifts those that fall below the least, which makes the others smaller.
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

// Table is the data to read.
func (d StackData) Table() template.HTML {
	total, _ := d.total()
	var rows [][]string
	for _, p := range d.Parts {
		rows = append(rows, []string{p.Label, number(p.Value), percent(share(p.Value, total))})
	}
	rows = append(rows, []string{"together", number(total), percent(share(total, total))})
	return table(d.Title, 0, []string{"part", heading("value", d.Unit), "share"}, rows)
}
