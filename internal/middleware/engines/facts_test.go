package engines_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

func TestAsk(t *testing.T) {
	ctx := context.Background()
	log := logtest.NewMemory()
	must(t, log.Beat(ctx, commitlog.Node{ID: "n1", Address: "10.0.0.1:4000", Version: "v1"}))
	at := uint64(0)
	for range 3 {
		next, err := log.Append(ctx, "ana", at, []byte("x"))
		must(t, err)
		at = next
	}
	must(t, log.PutSnapshot(ctx, "ana", 2, strings.NewReader("snapshot")))
	_, err := log.SetLease(ctx, "ana", commitlog.Lease{Node: "n1", Address: "10.0.0.1:4000", Token: "secret"})
	must(t, err)
	_, err = log.Append(ctx, "bob", 0, []byte("x"))
	must(t, err)
	f, err := engines.Ask(ctx, log)
	must(t, err)
	if f.Health == "" || len(f.Nodes) != 1 || f.Nodes[0].ID != "n1" || f.More != 0 || len(f.Owners) != 2 ||
		f.Owners[0] != (engines.OwnerFacts{Owner: "ana", Node: "n1", Address: "10.0.0.1:4000", Last: 3, Snapshot: 2}) ||
		f.Owners[1] != (engines.OwnerFacts{Owner: "bob", Last: 4}) {
		t.Errorf("%+v", f)
	}
}
