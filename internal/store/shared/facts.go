package shared

import (
	"context"
	"slices"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Facts are what an engine says of itself, of the nodes that share it, and of their owners.
type Facts struct {
	Health string           `json:"health"`
	Nodes  []commitlog.Node `json:"nodes"`
	Owners []OwnerFacts     `json:"owners"` // the first ones by name
	Total  int              `json:"total"`  // how many owners there are
}

// OwnerFacts say who serves an owner, and how long the log is that a new node has to read.
type OwnerFacts struct {
	Owner    string `json:"owner"`
	Node     string `json:"node,omitempty"` // "" for nobody
	Address  string `json:"address,omitempty"`
	Last     uint64 `json:"last"`     // position of the last record
	Snapshot uint64 `json:"snapshot"` // of the snapshot that stands for the records before it
}

// maxOwnersAsked bounds how many owners are asked about: each costs three questions.
const maxOwnersAsked = 200

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
	f.Total = len(owners)
	for _, owner := range owners[:min(len(owners), maxOwnersAsked)] {
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

// Facts asks the node's engine.
func (n *Node) Facts(ctx context.Context) (Facts, error) { return Ask(ctx, n.o.Log) }

// ID names the node among the Nodes of its engine.
func (n *Node) ID() string { return n.o.ID }
