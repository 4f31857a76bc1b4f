package logtest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// RunSlow tests a log whose engine is far away, such as behind a proxy that delays all data by 200 ms
// in each direction.
func RunSlow(t *testing.T, open func(ctx context.Context) (commitlog.Log, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as long as a node tries it
	defer cancel()
	log, err := open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	k := &kit{t, log, log, t.Context()}
	at := k.append(ada, 0, "one")
	if got := k.read(log, ada, 0); len(got) != 1 {
		t.Errorf("it reads %q", got)
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		k.must(log.Beat(k.ctx, commitlog.Node{ID: id}))
	}
	once, stop := context.WithTimeout(t.Context(), 10*time.Second) // as long as a node waits for it
	defer stop()
	if all, err := log.Nodes(once); err != nil || len(all) != 3 {
		t.Errorf("the nodes are %v, %v", all, err)
	}
	k.must(log.PutSnapshot(k.ctx, ada, at, strings.NewReader("a snapshot")))
	position, r, err := log.Snapshot(k.ctx, ada)
	k.must(err)
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || position != at || string(got) != "a snapshot" {
		t.Errorf("the snapshot at %d is %q, %v", position, got, err)
	}
}
