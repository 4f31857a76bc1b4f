package plainyaml

import "strings"

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
