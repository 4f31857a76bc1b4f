package chart

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// raw is markup of this package, which is not escaped.
type raw string

// canvas collects the markup of a picture.
type canvas struct{ b strings.Builder }

// put writes a format in which every verb is %v: strings are cleaned and escaped,
// numbers become short coordinates, and raw is written unchanged. A picture has
// thousands of these, so package fmt would be too slow.
func (c *canvas) put(format string, args ...any) {
	for _, a := range args {
		before, after, _ := strings.Cut(format, "%v")
		c.b.WriteString(before)
		format = after
		switch v := a.(type) {
		case string:
			c.b.WriteString(html.EscapeString(clean(v)))
		case raw:
			c.b.WriteString(string(v))
		case float64:
			c.coordinate(v)
		case int:
			c.b.WriteString(strconv.Itoa(v))
		}
	}
	c.b.WriteString(format)
}

func (c *canvas) raw() raw { return raw(c.b.String()) }

// coordinate writes a coordinate with one decimal, limited to the range that browsers
// draw.
func (c *canvas) coordinate(v float64) {
	if math.IsNaN(v) {
		v = 0
	}
	tenths := int64(math.Round(max(-1e6, min(1e6, v)) * 10))
	var buf [16]byte
	b := buf[:0]
	if tenths < 0 {
		b, tenths = append(b, '-'), -tenths
	}
	b = strconv.AppendInt(b, tenths/10, 10)
	if tenths%10 != 0 {
		b = append(b, '.', byte('0'+tenths%10))
	}
	c.b.Write(b)
}

// text writes one line of at most a width. A longer text is cut and gets a tooltip
// with the whole. anchor is start, middle or end; class sets the size.
func (c *canvas) text(x, y float64, anchor, class raw, s string, width float64) {
	size := large
	if strings.HasPrefix(string(class), "soft") {
		size = small
	}
	s = clean(s)
	short := cut(s, width, size)
	c.put(`<text x="%v" y="%v" text-anchor="%v" class="%v">`, x, y, anchor, class)
	if short != s {
		c.put(`<title>%v</title>`, s)
	}
	c.put(`%v</text>`, short)
}

func (c *canvas) line(x1, y1, x2, y2 float64, class raw) {
	c.put(`<line x1="%v" y1="%v" x2="%v" y2="%v" class="%v"/>`, x1, y1, x2, y2, class)
}

func (c *canvas) rect(x, y, w, h, radius float64, class raw) {
	c.put(`<rect x="%v" y="%v" width="%v" height="%v"`, x, y, max(0, w), max(0, h))
	if radius > 0 {
		c.put(` rx="%v"`, radius)
	}
	c.put(` class="%v"/>`, class)
}

// open begins a link, or a plain group if href is not a path of this site. The tooltip
// explains the content. It returns the closing tag.
func (c *canvas) open(href, tip string, class raw) (closing raw) {
	closing = `</g>`
	if local(href) {
		closing = `</a>`
		c.put(`<a href="%v" class="%v">`, href, class)
	} else {
		c.put(`<g class="%v">`, class)
	}
	if tip != "" {
		c.put(`<title>%v</title>`, tip)
	}
	return closing
}

// local reports whether a link stays on this site, so that no label can lead the
// reader elsewhere or run as a script.
func local(href string) bool {
	if href == "" || strings.ContainsAny(href, "\\\t\r\n") || clean(href) != href {
		return false
	}
	switch href[0] {
	case '#', '?':
		return true
	case '/':
		return !strings.HasPrefix(href, "//")
	}
	return false
}

// The widths for which a figure is drawn; chart.css shows the one that fits the
// column.
const (
	wide   = 720.0
	narrow = 340.0
)

// figure is a picture with its caption and note.
type figure struct {
	kind   raw    // CSS class
	title  string // caption, and name of the picture for screen readers
	desc   string // describes the picture in one sentence
	links  bool   // it contains links, which role="img" would hide from screen readers
	legend raw
	note   string // what is left out
}

// draw draws the picture in both widths. picture returns its height.
func (f figure) draw(picture func(c *canvas, width float64) float64) template.HTML {
	out := &canvas{}
	out.put(`<figure class="chart %v">`, f.kind)
	if f.title != "" {
		out.put(`<figcaption>%v</figcaption>`, f.title)
	}
	f.svg(out, "wide", wide, picture)
	f.svg(out, "narrow", narrow, picture)
	return f.end(out)
}

func (f figure) svg(out *canvas, class raw, width float64, picture func(c *canvas, width float64) float64) {
	c := &canvas{}
	c.b.Grow(16 << 10)
	height := picture(c, width)
	out.b.Grow(c.b.Len() + 512)
	role := raw("img")
	if f.links {
		role = "group"
	}
	label := strings.Trim(clean(f.title)+": "+clean(f.desc), ": ")
	out.put(`<svg class="%v" viewBox="0 0 %v %v" width="%v" height="%v" role="%v" aria-label="%v">`, class, width, height, width, height, role, label)
	out.put("%v</svg>", c.raw())
}

func (f figure) end(out *canvas) template.HTML {
	out.put(`%v`, f.legend)
	if f.note != "" {
		out.put(`<p class="note">%v</p>`, f.note)
	}
	out.put(`</figure>`)
	return template.HTML(out.b.String())
}
