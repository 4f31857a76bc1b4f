package shared_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/store/shared"
)

// Any node says which nodes there are, and who serves which owner.
func TestFactsOfAnEngine(t *testing.T) {
	c := newCluster(t)
	first, second := c.start(shared.Options{}), c.start(shared.Options{})
	write(t, first.engine(t, "ada"), claim(t, "the port is 8080"))
	f, err := second.node.Facts(t.Context())
	must(t, err)
	if len(f.Nodes) != 2 || f.Total != 1 || len(f.Owners) != 1 || f.Health == "" {
		t.Fatalf("it says %+v", f)
	}
	if o := f.Owners[0]; o.Owner != "ada" || o.Node != first.node.ID() || o.Address == "" || o.Last == 0 || o.Snapshot != 0 {
		t.Errorf("of the owner it says %+v", o)
	}
}
