package structure

import (
	"context"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Source is what a graph reads from: an owner's store.Projections.
type Source interface {
	store.Structure
	// Row is as of store.Projections.
	Row(ref store.Ref) (store.Row, bool)
}

// Utility knows what came of showing claims of an aspect. Implementations are safe
// for concurrent use, and answer from memory.
type Utility interface {
	// Counts returns how often claims of the entity's aspect were put before a model,
	// and how often it used them: shown >= used >= 0. Counts may be damped by age.
	Counts(entity, aspect string) (shown, used float64)
}

// Graph reads one owner's structure. It keeps no state of its own and is safe for
// concurrent use.
type Graph struct {
	src     Source
	utility Utility
}

// New returns the graph of a source. A nil utility counts nothing.
func New(src Source, u Utility) *Graph { return &Graph{src, u} }

// Bounds limit a traversal; constraints they don't limit. Zero values mean the
// defaults.
type Bounds struct {
	Focal        int     // most focal entities whose attributes are looked at; default DefaultFocal
	Aspects      int     // most aspects of an entity; default DefaultAspects
	Attributes   int     // most attributes of an aspect; default DefaultAttributes
	Dependencies int     // most dependencies of an entity that are told, and followed for attributes; default DefaultDependencies
	MinStrength  float64 // of a dependency that is followed, 0..1; 0 means DefaultMinStrength, < 0 follows all
	// Expand looks at the attributes of what is one hop from the entities that the
	// turn itself names, too.
	Expand bool
}

// Defaults of Bounds: those of S1's traversal.
const (
	DefaultFocal        = 8
	DefaultAspects      = 10
	DefaultAttributes   = 20
	DefaultDependencies = 30
	DefaultMinStrength  = 0.3
)

func (b Bounds) withDefaults() Bounds {
	for _, d := range []struct {
		n   *int
		def int
	}{{&b.Focal, DefaultFocal}, {&b.Aspects, DefaultAspects}, {&b.Attributes, DefaultAttributes}, {&b.Dependencies, DefaultDependencies}} {
		if *d.n <= 0 {
			*d.n = d.def
		}
	}
	if b.MinStrength == 0 {
		b.MinStrength = DefaultMinStrength
	}
	return b
}

// Focal returns the entities that a turn is about, strongest first: those that its
// text names, what the session carries, and its scopes and project. Every entity
// that the text names is there; see Signs for how names are told from words. Only
// links that pass the filter are followed.
func (g *Graph) Focal(ctx context.Context, s Signs, f *ken.Filter) ([]Focus, error) {
	return g.focal(newWalker(ctx, g.src, f, Bounds{}.withDefaults()), &s)
}

// Traverse collects what the focal entities bring: see Traversal. The same store,
// focal entities, filter and bounds give the same result.
func (g *Graph) Traverse(ctx context.Context, focal []Focus, f *ken.Filter, b Bounds) (Traversal, error) {
	b = b.withDefaults()
	return g.traverse(newWalker(ctx, g.src, f, b), focal, nil, b)
}

// Look is Focal and Traverse in one, which asks the store less.
func (g *Graph) Look(ctx context.Context, s Signs, f *ken.Filter, b Bounds) ([]Focus, Traversal, error) {
	b = b.withDefaults()
	w := newWalker(ctx, g.src, f, b)
	focal, err := g.focal(w, &s)
	if err != nil {
		return nil, Traversal{}, err
	}
	t, err := g.traverse(w, focal, s.Beside, b)
	return focal, t, err
}
