package remote

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Router takes the connections for the servers of several owners at one address. It is safe
// for concurrent use.
type Router struct {
	conns sync.WaitGroup

	mu      sync.Mutex // guards the rest
	servers map[string]*Server
	l       net.Listener
	closed  bool
}

// Add lets an owner's server be reached, in the place of another one of that owner.
func (r *Router) Add(s *Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers == nil {
		r.servers = map[string]*Server{}
	}
	r.servers[s.o.Owner] = s
}

// Remove ends that. Its connections go on.
func (r *Router) Remove(s *Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers[s.o.Owner] == s {
		delete(r.servers, s.o.Owner)
	}
}

// Serve takes connections until Close.
func (r *Router) Serve(l net.Listener) {
	r.mu.Lock()
	r.l = l
	closed := r.closed
	r.mu.Unlock()
	if closed {
		_ = l.Close()
		return
	}
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			r.take(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		pause = min(max(5*time.Millisecond, 2*pause), time.Second) // such as too many open files
		<-time.After(pause)
	}
}

// take begins with a connection, unless Close has begun, which waits for those before it.
func (r *Router) take(nc net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = nc.Close()
		return
	}
	r.conns.Go(func() { r.begin(nc) })
}

// begin hears whom a client wants. Where nobody here serves that owner, the client finds
// out who does.
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

// Close ends Serve, and waits for those who have not said yet whom they want.
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
