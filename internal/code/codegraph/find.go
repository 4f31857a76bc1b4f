package codegraph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Node is one thing that has an ID, as answers name it.
type Node struct {
	ID        string `json:"id"`
	Kind      Kind   `json:"kind"`
	Name      string `json:"name"`      // bare
	Qualified string `json:"qualified"` // the ID without its prefix
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"` // of the first place, 0 for a file and a package
	Language  string `json:"language,omitempty"`
	Signature string `json:"signature,omitempty"`
	Exported  bool   `json:"exported,omitempty"`
	Test      bool   `json:"test,omitempty"`     // only tests declare it
	External  bool   `json:"external,omitempty"` // a package or interface that is not in the repository
	In        int    `json:"in"`                 // edges that lead to it
}

// place returns the first place of a node by path and line; ok is false for what is
// declared nowhere.
func (v *View) place(i int32) (u *unit, d *decl, ok bool) {
	for _, p := range v.nodes.at(i).places {
		if p.decl == onlyEdges {
			continue
		}
		pu := v.unit(p.unit)
		var pd *decl
		if p.decl >= 0 {
			pd = &pu.decls[p.decl]
		}
		if !ok || comparePlaces(v, pu, pd, u, d) < 0 {
			u, d, ok = pu, pd, true
		}
	}
	return u, d, ok
}

func comparePlaces(v *View, a *unit, ad *decl, b *unit, bd *decl) int {
	line := func(d *decl) int32 {
		if d == nil {
			return 0
		}
		return d.line
	}
	return cmp.Or(strings.Compare(v.text(a.path), v.text(b.path)), cmp.Compare(line(ad), line(bd)))
}

func (v *View) node(i int32) Node {
	n := v.nodes.at(i)
	out := Node{ID: v.id(i), Kind: kindNames[n.kind], Name: v.text(n.name), Qualified: v.text(n.qual),
		Exported: n.flags&exported != 0, Test: n.flags&testOnly != 0, External: n.flags&inRepo == 0, In: len(n.in)}
	u, d, ok := v.place(i)
	if !ok {
		return out
	}
	out.Path, out.Language = v.text(u.path), v.text(u.lang)
	if d != nil {
		out.Line, out.Signature = int(d.line), u.signature(d)
	}
	switch {
	case u.decision != nil:
		out.Line, out.Signature = u.decision.Line, u.decision.Title
	case d == nil && n.kind.space():
		out.Path = folder(out.Path)
	}
	return out
}

// Find returns what a text may stand for: an ID; a qualified name; the end of one, from a
// dot or slash on, such as store.Shelf or Shelf.View; a bare name; the path of a file or
// the end of one. The first of these that fits anything decides. Nodes to which most
// edges lead come first; at most limit of total are returned.
func (v *View) Find(text string, limit int) (nodes []Node, total int) {
	found := v.find(text)
	for _, i := range found[:min(len(found), max(limit, 0))] {
		nodes = append(nodes, v.node(i))
	}
	return nodes, len(found)
}

// One is Find for a text that must stand for one thing; what tests declare stands back
// when one other thing fits. Errors: ken.ErrNotFound, and
// ken.ErrInvalid with the candidates when there are several.
func (v *View) One(text string) (Node, error) {
	i, err := v.one(text)
	if err != nil {
		return Node{}, err
	}
	return v.node(i), nil
}

func (v *View) one(text string) (int32, error) {
	found := v.find(text)
	switch len(found) {
	case 0:
		return -1, &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "nothing in the graph is called " + strconv.Quote(line200(text)),
			Try: "Search for a part of the name, or build the graph again if it is new."}
	case 1:
		return found[0], nil
	}
	shipped := slices.DeleteFunc(slices.Clone(found), func(i int32) bool { return v.nodes.at(i).flags&testOnly != 0 })
	if len(shipped) == 1 {
		return shipped[0], nil
	}
	var ids []string
	for _, i := range found[:min(len(found), 5)] {
		ids = append(ids, v.id(i))
	}
	more := ""
	if n := len(found) - len(ids); n > 0 {
		more = fmt.Sprintf(", or %d more", n)
	}
	return -1, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q may be %d things", line200(text), len(found)),
		Try: "Give the ID: " + strings.Join(ids, ", ") + more + "."}
}

func (v *View) find(text string) []int32 {
	text = strings.TrimSpace(text)
	if k, q, ok := Split(text); ok {
		if x, known := v.names.find(q); known {
			if i := v.byRef(ref{numberOfKind(k), x}); i >= 0 {
				return []int32{i}
			}
		}
		return nil
	}
	found := v.named(strings.TrimPrefix(text, "./"), false)
	slices.SortFunc(found, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(v.nodes.at(b).in), len(v.nodes.at(a).in)), v.compare(a, b))
	})
	return found
}

// named lists the nodes with a qualified name or path, else those with a longer one
// that ends with it, in no order; with declared, only what is in the repository.
func (v *View) named(name string, declared bool) (found []int32) {
	if name == "" {
		return nil
	}
	if x, ok := v.names.find(name); ok {
		v.byQual(x, func(i int32, n *node) bool {
			if !declared || n.flags&inRepo != 0 {
				found = append(found, i)
			}
			return true
		})
	}
	if len(found) > 0 {
		return found
	}
	for _, last := range slices.Compact([]string{lastPart(name), base(name)}) {
		x, ok := v.names.find(last)
		if !ok {
			continue
		}
		v.byName(x, func(i int32, n *node) bool {
			rest, ok := strings.CutSuffix(v.text(n.qual), name)
			if ok && (!declared || n.flags&inRepo != 0) && (rest == "" || strings.HasSuffix(rest, ".") || strings.HasSuffix(rest, "/")) {
				found = append(found, i)
			}
			return true
		})
		if len(found) > 0 {
			break
		}
	}
	return found
}
