package codegraph

import (
	"cmp"
	"strings"
)

// Beginning lists nodes of the repository that a text may be the beginning of, as a
// shell completes it: of the bare name, of the qualified name or its end from a dot or
// slash on, or of the ID. Those to which most edges lead come first, then by ID, at most
// limit of them. It looks at every node: some ten milliseconds for 200,000.
func (v *View) Beginning(text string, limit int) []Node {
	first := top[int32]{n: min(max(limit, 0), MaxLimit), less: func(a, b int32) bool {
		return cmp.Or(cmp.Compare(len(v.nodes.at(b).in), len(v.nodes.at(a).in)), v.compare(a, b)) < 0
	}}
	kind, rest, isID := Split(text)
	for i := range v.nodes.n {
		n := v.nodes.at(i)
		if n.kind == noKind || n.flags&inRepo == 0 {
			continue
		}
		if q := v.text(n.qual); isID && kindNames[n.kind] == kind && strings.HasPrefix(q, rest) || !isID && beginsPart(q, text) {
			first.add(i)
		}
	}
	var out []Node
	for _, i := range first.sorted() {
		out = append(out, v.node(i))
	}
	return out
}

// beginsPart reports whether a text is in a name at its beginning, or behind a dot or
// slash. Without any of these itself, it is in the last part.
func beginsPart(name, text string) bool {
	if !strings.ContainsAny(text, "./") {
		return strings.HasPrefix(name[strings.LastIndexAny(name, "./")+1:], text)
	}
	for at := 0; ; {
		i := strings.Index(name[at:], text)
		if i < 0 {
			return false
		}
		if at += i; at == 0 || name[at-1] == '.' || name[at-1] == '/' {
			return true
		}
		at++
	}
}
