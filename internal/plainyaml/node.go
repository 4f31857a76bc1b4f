package plainyaml

import (
	"strconv"
	"strings"
	"unicode"
)

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota // an empty value, or null
	Scalar
	List
	Map
)

// Node is one value.
type Node struct {
	Kind   Kind
	Line   int     // where it starts; the text's first line is 1
	Text   string  // of a Scalar: as written, without quotes and folding, so 1.0 stays 1.0
	Block  bool    // a Scalar of several lines, after | or >
	Flow   bool    // a List or Map in brackets
	Items  []Node  // of a List
	Fields []Field // of a Map, in the order of the text
}

// Field is a key with its value. Line is the key's line.
type Field struct {
	Key   string
	Line  int
	Value Node
}

// Fault describes a part that could not be read.
type Fault struct {
	Line int
	Text string // what is wrong, in lower case
	Try  string // what to do about it
}

// Words returns a value as a list: the items that are single values, or the parts of a
// single value between the separators. It leaves out empty ones.
func (n Node) Words(separators string) []Node {
	var out []Node
	switch n.Kind {
	case List:
		for _, i := range n.Items {
			if i.Kind == Scalar && strings.TrimSpace(i.Text) != "" {
				out = append(out, i)
			}
		}
	case Scalar:
		for _, part := range split(n.Text, separators) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, Node{Kind: Scalar, Line: n.Line, Text: part})
			}
		}
	}
	return out
}

// split splits a text at separators that are not within brackets: "a (b, c), d" gives
// two parts.
func split(s, separators string) (out []string) {
	from, depth := 0, 0
	for i, r := range s {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth = max(0, depth-1)
		case depth == 0 && strings.ContainsRune(separators, r):
			out = append(out, s[from:i])
			from = i + len(string(r))
		}
	}
	return append(out, s[from:])
}

// Quote returns a text as a one-line value that Parse reads back, also within brackets.
// It adds double quotes only where they are needed.
func Quote(s string) string {
	if readsAsString(s) && !strings.ContainsAny(s, ",[]{}\"\\") && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ") {
		return s
	}
	return strconv.Quote(s) // YAML supports every escape that Quote writes
}

// readsAsString reports whether a text is read as a string, and not as a number, a date or a
// boolean.
func readsAsString(s string) bool {
	if s == "" {
		return false
	}
	for i, r := range s {
		if i == 0 && !unicode.IsLetter(r) || !unicode.IsPrint(r) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf":
		return false
	}
	return true
}

// ValueAt returns the start and end of the value in a line "key: value": with its
// quotes, without a comment. Both are the end of the line's text if there is no value.
func ValueAt(line string) (from, to int) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return len(line), len(line)
	}
	if q := strings.TrimLeft(line, " -"); q != "" && (q[0] == '"' || q[0] == '\'') { // a quoted key
		at := len(line) - len(q)
		if end := strings.IndexByte(line[at+1:], q[0]); end >= 0 {
			if c := strings.IndexByte(line[at+1+end:], ':'); c >= 0 {
				colon = at + 1 + end + c
			}
		}
	}
	return ScalarAt(line, colon+1)
}

// ScalarAt returns the start and end of the single value that begins at or after an
// offset of a line.
func ScalarAt(line string, at int) (from, to int) {
	from, to = at, len(strings.TrimRight(line, " \t"))
	for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	if from >= to {
		return min(from, len(line)), min(from, len(line))
	}
	switch line[from] {
	case '"', '\'':
		for i := from + 1; i < to; i++ {
			if line[i] == '\\' && line[from] == '"' {
				i++
			} else if line[i] == line[from] {
				return from, i + 1
			}
		}
	case '#':
		return from, from
	default:
		if c := strings.Index(line[from:to], " #"); c >= 0 {
			to = from + len(strings.TrimRight(line[from:from+c], " \t"))
		}
	}
	return from, to
}
