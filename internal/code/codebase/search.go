package codebase

import (
	"context"
	"path"
	"reflect"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
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

// Govern reads the decisions that have changed, and tells the graph what they are about.
// The error is that of ctx.
func (c *Codebase) Govern(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.applied = false // the registry tells nobody of what was written through it
	_, err := c.applyDecisions(ctx)
	return err
}

func (c *Codebase) applyDecisions(ctx context.Context) (codegraph.Counts, error) {
	ch, err := c.decisions.Refresh(ctx)
	if err != nil {
		return c.View().Counts(), err
	}
	if !c.applied || len(ch.Added)+len(ch.Changed)+len(ch.Removed) > 0 {
		var ds []codegraph.Decision
		for _, r := range c.decisions.List() {
			if inForce(&r) {
				ds = append(ds, codegraph.Decision{ID: r.Handle, Title: r.Title.Text, Path: r.Path, Line: r.Title.Line, Targets: targets(r)})
			}
		}
		if g := c.graph.Load(); g != c.appliedTo || !reflect.DeepEqual(ds, c.appliedDecisions) {
			g.Govern(ds)
			c.appliedTo, c.appliedDecisions = g, ds
		}
		c.applied = true
	}
	return c.View().Counts(), nil
}

// inForce reports whether a record is in force, or may come to be: what was replaced,
// given up or put into the archive governs nothing any more.
func inForce(r *decision.Record) bool {
	switch r.Status {
	case decision.Superseded, decision.Deprecated, decision.Rejected:
		return false
	}
	return !r.Archived
}

func targets(r decision.Record) []codegraph.Target {
	var out []codegraph.Target
	for _, t := range decision.Targets(r) {
		how := codegraph.Guess
		if t.Exact {
			how = codegraph.Exact
		}
		if name := folderOfGlob(t.Name); name != "" {
			out = append(out, codegraph.Target{Name: name, How: how})
		}
	}
	return out
}

// folderOfGlob is the folder that a glob is about, and any other name as it is.
func folderOfGlob(name string) string {
	i := strings.IndexAny(name, "*?[")
	if i < 0 || !strings.Contains(name, "/") {
		return name
	}
	return strings.TrimSuffix(name[:strings.LastIndexByte(name[:i], '/')+1], "/")
}
