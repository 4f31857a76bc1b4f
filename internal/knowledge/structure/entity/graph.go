package entity

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// DefaultNodes is the default maximum number of nodes of a graph.
const DefaultNodes = 60

// MaxDepth is the maximum depth of a graph.
const MaxDepth = 3

// Graph is an entity with its neighbourhood.
type Graph struct {
	Root  string `json:"root"`
	Depth int    `json:"depth"`
	Nodes []Node `json:"nodes"` // by depth, then by name; the root first
	Edges []Edge `json:"edges"` // by source, target and type
	// Left is the number of nodes within the depth that are adjacent to those in the
	// graph but were left out by the limit, the weakest first.
	Left int `json:"left,omitempty"`
}

// Node is an entity in a graph.
type Node struct {
	Name        string `json:"name"`
	Display     string `json:"display"`
	Type        string `json:"type"`
	Depth       int    `json:"depth"` // number of dependencies between it and the root
	Records     int    `json:"records"`
	Constraints int    `json:"constraints"` // its own
}

// Edge is a dependency, or the relation of a task to what it is about.
type Edge struct {
	Source   string  `json:"source"`
	Target   string  `json:"target"`
	Type     string  `json:"type"` // type of the dependency, or About
	Strength float64 `json:"strength"`
	ClaimID  string  `json:"claim_id"`
}

// About is the type of the edge from a task to the entity that it is about.
const About = "about"

// Neighbourhood returns the graph around the entity that a name stands for. It has
// dependencies in both directions, up to depth steps away, and the open tasks about
// the entity. depth is 1 to MaxDepth. All names of an entity are one node. If not all
// nodes fit, the nearest and then the strongest are taken. change sets Options; Links
// is the maximum number of nodes, and is DefaultNodes unless it is set. Errors are
// those of Show, and ErrInvalid for an invalid depth.
func Neighbourhood(ctx context.Context, p store.Projections, name string, depth int, f *ken.Filter, change ...func(*Options)) (Graph, error) {
	if depth < 1 || depth > MaxDepth {
		return Graph{}, &ken.Error{Code: ken.CodeInvalid, Field: "depth", Msg: strconv.Itoa(depth) + " is outside 1.." + strconv.Itoa(MaxDepth),
			Try: "Give a depth from 1 to " + strconv.Itoa(MaxDepth) + "."}
	}
	if f == nil {
		f = &ken.Filter{Unscoped: true}
	}
	found, err := Find(ctx, p, name, f)
	if err != nil {
		return Graph{}, err
	}
	o := options(append([]func(*Options){func(o *Options) { o.Links = DefaultNodes }}, change...))
	g := &graphBuilder{ctx: ctx, p: p, f: f, o: o, nodes: map[string]*Node{}, edges: map[edgeKey]Edge{}, of: map[string]string{}}
	return g.grow(found[0], depth)
}

type edgeKey struct{ source, target, typ string }

// graphBuilder builds a graph step by step.
type graphBuilder struct {
	ctx   context.Context
	p     store.Projections
	f     *ken.Filter
	o     Options
	nodes map[string]*Node
	edges map[edgeKey]Edge
	of    map[string]string // the entity that a name stands for, by name
}

func (g *graphBuilder) grow(root Found, depth int) (Graph, error) {
	left := map[string]bool{}
	g.nodes[root.Name] = &Node{Name: root.Name, Display: root.Name, Type: Unknown}
	ring := []string{root.Name}
	for at := 0; ; at++ {
		near := map[string]float64{} // strength of the strongest link, by node
		for _, n := range ring {
			if err := g.visit(n, at < depth, near); err != nil {
				return Graph{}, err
			}
		}
		if at == depth {
			break
		}
		ring = nil
		strongest := slices.SortedFunc(maps.Keys(near), func(a, b string) int {
			return cmp.Or(cmp.Compare(near[b], near[a]), cmp.Compare(a, b))
		})
		for _, n := range strongest {
			if g.nodes[n] != nil {
				continue
			}
			if len(g.nodes) >= g.o.Links {
				left[n] = true
				continue
			}
			g.nodes[n] = &Node{Name: n, Display: n, Type: Unknown, Depth: at + 1}
			ring = append(ring, n)
		}
	}
	out := Graph{Root: root.Name, Depth: depth, Nodes: []Node{}, Edges: []Edge{}, Left: len(left)}
	for _, n := range g.nodes {
		n.Type = guessed(n.Type, n.Name)
		out.Nodes = append(out.Nodes, *n)
	}
	slices.SortFunc(out.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Name, b.Name)) })
	for _, e := range g.edges {
		if g.nodes[e.Source] != nil && g.nodes[e.Target] != nil {
			out.Edges = append(out.Edges, e)
		}
	}
	slices.SortFunc(out.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}

