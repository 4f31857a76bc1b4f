package console

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/engines"
)

// engineTimeout bounds how long a page waits for the engine.
const engineTimeout = 5 * time.Second

// nodesBody lists the nodes and the owners of the engine of store.url, as ken doctor prints them.
type nodesBody struct {
	Health string
	Nodes  []nodeRow
	Owners []nodeOwner
	Idle   int // owners that are open nowhere
	More   int // owners that are not listed
}

// nodeRow is a node as a line of the table.
type nodeRow struct {
	ID, Address, Version string
	Owners               int
}

// nodeOwner is an owner as a line of the table.
type nodeOwner struct {
	engines.OwnerFacts
	Behind uint64 // positions from the snapshot to the last record; an owner has at most as many records there
	Gone   bool   // the node that had it has left
}

// errNodes refuses a visitor who may not see the page, which names every owner.
var errNodes = &ken.Error{Code: ken.CodeRefused, Msg: "the nodes are shown to an operator of the configured owner", Try: "Ask who runs the gateway, or use ken doctor where it runs."}

// seesNodes reports whether there are nodes, and the visitor may see them.
func (v *visit) seesNodes() bool {
	cfg := v.con.layer.Config()
	return cfg.Store.URL != "" && v.canOperate() && v.owner() == cfg.Knowledge.Owner
}

// nodesPage shows the nodes that share the engine of store.url. Without one there is no such page.
func nodesPage(v *visit) error {
	store := v.con.layer.Config().Store
	switch {
	case store.URL == "":
		return errNoPage
	case !v.seesNodes():
		return errNodes
	}
	p := page{Title: "Nodes", Section: secHealth, Tab: "Nodes"}
	return v.pageWithSlowPart("nodes", p, map[string]any{}, func() (string, any, error) {
		ctx, cancel := context.WithTimeout(v.ctx(), engineTimeout)
		defer cancel()
		facts, err := engines.Look(ctx, store)
		if err != nil {
			return "", nil, err
		}
		return "engine", nodesOf(&facts), nil
	})
}

// nodesOf makes lines of what the engine says.
func nodesOf(f *engines.Facts) *nodesBody {
	b := &nodesBody{Health: f.Health, More: f.More}
	serves := map[string]int{}
	lives := map[string]bool{}
	for _, n := range f.Nodes {
		lives[n.ID] = true
	}
	for _, o := range f.Owners {
		serves[o.Node]++
		b.Owners = append(b.Owners, nodeOwner{OwnerFacts: o, Behind: o.Last - min(o.Snapshot, o.Last), Gone: o.Node != "" && !lives[o.Node]})
	}
	b.Idle = serves[""]
	for _, n := range f.Nodes {
		b.Nodes = append(b.Nodes, nodeRow{n.ID, n.Address, n.Version, serves[n.ID]})
	}
	slices.SortFunc(b.Nodes, func(x, y nodeRow) int { return cmp.Compare(x.ID, y.ID) })
	return b
}
