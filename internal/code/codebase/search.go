package codebase

import (
	"cmp"
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
)

// Query is a search in a graph. Words is as in View.Search; the other fields restrict the results.
type Query struct {
	Words    string
	Kinds    []codegraph.Kind // any of them; none means all
	Path     string           // a file, a folder with everything below it, or a pattern such as *.go for names or whole paths
	Exported bool             // only what is visible outside its package or file
	NoTests  bool             // leave out what only tests declare
}

// Found is one page of the results of a search.
type Found struct {
	Results []codegraph.Result `json:"results"`
	Total   int                `json:"total"`
	// Least says that there may be more than Total: only the best codegraph.MaxLimit matches of the words were
	// examined.
	Least bool `json:"at_least,omitempty"`
}

// Search finds nodes and returns one page of them, the best first. A limit of 0 means codegraph.DefaultLimit. There are
// at most codegraph.MaxLimit results over all pages.
func Search(v *codegraph.View, q Query, p codegraph.Page) Found {
	p.Limit = cmp.Or(max(p.Limit, 0), codegraph.DefaultLimit)
	p.Offset = max(p.Offset, 0)
	narrow := q.Path != "" || q.Exported || q.NoTests
	most := min(p.Offset+p.Limit, codegraph.MaxLimit)
	if narrow {
		most = codegraph.MaxLimit
	}
	list, total := v.Search(q.Words, q.Kinds, most)
	out := Found{Results: []codegraph.Result{}, Total: total}
	if narrow {
		out.Least = total > len(list)
		list = slices.DeleteFunc(list, func(r codegraph.Result) bool { return !q.fits(&r.Node) })
		out.Total = len(list)
	}
	out.Results = append(out.Results, list[min(p.Offset, len(list)):min(p.Offset+p.Limit, len(list))]...)
	return out
}

// fits reports whether a node satisfies the query's restrictions.
func (q *Query) fits(n *codegraph.Node) bool {
	if q.Exported && !n.Exported || q.NoTests && n.Test {
		return false
	}
	want := strings.TrimSuffix(strings.TrimPrefix(q.Path, "./"), "/")
	if want == "" || want == "." || n.Path == want || strings.HasPrefix(n.Path, want+"/") {
		return true
	}
	whole, _ := path.Match(want, n.Path) // an invalid pattern matches nothing
	name, _ := path.Match(want, path.Base(n.Path))
	return whole || name
}

// Govern reads the decisions that have changed and applies them to the graph. The error is that of ctx.
func (c *Codebase) Govern(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.applied = false // the registry does not report what was written through it
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

// inForce reports whether a decision is in force or may become so. A superseded, deprecated, rejected or archived
// decision governs nothing.
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

// folderOfGlob returns the folder of a glob. It returns any other name unchanged.
func folderOfGlob(name string) string {
	i := strings.IndexAny(name, "*?[")
	if i < 0 || !strings.Contains(name, "/") {
		return name
	}
	return strings.TrimSuffix(name[:strings.LastIndexByte(name[:i], '/')+1], "/")
}
