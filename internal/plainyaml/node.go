package plainyaml

import (
	"strconv"
	"strings"
	"unicode"
)

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota // nothing, or null
	Scalar
	List
	Map
)

// Node is one value.
type Node struct {
	Kind   Kind
	Line   int     // where it starts, counted from the first line of the text
	Text   string  // of a Scalar, as it stands but for quotes and folding: 1.0 stays 1.0
	Block  bool    // a Scalar of several lines, after | or >
	Flow   bool    // a List or Map in brackets
	Items  []Node  // of a List
	Fields []Field // of a Map, in the order of the text
}

// Field is a key with its value. Line is that of the key.
type Field struct {
	Key   string
	Line  int
	Value Node
}

// Fault is a place that could not be read.
type Fault struct {
	Line int
	Text string // what is wrong, lower case
	Try  string // what to do about it
}

// Words returns what a value says as a list: the items that are single values, or the
// parts of a single value between the separators. Empty ones are left out.
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

// split cuts at separators, but not within brackets: "a (b, c), d" is two.
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

// Quote writes a text as a single value that Parse reads back, on one line, also within
// brackets: as it stands where that is safe, else in double quotes.
func Quote(s string) string {
	if worded(s) && !strings.ContainsAny(s, ",[]{}\"\\") && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ") {
		return s
	}
	return strconv.Quote(s) // every escape that it writes is one of YAML's, too
}

// worded reports whether a text reads as words, and not as a number, a date or a switch.
func worded(s string) bool {
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

// ValueAt is where the value stands in a line "key: value": with its quotes, without the
// comment behind it. Both are the end of the line's text where there is none.
func ValueAt(line string) (from, to int) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return len(line), len(line)
	}
	if q := strings.TrimLeft(line, " -"); q != "" && (q[0] == '"' || q[0] == '\'') { // a key in quotes
		at := len(line) - len(q)
		if end := strings.IndexByte(line[at+1:], q[0]); end >= 0 {
			if c := strings.IndexByte(line[at+1+end:], ':'); c >= 0 {
				colon = at + 1 + end + c
			}
		}
	}
	return ScalarAt(line, colon+1)
}

// ScalarAt is where a single value stands in a line from a place on.
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
