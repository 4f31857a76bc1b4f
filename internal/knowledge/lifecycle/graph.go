package lifecycle

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Graph is the graph of the project's code, as codebase.Codebase keeps it.
type Graph interface {
	// Prune finds what is in the graph although its files are no more; with apply, it goes.
	Prune(ctx context.Context, apply bool) (codegraph.Pruned, error)
	// Save keeps what is left.
	Save() error
}

// Kinds of what is pruned from the graph.
const (
	kindGraph = "graph" // a file or a decision
	kindNodes = "nodes" // what is only there because of such
)

func (w *planner) nodes(ctx context.Context) error {
	if w.d.Graph == nil {
		return nil
	}
	p, err := w.d.Graph.Prune(ctx, false)
	if err != nil {
		return err
	}
	for _, path := range p.Files {
		w.add(Change{Rule: PruneOrphans, Kind: kindGraph, ID: path, What: path, From: "in the graph", To: "forgotten", Why: "the file is gone"})
	}
	for _, id := range p.Decisions {
		w.add(Change{Rule: PruneOrphans, Kind: kindGraph, ID: id, What: id, From: "in the graph", To: "forgotten", Why: "its file is gone"})
	}
	if n := len(p.Nodes) + len(p.External); n > 0 {
		w.add(Change{Rule: PruneOrphans, Kind: kindNodes, ID: "graph", What: fmt.Sprintf("%d nodes", n), From: "in the graph", To: "forgotten",
			Why: "nothing else declares or uses them", Count: n})
	}
	return nil
}

// prune takes out all at once: the first change does it, and the others share its
// outcome.
func (a *applier) prune(ctx context.Context) (bool, error) {
	if a.d.Graph == nil {
		return false, nil
	}
	if a.graph == nil {
		_, err := a.d.Graph.Prune(ctx, true)
		if err == nil {
			err = a.d.Graph.Save()
		}
		a.graph = &outcome{err}
	}
	return a.graph.told()
}
