package chart

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Font sizes in units of the drawing; chart.css has the same.
const (
	large = 12.5 // class label
	small = 11.0 // class soft
)

// maxMarks is how many combining marks may follow a letter. More occur in no language
// and would cover the lines above.
const maxMarks = 3

// clean makes text safe to show. Characters that XML can't represent, and those that
// change the direction of the text after them, become a visible replacement. White space
// becomes a space.
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

// plain reports whether clean would leave text unchanged because it is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}

// advance returns the largest width of a letter in common fonts, as a part of the font
// size. The server does not know the reader's font, so the widths are those of a wide
// one.
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

// advances holds the widths of ASCII characters from the space on, in hundredths of the
// font size.
var advances = [...]uint8{
	32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, // to /
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, // to ?
	100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, // to O
	61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, // to _
	50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, // to o
	64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84, // to ~
}

// widthOf returns the largest width of text at a font size.
func widthOf(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		w += advance(r)
	}
	return w * size
}

// fitting returns how many bytes of text fit into a width. It never separates a letter
// from its marks.
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

// cut shortens cleaned text to a width and ends it with an ellipsis.
func cut(s string, width, size float64) string {
	if fitting(s, width, size) == len(s) {
		return s
	}
	return strings.TrimRight(s[:fitting(s, width-advance('…')*size, size)], " ") + "…"
}

// wrap breaks cleaned text into at most two lines of a width, at a space if there is one
// in the second half of the first line.
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

// Tone gives a part a colour by meaning instead of by position.
type Tone string

// The tones. The zero value uses the next of eight colours.
const (
	OK    Tone = "ok"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
	Muted Tone = "muted"
)

const colours = 8

// class returns the class of a tone's colour, or of the i-th colour.
func (t Tone) class(i int) raw {
	switch t {
	case OK, Warn, Bad, Muted:
		return raw("c-" + string(t))
	}
	return raw("c-" + strconv.Itoa(i%colours+1))
}

// entry is a line of a legend. Its letter is in the picture too, so that readers need not
// distinguish colours. A number would look like an amount.
type entry struct {
	letter      string // "" for none
	class       raw    // "" for a sum
	name        string
	value, note string
}

// letter returns the letter of the i-th entry: A to Z, then AA, AB and so on.
func letter(i int) string {
	s := string(rune('A' + i%26))
	if i < 26 {
		return s
	}
	return letter(i/26-1) + s
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
		if e.letter != "" {
			c.put(`<span class="no">%v</span>`, e.letter)
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

// shape draws the mark of the i-th series at a point.
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
