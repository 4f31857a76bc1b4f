package remote

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Router accepts connections at one address for the servers of several owners. The zero
// value is ready to use. It is safe for concurrent use.
type Router struct {
	conns sync.WaitGroup

	mu      sync.Mutex // guards the rest
	servers map[string]*Server
	l       net.Listener
	closed  bool
}

// Add makes the router pass new connections for the owner of s to s. It replaces an earlier
// server of the same owner.
func (r *Router) Add(s *Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers == nil {
		r.servers = map[string]*Server{}
	}
	r.servers[s.o.Owner] = s
}

// Remove undoes Add. Connections of s stay open. If another server has replaced s, Remove
// does nothing.
func (r *Router) Remove(s *Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers[s.o.Owner] == s {
		delete(r.servers, s.o.Owner)
	}
}

// Serve accepts connections on l until Close, which closes l.
func (r *Router) Serve(l net.Listener) {
	r.mu.Lock()
	r.l = l
	closed := r.closed
	r.mu.Unlock()
	if closed {
		_ = l.Close()
		return
	}
	_ = acceptAll(l, nil, r.take) // l was closed
}

// acceptAll passes connections to take until l is closed, which is the error, or until closing. After another error,
// such as too many open files, it tries again.
func acceptAll(l net.Listener, closing <-chan struct{}, take func(net.Conn)) error {
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			take(nc)
			continue
		case errors.Is(err, net.ErrClosed):
			return err
		}
		pause = min(max(5*time.Millisecond, 2*pause), time.Second)
		select {
		case <-time.After(pause):
		case <-closing:
			return nil
		}
	}
}

// take starts to handle a connection, or closes it if Close was called. The lock ensures
// that Close waits for every connection that was started.
func (r *Router) take(nc net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = nc.Close()
		return
	}
	r.conns.Go(func() { r.begin(nc) })
}

// begin reads the client's hello and passes the connection to the owner's server. If there
// is none, it closes the connection; the client then looks for the process that serves the
// owner.
func (r *Router) begin(nc net.Conn) {
	_ = nc.SetDeadline(time.Now().Add(helloWait))
	var h hello
	err := receiveJSON(nc, kHello, &h)
	r.mu.Lock()
	s := r.servers[h.Owner]
	r.mu.Unlock()
	if err != nil || s == nil {
		_ = nc.Close()
		return
	}
	s.begin(nc, &h)
}

// Close makes Serve return. It waits for the connections whose hello is still being read,
// at most helloWait. It does not shut down the servers.
func (r *Router) Close() error {
	r.mu.Lock()
	r.closed = true
	l := r.l
	r.mu.Unlock()
	var err error
	if l != nil {
		err = l.Close()
	}
	r.conns.Wait()
	return err
}
