package structure

import (
	"context"

	"github.com/kenlayer/ken"
)

// Resolve returns what a name stands for, spelled as analysis.Entity does: the names of
// each entity, the one that it goes by first, the others sorted. It is one entity unless
// the name is ambiguous, and the name alone where nobody knows it. Only aliases that
// pass the filter are followed.
func (g *Graph) Resolve(ctx context.Context, name string, f *ken.Filter) ([][]string, error) {
	w := newWalker(ctx, g.src, f, Bounds{}.withDefaults())
	if err := w.known([]string{name}, false); err != nil {
		return nil, err
	}
	var out [][]string
	for _, entity := range w.meant(name) {
		out = append(out, w.names(entity))
	}
	return out, nil
}
