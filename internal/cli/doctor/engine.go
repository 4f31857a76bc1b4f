package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/commitlog"
)

// engineFacts are what the doctor finds out about the engine of store.url, for programs.
type engineFacts struct {
	Health string           `json:"health"`
	Nodes  []commitlog.Node `json:"nodes"`
	Owners []ownerFacts     `json:"owners"`
}

// ownerFacts say who serves an owner, and how long the log is that a new node has to read.
type ownerFacts struct {
	Owner    string `json:"owner"`
	Node     string `json:"node,omitempty"` // "" for nobody
	Address  string `json:"address,omitempty"`
	Last     uint64 `json:"last"`     // position of the last record
	Snapshot uint64 `json:"snapshot"` // of the snapshot that stands for the records before it
}

// maxOwnersExamined bounds how many owners the doctor asks about.
const maxOwnersExamined = 200

// examineEngine looks at the engine and at the nodes that share it.
func examineEngine(ctx context.Context, c config.Store) []finding {
	const check = "engine"
	if c.URL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	log, err := engines.Open(ctx, c)
	if err != nil {
		return []finding{failed(check, err)}
	}
	defer log.Close()
	facts, err := askEngine(ctx, log)
	if err != nil {
		return []finding{failed(check, err)}
	}
	f := passed(check, "%s", facts.Health)
	f.Data = facts
	return []finding{f, passed("nodes", "%s", describeNodes(facts))}
}

func askEngine(ctx context.Context, log commitlog.Log) (f engineFacts, err error) {
	if f.Health, err = log.Health(ctx); err != nil {
		return f, err
	}
	if f.Nodes, err = log.Nodes(ctx); err != nil {
		return f, err
	}
	owners, err := log.Owners(ctx)
	slices.Sort(owners)
	for _, owner := range owners[:min(len(owners), maxOwnersExamined)] {
		o := ownerFacts{Owner: owner}
		var l commitlog.Lease
		if l, err = log.Lease(ctx, owner); err != nil {
			return f, err
		}
		o.Node, o.Address = l.Node, l.Address
		if o.Last, err = log.Last(ctx, owner); err != nil {
			return f, err
		}
		at, r, err := log.Snapshot(ctx, owner)
		if err != nil {
			return f, err
		}
		if r != nil {
			_ = r.Close()
		}
		o.Snapshot = at
		f.Owners = append(f.Owners, o)
	}
	return f, err
}

// describeNodes says which node serves how many owners.
func describeNodes(f engineFacts) string {
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
	if gone := len(slices.Collect(maps.Keys(serves))); gone > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes that are gone had owners", gone))
	}
	if len(parts) == 0 {
		return "none is up"
	}
	return strings.Join(parts, "; ")
}
