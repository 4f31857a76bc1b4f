package shared

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
)

// host is a store that this process holds, and its server.
type host struct {
	s      *seat
	lock   *bolt.Lock
	store  *bolt.Store
	server *remote.Server
	token  string

	stop    context.CancelFunc
	running sync.WaitGroup

	l    net.Listener // nil while nobody can be served; guarded by mend's goroutine
	path string       // of the socket; "" for none
}

// hold takes the folder, and opens the store. ken.ErrHeld: another process has it.
func (s *seat) hold() (*role, error) {
	o := s.w.o.Store
	o.Owner = s.owner
	h := &host{s: s, token: newToken()}
	h.server = remote.NewServer(remote.ServerOptions{Owner: s.owner, Token: h.token, Log: s.w.o.Log,
		Use: func() func() { return s.w.use(s) }})
	tell := o.Progress
	o.Progress = func(stage string, done, total int) {
		h.server.Progress(stage, done, total)
		tell(stage, done, total)
	}
	var err error
	if h.lock, err = bolt.Acquire(s.dir, o); err != nil {
		return nil, err
	}
	if err := h.listen(); err != nil { // the store is worth more than company
		s.w.o.Log.Warn("other processes can't work on this store meanwhile", "owner", s.owner, "cause", err)
	}
	if h.store, err = h.lock.Open(s.ctx); err != nil {
		h.server.Fail(err)
		h.end(false) // before the lock goes: the socket is only the holder's to remove
		return nil, errors.Join(err, h.lock.Release())
	}
	h.server.Ready(h.store)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.running.Go(func() { h.mend(ctx) })
	return &role{store: h.store, host: h}, nil
}

func newToken() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// listen begins to serve, and says where.
func (h *host) listen() error {
	l, network, address, err := listen(h.s.dir, h.s.w.o.RuntimeDir)
	if err != nil {
		return err
	}
	if err := h.lock.Announce(network, address, h.token); err != nil {
		return errors.Join(err, l.Close())
	}
	h.l, h.path = l, ""
	if network == "unix" {
		h.path = address
	}
	h.running.Go(func() { _ = h.server.Serve(l) }) // mend sees that it has ended
	return nil
}

// mend looks after the socket and the file that names it: those who clean up
// folders for temporary files take both. What can't be made now, on a full disk or
// without a file handle to spare, is tried again.
func (h *host) mend(ctx context.Context) {
	tick := time.NewTicker(h.s.w.o.Mend)
	defer tick.Stop()
	for told := h.l == nil; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if h.l != nil {
			if h.there() {
				continue
			}
			h.server.Drop(h.l) // first: it takes the socket's file with it
			h.l = nil
		}
		err := h.listen()
		if err != nil && !told {
			h.s.w.o.Log.Warn("other processes can't reach this store for now", "owner", h.s.owner, "cause", err)
		}
		told = err != nil
	}
}

// there reports whether others find the way here.
func (h *host) there() bool {
	if at := bolt.ReadHolder(h.s.dir); at.Token != h.token {
		return false
	}
	if h.path == "" {
		return true
	}
	_, err := os.Lstat(h.path)
	return err == nil
}

// end stops serving, once what was asked is answered.
func (h *host) end(evicted bool) {
	if h.stop != nil {
		h.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	h.server.Shutdown(ctx, evicted)
	h.running.Wait()
}

// close ends the server and then the store, and with it the lock: whoever connects
// in between finds nobody, and tries again.
func (h *host) close(evicted bool) error {
	h.end(evicted)
	return h.store.Close()
}