// visit sets the fields of a node and records its edges. With follow, it also records
// the nodes at their ends.
func (g *graphBuilder) visit(name string, follow bool, near map[string]float64) error {
	node := g.nodes[name]
	sets, err := structure.New(g.p, nil).Resolve(g.ctx, name, g.f)
	if err != nil {
		return err
	}
	names := []string{name}
	if len(sets) == 1 && sets[0][0] == name {
		names = sets[0]
	}
	outlines, err := g.p.Outlines(g.ctx, names, g.f, store.OutlineOptions{Aspects: 1, Top: 1, Links: allLinks})
	if err != nil {
		return err
	}
	rules := map[store.Ref]bool{}
	for i := range outlines {
		o := &outlines[i]
		node.Records += o.Records
		for _, r := range o.Constraints {
			rules[r] = true
		}
		if err := typed(g.ctx, g.p, o, names[i], &node.Type, &node.Display, i == 0); err != nil {
			return err
		}
		for j := range o.Links {
			if err := g.link(name, names, &o.Links[j], follow, near); err != nil {
				return err
			}
		}
	}
	node.Constraints = len(rules)
	return nil
}

func (g *graphBuilder) link(name string, names []string, l *store.Link, follow bool, near map[string]float64) error {
	e := Edge{Type: l.Type, Strength: l.Strength}
	switch {
	case l.Kind == ken.KindDependency && len(l.Names) == 2:
		for i, end := range []*string{&e.Source, &e.Target} {
			var err error
			if *end, err = g.end(l.Names[i], name, names); err != nil {
				return err
			}
		}
	case l.Kind == ken.KindEntity && l.Type == task.Type && follow && len(l.Names) > 1 && !slices.Contains(names, l.Names[0]):
		c, err := g.p.Claim(g.ctx, l.Ref)
		if errors.Is(err, ken.ErrNotFound) { // deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if t, ok := task.Of(c, g.o.Now()); !ok || t.Status.Over() {
			return nil
		}
		e.Source, e.Target, e.Type = l.Names[0], name, About
	default:
		return nil
	}
	if e.Source == e.Target {
		return nil
	}
	row, ok := g.p.Row(l.Ref)
	if !ok {
		return nil
	}
	e.ClaimID = row.ID
	key := edgeKey{e.Source, e.Target, e.Type}
	if had, ok := g.edges[key]; !ok || had.Strength < e.Strength || had.Strength == e.Strength && e.ClaimID < had.ClaimID {
		g.edges[key] = e
	}
	if follow {
		for _, n := range []string{e.Source, e.Target} {
			if n != name {
				near[n] = max(near[n], e.Strength)
			}
		}
	}
	return nil
}

// end returns the node for one end of a dependency.
func (g *graphBuilder) end(n, name string, names []string) (string, error) {
	if slices.Contains(names, n) {
		return name, nil
	}
	if of, ok := g.of[n]; ok {
		return of, nil
	}
	sets, err := structure.New(g.p, nil).Resolve(g.ctx, n, g.f)
	if err != nil {
		return "", err
	}
	g.of[n] = sets[0][0]
	return g.of[n], nil
}

// Tasks yields the tasks that pass the filter, whatever their state at now, by number.
// If about is not empty, only tasks about one of these names are yielded. The names
// must be in normalised form.
func Tasks(ctx context.Context, p store.Projections, about []string, f *ken.Filter, now time.Time) iter.Seq2[task.Task, error] {
	return func(yield func(task.Task, error) bool) {
		refs, err := taskRefs(ctx, p, about, f)
		if err != nil {
			yield(task.Task{}, err)
			return
		}
		for _, r := range refs {
			c, err := p.Claim(ctx, r.ref)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if err != nil {
				yield(task.Task{}, err)
				return
			}
			if t, ok := task.Of(c, now); ok && !yield(t, nil) {
				return
			}
		}
	}
}

type taskRef struct {
	number uint64
	ref    store.Ref
}

// taskRefs finds tasks by what they are about, or by their own names.
func taskRefs(ctx context.Context, p store.Projections, about []string, f *ken.Filter) ([]taskRef, error) {
	names := about
	if len(names) == 0 {
		for n, err := range p.Names(ctx, f) {
			if err != nil {
				return nil, err
			}
			if _, ok := task.IDOf(n.Name); ok {
				names = append(names, n.Name)
			}
		}
	}
	outlines, err := p.Outlines(ctx, names, f, store.OutlineOptions{Aspects: 1, Top: 1, Links: allLinks})
	if err != nil {
		return nil, err
	}
	var out []taskRef
	for i := range outlines {
		for _, l := range outlines[i].Links {
			if l.Kind != ken.KindEntity || l.Type != task.Type || len(l.Names) == 0 {
				continue
			}
			if id, ok := task.IDOf(l.Names[0]); ok {
				out = append(out, taskRef{task.Number(id), l.Ref})
			}
		}
	}
	slices.SortFunc(out, func(a, b taskRef) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.ref, b.ref)) })
	return slices.Compact(out), nil
}
