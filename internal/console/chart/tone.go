package chart

import "strconv"

// Tone gives a part a meaning in place of a colour by its place.
type Tone string

// The tones. The zero value takes the next of eight colours.
const (
	OK    Tone = "ok"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
	Muted Tone = "muted"
)

const colours = 8

// class is the colour's class: that of a known tone, or of the i-th part.
func (t Tone) class(i int) raw {
	switch t {
	case OK, Warn, Bad, Muted:
		return raw("c-" + string(t))
	}
	return raw("c-" + strconv.Itoa(i%colours+1))
}

// entry is a line of a legend. Its number stands in the picture too, so that nobody
// needs to tell colours apart.
type entry struct {
	number      int // 0 for none
	class       raw // "" for a sum
	name        string
	value, note string
}

func legend(entries []entry) raw {
	if len(entries) == 0 {
		return ""
	}
	c := &canvas{}
	c.put(`<ul class="legend">`)
	for _, e := range entries {
		c.put(`<li>`)
		if e.class != "" {
			c.put(`<svg class="swatch %v" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="3" class="area"/></svg>`, e.class)
		}
		if e.number > 0 {
			c.put(`<span class="no">%v</span>`, e.number)
		}
		name := clean(e.name)
		if short := cut(name, 240, large); short != name {
			c.put(`<span title="%v">%v</span>`, name, short)
		} else {
			c.put(`<span>%v</span>`, name)
		}
		if e.value != "" {
			c.put(`<b>%v</b>`, e.value)
		}
		if e.note != "" {
			c.put(`<small>%v</small>`, e.note)
		}
		c.put(`</li>`)
	}
	c.put(`</ul>`)
	return c.raw()
}

// shape is the i-th series' mark at a point.
func (c *canvas) shape(i int, x, y, size float64) {
	points := func(p ...float64) {
		c.put(`<polygon class="dot" points="`)
		for k := 0; k < len(p); k += 2 {
			if k > 0 {
				c.put(" ")
			}
			c.put("%v,%v", x+p[k]*size, y+p[k+1]*size)
		}
		c.put(`"/>`)
	}
	switch i % 5 {
	case 1:
		points(-.9, -.9, .9, -.9, .9, .9, -.9, .9)
	case 2:
		points(0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0)
	case 3:
		points(0, -1.15, 1.15, .9, -1.15, .9)
	case 4:
		points(0, 1.15, 1.15, -.9, -1.15, -.9)
	default:
		c.put(`<circle cx="%v" cy="%v" r="%v" class="dot"/>`, x, y, size)
	}
}
