package shared_test

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/shared"
)

// TestANodeThatIsSilent checks that a node takes an owner over whose holder sends no beats any more
// and neither answers nor closes connections.
func TestANodeThatIsSilent(t *testing.T) {
	const most = commitlog.Dead + 2*remote.Silence
	var wg sync.WaitGroup
	for name, silent := range map[string]struct {
		address string
		tls     *tls.Config
	}{
		"it accepts connections":           {listen(t).Addr().String(), nil},
		"it accepts connections, with TLS": {listen(t).Addr().String(), &tls.Config{ServerName: "ken.node"}},
		"its machine is gone":              {unreachable(t), nil},
	} {
		log := logtest.NewMemory()
		must(t, log.Beat(t.Context(), commitlog.Node{ID: "before", Address: silent.address}))
		_, err := log.SetLease(t.Context(), "o0", commitlog.Lease{Node: "before", Address: silent.address, Token: "t"})
		must(t, err)
		n, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: "again", Client: silent.tls})
		must(t, err)
		w := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: n})
		wg.Go(func() {
			for begun := time.Now(); !w.Holds("o0"); {
				if _, release, err := w.Get(t.Context(), "o0"); err == nil {
					release()
				} else if time.Since(begun) > most {
					t.Errorf("%s: after %v: %v", name, time.Since(begun), err)
					break
				}
			}
			if err := errors.Join(w.Close(), n.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	c := newCluster(t)
	free := listen(t)
	must(t, free.Close())
	p, log := newProxy(t, "tcp", free.Addr().String()), c.log.Join()
	n, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: "before", Listen: free.Addr().String(), Advertise: p.address})
	must(t, err)
	first := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: n})
	_, release, err := first.Get(t.Context(), "o0")
	must(t, err)
	second := c.start(shared.Options{})
	s := second.engine(t, "o0")
	write(t, s, claim(t, "the port is 8080"))
	p.silent.Lock()
	log.Cut(commitlog.ErrUnreachable)
	begun := time.Now()
	for err = errors.ErrUnsupported; err != nil && time.Since(begun) < most; {
		_, err = s.WriteClaim(t.Context(), claim(t, "the host is ada"))
	}
	if err != nil || !second.Holds("o0") || s.Len() != 2 {
		t.Errorf("connected: after %v it holds: %v; %d claims, %v", time.Since(begun), second.Holds("o0"), s.Len(), err)
	}
	p.silent.Unlock()
	release()
	must(t, first.Close())
	_ = n.Close() // it is cut off
	wg.Wait()
}

// listen returns a listener that accepts no connections. The kernel still completes some.
func listen(t *testing.T) net.Listener {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// unreachable returns an address that does not answer attempts to connect: the queue of its listener
// is full.
func unreachable(t *testing.T) string {
	l := listen(t)
	raw, err := l.(*net.TCPListener).SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { must(t, syscall.Listen(int(fd), 0)) }))
	for d := (net.Dialer{Timeout: time.Second / 4}); ; {
		nc, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return l.Addr().String()
		}
		t.Cleanup(func() { _ = nc.Close() })
	}
}
