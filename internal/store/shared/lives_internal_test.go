package shared

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// farLog is a log whose nodes are read with a delay.
type farLog struct {
	commitlog.Log
	delay time.Duration
}

func (l farLog) Node(ctx context.Context, id string) (commitlog.Node, error) {
	select {
	case <-time.After(l.delay):
	case <-ctx.Done():
		return commitlog.Node{}, commitlog.ErrUnreachable
	}
	return l.Log.Node(ctx, id)
}

// TestADeadNodeFarFromTheEngine checks that a slow link does not delay the discovery that another node
// is dead: the time of its last beat is known when it is needed, and a refused connection counts
// until the node beats again.
func TestADeadNodeFarFromTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, ctx, beat := logtest.NewMemory(), t.Context(), commitlog.Node{ID: "other"}
		n := &Node{o: NodeOptions{Log: farLog{log, 400 * time.Millisecond}, ID: "this"}, seen: map[string]sighting{}}
		n.running.Go(func() { n.observes(ctx) })
		beats := func(length time.Duration) {
			for end := time.Now().Add(length); time.Now().Before(end); <-time.After(commitlog.Every) {
				if err := log.Beat(ctx, beat); err != nil {
					t.Fatal(err)
				}
			}
		}
		beats(commitlog.Every)
		n.Lives(ctx, beat.ID)
		beats(2 * commitlog.Dead)
		if asked := time.Now(); !n.Lives(ctx, beat.ID) || time.Since(asked) > 0 {
			t.Error("a node that beats was read once more, or is dead")
		}
		<-time.After(commitlog.Dead + time.Second)
		if n.Lives(ctx, beat.ID) {
			t.Errorf("a node that has been silent for %v lives", commitlog.Dead)
		}

		beats(commitlog.Dead)
		n.refused(beat.ID)
		beats(2 * time.Second)
		<-time.After(commitlog.Gone + time.Second)
		if !n.Lives(ctx, beat.ID) {
			t.Error("a node is dead that beat after its machine had refused a connection")
		}
		n.refused(beat.ID)
		<-time.After(commitlog.Gone + time.Second)
		if n.Lives(ctx, beat.ID) {
			t.Error("a node lives whose machine refused a connection after the last beat")
		}
	})
}

// countedLog counts how often leases are read.
type countedLog struct {
	commitlog.Log
	leases atomic.Int32
}

func (l *countedLog) Lease(ctx context.Context, owner string) (commitlog.Lease, error) {
	l.leases.Add(1)
	return l.Log.Lease(ctx, owner)
}

// TestALeaseIsReadOnce opens an owner on two nodes. Each needs one request for the lease.
func TestALeaseIsReadOnce(t *testing.T) {
	log := logtest.NewMemory()
	for _, id := range []string{"holder", "client"} {
		counted := &countedLog{Log: log.Join()}
		n, err := StartNode(t.Context(), NodeOptions{Log: counted, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		all := NewOwners(t.TempDir(), 0, Options{Node: n})
		_, release, err := all.Get(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			release()
			if err := errors.Join(all.Close(), n.Close()); err != nil {
				t.Error(err)
			}
		})
		if got := counted.leases.Load(); got != 1 {
			t.Errorf("the %s read the lease %d times", id, got)
		}
	}
}
