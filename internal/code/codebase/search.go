package codebase

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Query is what to look for in a graph. Words are as View.Search has them; the rest narrows
// what they find.
type Query struct {
	Words    string
	Kinds    []codegraph.Kind // any of them; none means all
	Path     string           // a file, a folder with what is in it, or a pattern such as *.go of names or whole paths
	Exported bool             // only what can be seen from outside of its package or file
	NoTests  bool             // not what only tests declare
}

// Found is a part of what a search found.
type Found struct {
	Results []codegraph.Result `json:"results"`
	Total   int                `json:"total"`
	// Least says that there may be more than Total: of what the words find, only the best
	// codegraph.MaxLimit were looked at.
	Least bool `json:"at_least,omitempty"`
}

// Search finds nodes, the best first, and returns those that a page asks for. A page's
// limit of 0 means codegraph.DefaultLimit; nothing lies behind the first
// codegraph.MaxLimit.
func Search(v *codegraph.View, q Query, p codegraph.Page) Found {
	if p.Limit <= 0 {
		p.Limit = codegraph.DefaultLimit
	}
	p.Offset = max(p.Offset, 0)
	narrow := q.Path != "" || q.Exported || q.NoTests
	most := min(p.Offset+p.Limit, codegraph.MaxLimit)
	if narrow {
		most = codegraph.MaxLimit
	}
	list, total := v.Search(q.Words, q.Kinds, most)
	out := Found{Results: []codegraph.Result{}, Total: total}
	if narrow {
		fit := list[:0]
		for i := range list {
			if q.fits(&list[i].Node) {
				fit = append(fit, list[i])
			}
		}
		out.Least = total > len(list)
		list, out.Total = fit, len(fit)
	}
	out.Results = append(out.Results, list[min(p.Offset, len(list)):min(p.Offset+p.Limit, len(list))]...)
	return out
}

// fits reports whether a node is what the query is narrowed to.
func (q *Query) fits(n *codegraph.Node) bool {
	if q.Exported && !n.Exported || q.NoTests && n.Test {
		return false
	}
	want := strings.TrimSuffix(strings.TrimPrefix(q.Path, "./"), "/")
	if want == "" || want == "." || n.Path == want || strings.HasPrefix(n.Path, want+"/") {
		return true
	}
	for _, name := range []string{n.Path, path.Base(n.Path)} {
		if ok, err := path.Match(want, name); ok && err == nil {
			return true
		}
	}
	return false
}
