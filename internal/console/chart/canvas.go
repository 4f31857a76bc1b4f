package chart

import (
	_ "embed" // the style sheet
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// raw is markup of this package's own, which must not be escaped.
type raw string

// canvas is markup under way.
type canvas struct{ b strings.Builder }

// put writes a format with %v for everything: strings are cleaned and escaped, numbers
// become short coordinates, and only raw stays as it is. A picture has thousands of
// these, which is why it is not left to package fmt.
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

// coordinate writes a place with one decimal. No place is outside of what browsers draw.
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

// text writes one line of at most a width, with the whole as a tooltip if it is cut.
// The anchor is start, middle or end; the class decides about the size.
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

// open begins a link, or a group where the target is none of this site. The tooltip
// explains what is inside. The returned tag closes it.
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

// local reports whether a link stays on this site, so that no label sends the reader
// elsewhere or runs as a script.
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

// Widths that a figure is drawn for; chart.css chooses by the column's width.
const (
	wide   = 720.0
	narrow = 340.0
)

// figure is a picture with what stands around it.
type figure struct {
	kind   raw    // class
	title  string // caption and name of the picture
	desc   string // one sentence that says what the picture shows
	links  bool   // there are links inside, which an image would hide from screen readers
	legend raw
	note   string // what is left out
}

// draw draws the picture for both widths. The drawing returns its height.
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

// svg writes one picture of a width.
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

// CSS is the style sheet of the figures. It declares the colours as custom properties
// of :root and touches no other element outside of .chart, .chart-list and .chart-data.
//
//go:embed chart.css
var CSS string

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

// Sizes of letters in units of the drawing; chart.css sets the same.
const (
	large = 12.5 // class label
	small = 11.0 // class soft
)

// maxMarks is how many marks may stand on one letter. More are no language but a tower
// that runs through the lines above.
const maxMarks = 3

// clean makes text safe to show: what XML can't hold, and what turns the direction of
// the text after it, becomes a visible replacement; white space becomes a space.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for _, r := range s {
		if r >= ' ' && r <= '~' {
			b.WriteByte(byte(r))
			marks = 0
			continue
		}
		if unicode.Is(unicode.Mn, r) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xFFFE, r == 0xFFFF:
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// plain reports whether text is ASCII that clean leaves as it is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}

// advance is how wide a letter is at most in common fonts, as a part of its size. The
// server does not know the reader's font, so this follows a wide one.
func advance(r rune) float64 {
	switch {
	case r >= ' ' && r <= '~':
		return float64(advances[r-' ']) / 100
	case unicode.Is(unicode.Mn, r), r == '\u200d', r == '\ufe0f':
		return 0
	case r == '·', r == '\u00a0':
		return .35
	case r >= 0x1100, r == '…', r == '—':
		return 1.1
	case unicode.IsUpper(r), r > unicode.MaxLatin1:
		return .8
	}
	return .65
}

// advances are the widths of ASCII from the space on, in hundredths of the size.
var advances = [...]uint8{
	32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, // to /
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, // to ?
	100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, // to O
	61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, // to _
	50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, // to o
	64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84, // to ~
}

// widthOf is how much room text takes at most at a size of letters.
func widthOf(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		w += advance(r)
	}
	return w * size
}

// fitting is how many bytes of text fit into a width. It never parts a letter from its
// marks.
func fitting(s string, width, size float64) int {
	used, end := 0.0, 0
	for i, r := range s {
		a := advance(r) * size
		if a > 0 {
			end = i
		}
		if used += a; used > width {
			return end
		}
	}
	return len(s)
}

// cut shortens cleaned text to a width, with an ellipsis in place of the rest.
func cut(s string, width, size float64) string {
	if fitting(s, width, size) == len(s) {
		return s
	}
	return strings.TrimRight(s[:fitting(s, width-advance('…')*size, size)], " ") + "…"
}

// wrap breaks cleaned text into at most two lines of a width, at a space where the first
// line has one in its second half.
func wrap(s string, width, size float64) (first, second string) {
	end := fitting(s, width, size)
	if end == len(s) {
		return s, ""
	}
	if at := strings.LastIndexByte(s[:end], ' '); at > end/2 && s[end] != ' ' {
		end = at
	}
	return s[:end], cut(strings.TrimSpace(s[end:]), width, size)
}

// ceiling bounds what is drawn to scale. Texts have the value as it is.
const ceiling = 1e15

// bounded makes a value safe to reckon with: NaN is nothing, and infinity the ceiling.
func bounded(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return max(-ceiling, min(ceiling, v))
}

// part is a value that can't be negative.
func part(v float64) float64 { return max(0, bounded(v)) }

// number writes a value with three digits that count, whole ones in full.
func number(v float64) string {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+")
	case abs >= ceiling, abs > 0 && abs < 1e-4:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case abs >= 100, v == math.Trunc(v):
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	decimals := 2
	if abs >= 10 {
		decimals = 1
	} else if abs < 1 {
		decimals = 2 - int(math.Floor(math.Log10(abs)))
		decimals = min(decimals, 5)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// thousands puts commas into a whole number.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// amount is a value with its unit.
func amount(v float64, unit string) string {
	if unit == "" || math.IsNaN(v) {
		return number(v)
	}
	if v == 1 && len(unit) > len("ms") {
		unit = strings.TrimSuffix(unit, "s") // of what is counted, such as claims
	}
	return number(v) + "\u00a0" + unit
}

// percent is a share from 0 to 1. What is there is not called nothing, and what is not
// all is not called all.
func percent(share float64) string {
	switch {
	case math.IsNaN(share):
		return "–"
	case share > 0 && share < .01:
		return "<1\u00a0%"
	case share < 1 && share > .99:
		return ">99\u00a0%"
	}
	return strconv.FormatFloat(math.Round(bounded(share)*100), 'f', 0, 64) + "\u00a0%"
}

// share is a part of a whole, 0 where there is no whole.
func share(v, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part(v) / whole
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(strconv.Itoa(n)) + " " + many
}
