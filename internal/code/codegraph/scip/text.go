package scip

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// encoding is the unit in which an index counts columns.
type encoding uint64

const (
	utf8Units  encoding = 1
	utf16Units encoding = 2
	utf32Units encoding = 3
)

// encodingOf returns the encoding of a document. If the document does not say, it is that of the language in which its
// indexer is written.
func encodingOf(said uint64, tool string) encoding {
	switch e := encoding(said); {
	case e >= utf8Units && e <= utf32Units:
		return e
	case strings.HasSuffix(tool, "-go") || tool == "scip-ruby" || tool == "scip-clang" || tool == "rust-analyzer":
		return utf8Units
	}
	return utf16Units
}

// content is the text of a file, split into lines.
type content struct {
	text  []byte
	lines []int32 // offset of each line
	enc   encoding

	last    struct{ line, col, at int } // the last column found; the next one is usually close
	extents map[int]int                 // results of extent, by first line
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

// line returns line n, counted from 0, with its line end.
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

// offset returns the byte offset of a column in a line. n is the line's number.
func (c *content) offset(n int, line []byte, col int) (int, bool) {
	if c.enc == utf8Units {
		return col, col <= len(line)
	}
	from, at := 0, 0
	if c.last.line == n && c.last.col <= col { // a line may be as long as the file
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

// at returns the text of a span within one line, and the text before and after it on that line.
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

// spells reports whether the text of a span is a name, with or without quotes.
func spells(what []byte, name string) bool { return bytes.Contains(what, []byte(name)) }

// maxTypeArguments is the maximum length of type arguments, in bytes.
const maxTypeArguments = 200

// called reports whether the text after a name makes it a call: an opening parenthesis, possibly after type arguments
// or an exclamation mark.
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

// indent returns the width of a line's indentation; -1 for a blank line.
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

// extent returns the last line of the block that begins on a line, by the indentation of the lines below. A closing
// bracket or "end" belongs to the block.
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
