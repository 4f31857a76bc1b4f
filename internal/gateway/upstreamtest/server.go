package upstreamtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is a model provider for tests, on a loopback port. It is safe for concurrent use.
type Server struct {
	// URL is the server's address, as in http://127.0.0.1:41234, without a path.
	URL string
	// Close stops the server, closes its connections and waits for them. It may be called twice.
	Close func()

	mu       sync.Mutex // guards the rest
	handle   func(*Request) Answer
	next     []Answer
	requests []*Request
	arrived  chan struct{} // closed and replaced when a request arrives
	conns    map[net.Conn]bool
	count    int // number of connections so far
	closed   bool
	control  bool // serve the paths under ControlPath
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatalf("start upstream: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on an address, for programs that are not tests.
func Start(address string) (*Server, error) {
	s := newServer()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.URL = "http://" + l.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n, ok := s.admit(c); ok {
				running.Go(func() { s.serve(c, n) })
			}
		}
	})
	s.Close = sync.OnceFunc(func() {
		_ = l.Close()
		s.closeConns()
		running.Wait()
	})
	return s, nil
}

func newServer() *Server {
	return &Server{handle: Recorded, arrived: make(chan struct{}), conns: map[net.Conn]bool{}}
}

// Refusing returns the address of a port that refuses connections, in the form of Server.URL.
func Refusing(t testing.TB) string {
	t.Helper()
	s := New(t)
	s.Close()
	return s.URL
}

// Next queues answers, one for each of the next requests in the order of arrival. When the queue is
// empty, the function of Handle answers again. A WebSocket handshake, and a request that only
// prepares for a response, take only errors from the queue.
func (s *Server) Next(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, answers...)
}

// Handle sets the function that answers requests for which nothing is queued; nil means Recorded.
// It may be called from several goroutines at once.
func (s *Server) Handle(answer func(*Request) Answer) {
	if answer == nil {
		answer = Recorded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = answer
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget drops the requests so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Wait returns request n, counted from 0, after it has arrived. It fails the test if the test's
// context ends first.
func (s *Server) Wait(t testing.TB, n int) *Request {
	t.Helper()
	for {
		s.mu.Lock()
		arrived := s.arrived
		if n < len(s.requests) {
			defer s.mu.Unlock()
			return s.requests[n]
		}
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-t.Context().Done():
			t.Fatalf("request %d never arrived: %v", n, t.Context().Err())
		}
	}
}

// Last returns the newest request. It fails the test if there is none.
func (s *Server) Last(t testing.TB) *Request {
	t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		t.Fatal("no request arrived")
	}
	return all[len(all)-1]
}

func (s *Server) record(r *Request) Answer {
	s.mu.Lock()
	if s.control && strings.HasPrefix(r.Target, ControlPath) {
		s.mu.Unlock()
		return s.serveControl(r)
	}
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	handle := s.handle
	if len(s.next) > 0 && !(opensSocket(r) && s.next[0].status() < http.StatusBadRequest) {
		a := s.next[0]
		s.next = s.next[1:]
		handle = func(*Request) Answer { return a }
	}
	s.mu.Unlock()
	return handle(r)
}

// admit registers a connection and returns its number, or closes it if the server is closed.
func (s *Server) admit(c net.Conn) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return 0, false
	}
	s.count++
	s.conns[c] = true
	return s.count, true
}

func (s *Server) release(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	_ = c.Close()
}

// closeConns closes all connections and makes the server refuse new ones.
func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
}

var errGone = errors.New("the client is gone")
