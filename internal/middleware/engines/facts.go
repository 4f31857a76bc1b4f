package engines

import (
	"context"
	"slices"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Facts are what can be seen of an engine and of the nodes that share it, for programs too.
type Facts struct {
	Health string           `json:"health"`
	Nodes  []commitlog.Node `json:"nodes"`
	Owners []OwnerFacts     `json:"owners"`
	More   int              `json:"more,omitempty"` // owners that were not asked about
}

// OwnerFacts say who serves an owner, and how long the log is that a new node has to read.
type OwnerFacts struct {
	Owner    string `json:"owner"`
	Node     string `json:"node,omitempty"` // "" for nobody
	Address  string `json:"address,omitempty"`
	Last     uint64 `json:"last"`     // position of the last record
	Snapshot uint64 `json:"snapshot"` // of the snapshot that stands for the records before it
}

// maxOwners bounds how many owners are asked about.
const maxOwners = 200

// Look asks the engine of a configuration whose store.url is set. Errors: those of Open, and of
// the engine.
func Look(ctx context.Context, c config.Store) (Facts, error) {
	log, err := Open(ctx, c)
	if err != nil {
		return Facts{}, err
	}
	defer log.Close()
	return Ask(ctx, log)
}

// Ask asks an engine.
func Ask(ctx context.Context, log commitlog.Log) (f Facts, err error) {
	if f.Health, err = log.Health(ctx); err != nil {
		return f, err
	}
	if f.Nodes, err = log.Nodes(ctx); err != nil {
		return f, err
	}
	owners, err := log.Owners(ctx)
	slices.Sort(owners)
	f.More = max(0, len(owners)-maxOwners)
	for _, owner := range owners[:len(owners)-f.More] {
		o := OwnerFacts{Owner: owner}
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
