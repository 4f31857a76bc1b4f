package scip

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// encoding is in which units an index counts columns.
type encoding uint64

const (
	utf8Units  encoding = 1
	utf16Units encoding = 2
	utf32Units encoding = 3
)

// encodingOf is the encoding of a document that does not say: that of the language its
// indexer is written in.
func encodingOf(said uint64, tool string) encoding {
	switch e := encoding(said); {
	case e >= utf8Units && e <= utf32Units:
		return e
	case strings.HasSuffix(tool, "-go") || tool == "scip-ruby" || tool == "scip-clang" || tool == "rust-analyzer":
		return utf8Units
	}
	return utf16Units
}

// content is a file by its lines.
type content struct {
	text  []byte
	lines []int32 // where each starts
	enc   encoding

	last    struct{ line, col, at int } // the column that was found last: the next one is near
	extents map[int]int                 // that were found, by the line they start on
}

func newContent(text []byte, enc encoding) content {
	c := content{text: text, enc: enc, lines: []int32{0}, extents: map[int]int{}}
	for i, b := range text {
		if b == '\n' {
			c.lines = append(c.lines, int32(i+1))
		}
	}
	return c
}

// line returns a line, from 0, with its end.
func (c *content) line(n int) ([]byte, bool) {
	if n < 0 || n >= len(c.lines) {
		return nil, false
	}
	end := len(c.text)
	if n+1 < len(c.lines) {
		end = int(c.lines[n+1])
	}
	return c.text[c.lines[n]:end], true
}

// offset is where a column of a line starts, in bytes. n is the line's number.
func (c *content) offset(n int, line []byte, col int) (int, bool) {
	if c.enc == utf8Units {
		return col, col <= len(line)
	}
	from, at := 0, 0
	if c.last.line == n && c.last.col <= col { // a line may be a whole file
		from, at = c.last.col, c.last.at
	}
	for from < col {
		if at >= len(line) {
			return 0, false
		}
		r, size := utf8.DecodeRune(line[at:])
		at += size
		from++
		if c.enc == utf16Units && r >= 0x10000 {
			from++
		}
	}
	c.last.line, c.last.col, c.last.at = n, from, at
	return at, true
}

// at returns what a span within one line covers, and what stands before and after it
// on the line.
func (c *content) at(s span) (before, what, after []byte, ok bool) {
	line, ok := c.line(s.line)
	if !ok || s.endLine != s.line {
		return nil, nil, nil, false
	}
	from, ok1 := c.offset(s.line, line, s.col)
	to, ok2 := c.offset(s.line, line, s.endCol)
	if !ok1 || !ok2 || to < from {
		return nil, nil, nil, false
	}
	return line[:from], line[from:to], line[to:], true
}

// spells reports whether a name stands at a span, in quotes or not.
func spells(what []byte, name string) bool { return bytes.Contains(what, []byte(name)) }

// maxTypeArguments is how many bytes type arguments may take.
const maxTypeArguments = 200

// called reports whether what follows a name calls it: a parenthesis, after type
// arguments or an exclamation mark if any.
func called(after []byte) bool {
	after = after[:min(len(after), maxTypeArguments)]
	after = bytes.TrimLeft(after, " \t")
	after = bytes.TrimPrefix(bytes.TrimPrefix(after, []byte("!")), []byte("?."))
	after = bytes.TrimPrefix(after, []byte("::"))
	if len(after) > 0 && (after[0] == '<' || after[0] == '[') {
		depth := 0
		for i, b := range after {
			switch b {
			case '<', '[':
				depth++
			case '>', ']':
				depth--
			case ';', '{', '"':
				return false
			}
			if depth == 0 {
				after = bytes.TrimLeft(after[i+1:], " \t")
				break
			}
		}
		if depth != 0 {
			return false
		}
	}
	return len(after) > 0 && after[0] == '('
}

// indent is how far a line is indented, and -1 for one without text.
func indent(line []byte) int {
	width := 0
	for _, b := range line {
		switch b {
		case ' ':
			width++
		case '\t':
			width += 8
		case '\r', '\n':
			return -1
		default:
			return width
		}
	}
	return -1
}

// extent is the last line of what starts on a line, by the indentation below it; a
// closing bracket or "end" belongs to it.
func (c *content) extent(start int) int {
	end, ok := c.extents[start]
	if !ok {
		end = c.measure(start)
		c.extents[start] = end
	}
	return end
}

func (c *content) measure(start int) int {
	first, ok := c.line(start)
	if !ok {
		return start
	}
	depth, end := indent(first), start
	for n := start + 1; n < len(c.lines); n++ {
		line, _ := c.line(n)
		in := indent(line)
		if in < 0 {
			continue
		}
		if in <= depth {
			trimmed := bytes.TrimSpace(line)
			if in == depth && (bytes.ContainsRune([]byte("})]"), rune(trimmed[0])) || bytes.HasPrefix(trimmed, []byte("end"))) {
				end = n
				continue
			}
			break
		}
		end = n
	}
	return end
}
