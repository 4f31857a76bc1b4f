package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/engines"
)

// examineEngine checks the engine and the nodes that share it.
func examineEngine(ctx context.Context, c config.Store) []finding {
	const check = "engine"
	if c.URL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	facts, err := engines.Look(ctx, c)
	if err != nil {
		return []finding{failed(check, err)}
	}
	f := passed(check, "%s", facts.Health)
	f.Data = facts
	return []finding{f, passed("nodes", "%s", describeNodes(facts))}
}

// describeNodes says how many owners each node serves.
func describeNodes(f engines.Facts) string {
	serves := map[string]int{}
	for _, o := range f.Owners {
		serves[o.Node]++
	}
	var parts []string
	for _, n := range f.Nodes {
		parts = append(parts, fmt.Sprintf("%s at %s serves %d", n.ID, n.Address, serves[n.ID]))
		delete(serves, n.ID)
	}
	slices.Sort(parts)
	idle := serves[""]
	delete(serves, "")
	if idle > 0 {
		parts = append(parts, fmt.Sprintf("%d owners are open nowhere", idle))
	}
	if gone := len(serves); gone > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes that are gone had owners", gone))
	}
	return cmp.Or(strings.Join(parts, "; "), "none is up")
}
