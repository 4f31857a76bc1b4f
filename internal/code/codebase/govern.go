package codebase

import (
	"context"
	"reflect"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
)

// Govern reads the decisions that have changed, and tells the graph what they are about.
// The error is that of ctx.
func (c *Codebase) Govern(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.governed = false // the registry tells nobody of what was written through it
	_, err := c.govern(ctx)
	return err
}

func (c *Codebase) govern(ctx context.Context) (codegraph.Counts, error) {
	ch, err := c.decisions.Refresh(ctx)
	if err != nil {
		return c.View().Counts(), err
	}
	if !c.governed || len(ch.Added)+len(ch.Changed)+len(ch.Removed) > 0 {
		var ds []codegraph.Decision
		for _, r := range c.decisions.List() {
			if governs(&r) {
				ds = append(ds, codegraph.Decision{ID: r.Handle, Title: r.Title.Text, Path: r.Path, Line: r.Title.Line, Targets: targets(r)})
			}
		}
		if g := c.graph.Load(); g != c.toldTo || !reflect.DeepEqual(ds, c.told) {
			g.Govern(ds)
			c.toldTo, c.told = g, ds
		}
		c.governed = true
	}
	return c.View().Counts(), nil
}

// governs reports whether a record is in force, or may come to be: what was replaced,
// given up or put into the archive governs nothing any more.
func governs(r *decision.Record) bool {
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
		if name := plain(t.Name); name != "" {
			out = append(out, codegraph.Target{Name: name, How: how})
		}
	}
	return out
}

// plain is the folder that a glob is about, and any other name as it is.
func plain(name string) string {
	i := strings.IndexAny(name, "*?[")
	if i < 0 || !strings.Contains(name, "/") {
		return name
	}
	return strings.TrimSuffix(name[:strings.LastIndexByte(name[:i], '/')+1], "/")
}
