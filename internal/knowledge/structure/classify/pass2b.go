package classify

import (
	"context"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// maxKnown bounds the names that a model chooses from.
const maxKnown = 40

// modelStrength is the strength of a dependency that a model found. It is high enough for a
// traversal to follow, and lower than that of dependencies that people state.
const modelStrength = 0.6

// pool holds the things that the facts of a batch may depend on.
type pool struct {
	v          *view
	source     string
	named      map[string][]string // names in its text, by the id of the fact
	neighbours []string
	known      []string // all of these names, as the model sees them
}

// names reports whether a fact names another thing. It is false for a nil pool.
func (p *pool) names(k *ken.Claim) bool { return p != nil && len(p.named[k.ID]) > 0 }

// pool collects the names. It returns nil if no fact names another thing.
func (c *Classifier) pool(ctx context.Context, g *group) (*pool, error) {
	p := &pool{v: viewOf(c.st, g.scope), named: map[string][]string{}}
	source, err := p.v.meant(ctx, g.entity)
	if err != nil {
		return nil, err
	}
	if source == "" {
		c.refuse(refusedAmbiguous)
		return nil, nil
	}
	p.source = source
	own, err := p.v.names(ctx, source)
	if err != nil {
		return nil, err
	}
	for i := range g.facts {
		k := &g.facts[i]
		named, err := c.others(ctx, p.v, k, own)
		if err != nil {
			return nil, err
		}
		if len(named) == 0 {
			continue
		}
		p.named[k.ID] = named
		p.know(named...)
	}
	if len(p.named) == 0 {
		return nil, nil
	}
	neighbours, err := p.v.neighbours(ctx, own)
	if err != nil {
		return nil, err
	}
	for _, n := range neighbours {
		if len(p.known) >= maxKnown {
			break
		}
		p.neighbours = append(p.neighbours, n)
		p.know(n)
	}
	p.known = p.known[:min(len(p.known), maxKnown)]
	return p, nil
}

func (p *pool) know(names ...string) {
	for _, n := range names {
		if !slices.Contains(p.known, n) {
			p.known = append(p.known, n)
		}
	}
}

// otherNames reports names that other records than the one being read have.
type otherNames struct {
	ctx context.Context
	v   *view
}

// Known implements reading.Names. A name that can't be looked up is not known.
func (e otherNames) Known(names []string) []bool {
	out := make([]bool, len(names))
	var there []string
	var at []int // their places in names
	for i, known := range e.v.st.Known(names) {
		if known {
			there, at = append(there, names[i]), append(at, i)
		}
	}
	if len(there) == 0 {
		return out
	}
	outlines, _ := e.v.st.Outlines(e.ctx, there, &e.v.f, store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})
	for i := range outlines {
		out[at[i]] = outlines[i].Records > 1
	}
	return out
}

// others returns the known things other than own that a claim's text names. These are names
// that something else is filed under, and words that the text writes as names.
func (c *Classifier) others(ctx context.Context, v *view, k *ken.Claim, own []string) (out []string, err error) {
	bare := *k
	bare.Entities = nil
	others := otherNames{ctx, v}
	var names []string
	for _, m := range reading.Read(&bare, others).Entities {
		if n := analysis.Entity(m.Name); n != "" && m.Confidence >= reading.ByCapital && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	given := analysis.Entities(k.Entities)
	for i, known := range others.Known(given) {
		if known && !slices.Contains(names, given[i]) {
			names = append(names, given[i])
		}
	}
	known := c.st.Known(names)
	for i, n := range names {
		if !known[i] || slices.Contains(own, n) {
			continue
		}
		meant, err := v.meant(ctx, n)
		if err != nil {
			return nil, err
		}
		if meant != "" && !slices.Contains(own, meant) && !slices.Contains(out, meant) {
			out = append(out, meant)
		}
	}
	return out, nil
}

// tie writes the dependencies in the rows of an answer about a fact, and returns their
// number.
func (c *Classifier) tie(ctx context.Context, p *pool, k *ken.Claim, rows []dependencyRow) (wrote int, err error) {
	c.count(func(n *Counts) {
		n.AskedTies++
		if len(rows) == 0 {
			n.LeftTies++
			n.refuse(refusedRow)
		}
	})
	for _, t := range rows {
		if t == (dependencyRow{}) {
			continue
		}
		ok, err := c.writeDependency(ctx, p, k, t)
		if err != nil {
			return wrote, err
		}
		if ok {
			wrote++
		}
	}
	return wrote, nil
}

// writeDependency writes one dependency that a model named, if it is valid.
func (c *Classifier) writeDependency(ctx context.Context, p *pool, k *ken.Claim, t dependencyRow) (ok bool, err error) {
	v := viewOf(c.st, k.Scope) // things may have been renamed while the model answered
	e, why, err := edge{p.source, t.kind, t.target, modelStrength, ken.AssignedByModel}.resolved(ctx, v)
	if err != nil {
		return false, err
	}
	if why == "" {
		why = refusedUnknown
		for _, n := range slices.Concat(p.named[k.ID], p.neighbours) {
			meant, err := v.meant(ctx, n)
			if err != nil {
				return false, err
			}
			if meant == e.target {
				why = ""
				break
			}
		}
	}
	if why != "" {
		c.refuse(why)
		return false, nil
	}
	now, err := c.st.Get(ctx, k.ID)
	if err == nil && (digest(now.Text) != digest(k.Text) || !isValid(&now, c.o.Now())) {
		return false, nil // it was changed while the model answered
	}
	if err == nil {
		_, err = c.write(ctx, &e, &now)
	}
	switch {
	case err == nil:
		c.count(func(n *Counts) { n.Ties++ })
	case !skippable(err):
		return false, fmt.Errorf("write a dependency: %w", err)
	}
	return err == nil, nil
}
