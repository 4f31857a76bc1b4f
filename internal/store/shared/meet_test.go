package shared_test

import (
	"net"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/shared"
)

// TestNobodyWaitsForWhoStartedAgain checks that after a node has restarted at the same address,
// neither it nor others wait for its earlier process.
func TestNobodyWaitsForWhoStartedAgain(t *testing.T) {
	log := logtest.NewMemory()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	must(t, log.Beat(t.Context(), commitlog.Node{ID: "before", Address: address}))
	must(t, log.Beat(t.Context(), commitlog.Node{ID: "elsewhere", Address: "127.0.0.1:1"}))
	for _, owner := range []string{"o0", "o1"} {
		_, err = log.SetLease(t.Context(), owner, commitlog.Lease{Node: "before", Address: address, Token: "t"})
		must(t, err)
	}
	other := (&cluster{t: t, log: log}).start(shared.Options{})
	begun := time.Now()
	n, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log.Join(), ID: "again", Listen: address})
	must(t, err)
	again := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: n})
	for owner, w := range map[string]*shared.Owners{"o0": again, "o1": other.Owners} {
		_, release, err := w.Get(t.Context(), owner)
		must(t, err)
		release()
		if !w.Holds(owner) {
			t.Errorf("%s is held by nobody", owner)
		}
	}
	if waited := time.Since(begun); waited > commitlog.Dead*3/4 {
		t.Errorf("it waited %v", waited)
	}
	if left, err := log.Node(t.Context(), "elsewhere"); err != nil || left.Beats == 0 {
		t.Errorf("another node was forgotten: %+v, %v", left, err)
	}
	must(t, again.Close())
	must(t, n.Close())
}
