package decision

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxSource is how much of a file is read for what it says: a hundred times what
// anybody writes.
const maxSource = 1 << 20

const byteOrderMark = "\ufeff"

// line is one line of a file. from and to are where it stands in the bytes of the file,
// without the characters that end it.
type line struct {
	text     string
	from, to int
}

func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// indent is the width of the white space before the text.
func (l line) indent() int {
	n := 0
	for i := range len(l.text) {
		switch l.text[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// split turns the bytes of a file into lines. sealed says why the bytes can't be edited
// by these lines, and is empty when they can.
func split(src []byte) (lines []line, problems []Problem, sealed string) {
	seal := func(at int, text, try string) {
		problems = append(problems, Problem{Line: at, Text: text, Try: try})
		if sealed == "" {
			sealed = text
		}
	}
	var text string
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		text = fromUTF16(src[:min(len(src), 2*maxSource)])
		seal(1, "UTF-16; it is read, but not changed", "Save it as UTF-8.")
	case !utf8.Valid(src):
		text = string(src[:min(len(src), maxSource)])
		at := 1
		for i, r := range text {
			if r == '\n' {
				at++
			}
			if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
				break
			}
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		seal(at, "not UTF-8; it is read, but not changed", "Save it as UTF-8.")
	default:
		text = string(src[:min(len(src), maxSource)])
	}
	if len(src) > maxSource && sealed == "" {
		text = strings.ToValidUTF8(text, "") // a character may have been cut
	}
	if strings.ContainsRune(text, 0) {
		seal(1+strings.Count(text[:strings.IndexByte(text, 0)], "\n"), "a zero byte; this is no text", "Look at what wrote it.")
	}
	if len(src) > maxSource {
		seal(1+strings.Count(text, "\n"), fmt.Sprintf("%d bytes; what comes after the first %d is not read", len(src), maxSource), "Put what is no decision into files of its own.")
	}
	if at := loneReturn(text); at >= 0 {
		seal(1+strings.Count(text[:at], "\n"), "a carriage return that ends no line", "Save it with the line ends of Unix or Windows.")
		text = withoutLoneReturns(text)
	}
	at := 0
	if strings.HasPrefix(text, byteOrderMark) {
		at = len(byteOrderMark)
		if sealed == "" {
			problems = append(problems, Problem{Line: 1, Text: "a byte order mark at the start", Try: "Save it without one: many tools take it for a part of the text."})
		}
	}
	for at < len(text) {
		end := strings.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			next = len(text)
			end = next - at
		}
		l := line{text: text[at : at+end], from: at, to: at + end}
		if strings.HasSuffix(l.text, "\r") {
			l.text, l.to = l.text[:len(l.text)-1], l.to-1
		}
		lines = append(lines, l)
		at = next
	}
	return lines, problems, sealed
}

// loneReturn is the place of the first carriage return without a line feed behind it.
func loneReturn(text string) int {
	for i := 0; ; i++ {
		next := strings.IndexByte(text[i:], '\r')
		if next < 0 {
			return -1
		}
		if i += next; i+1 == len(text) || text[i+1] != '\n' {
			return i
		}
	}
}

// withoutLoneReturns ends lines where they stand, as old systems did.
func withoutLoneReturns(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			b[i] = '\n'
		}
	}
	return string(b)
}

func fromUTF16(src []byte) string {
	units := make([]uint16, 0, len(src)/2)
	little := src[0] == 0xff
	for i := 0; i+1 < len(src); i += 2 {
		if little {
			units = append(units, uint16(src[i])|uint16(src[i+1])<<8)
		} else {
			units = append(units, uint16(src[i])<<8|uint16(src[i+1]))
		}
	}
	return string(utf16.Decode(units))
}

// lineEnd is what ends the lines of a file: that of the first one.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
