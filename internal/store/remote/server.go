package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/kenlayer/ken/store"
)

// ServerOptions configures a server. Only Owner is needed.
type ServerOptions struct {
	Owner string // whose store it is: a client that wants another is refused
	Token string // what a client has to show; "" asks for none

	// Use is called when a client asks for something, and what it returns when that
	// was answered: for who closes stores that nobody uses. May be nil.
	Use func() (done func())
	// Silence is how long a transaction of a client stays open without a word.
	// Default 5 s.
	Silence time.Duration
	Log     *slog.Logger // default slog.Default()
}

// Times that a server gives its clients.
const (
	helloWait = 5 * time.Second        // to say who they are
	writeWait = 10 * time.Second       // to take an answer
	lifeEvery = 250 * time.Millisecond // between signs of life while the store is being opened
)

// Server serves one store to other processes. It may be started before the store is
// open: clients wait. Safe for concurrent use.
type Server struct {
	o ServerOptions

	opened  chan struct{} // closed by Ready or Fail
	closing chan struct{} // closed when no more is to be taken on
	ends    sync.Once
	conns   sync.WaitGroup

	mu        sync.Mutex // guards the rest
	s         store.Served
	err       error // why there is no store
	stage     welcome
	listeners map[net.Listener]bool
	open      map[*session]bool
	shut      bool
	last      bye
}

// NewServer returns a server of a store that is still to be opened: call Ready or
// Fail.
func NewServer(o ServerOptions) *Server {
	if o.Silence <= 0 {
		o.Silence = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Use == nil {
		o.Use = func() func() { return func() {} }
	}
	return &Server{o: o, opened: make(chan struct{}), closing: make(chan struct{}),
		listeners: map[net.Listener]bool{}, open: map[*session]bool{}}
}

// Ready begins to serve s to those who wait and to those who come.
func (s *Server) Ready(st store.Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s = st
	close(s.opened)
}

// Fail tells those who wait why there is no store.
func (s *Server) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.opened)
}

// Progress tells those who wait how far the opening is. It is a bolt.Progress.
func (s *Server) Progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = welcome{Stage: stage, Done: done, Total: total}
}

// Serve takes clients from l until Shutdown, which closes l. A listener that breaks
// ends it with the error. Several may be served.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners[l] = true
	s.mu.Unlock()
	defer l.Close()
	for pause := time.Duration(0); ; {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.begin(nc)
			continue
		case s.isShut():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve the store: %w", err)
		}
		// Such as too many open files: it may pass.
		pause = min(max(5*time.Millisecond, 2*pause), time.Second)
		select {
		case <-time.After(pause):
		case <-s.closing:
			return nil
		}
	}
}

// Drop closes a listener, for another to take its place.
func (s *Server) Drop(l net.Listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	_ = l.Close()
}

func (s *Server) isShut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

func (s *Server) begin(nc net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &session{s: s, nc: nc, ctx: ctx, cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		cancel()
		_ = nc.Close()
		return
	}
	s.open[c] = true
	s.conns.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.open, c)
		}()
		c.serve()
	})
}

// Shutdown takes nothing more on, finishes what was asked, and closes every
// connection; at ctx's end what is left is cut off. evicted tells the clients that
// this process lives on and has no more use for the store.
func (s *Server) Shutdown(ctx context.Context, evicted bool) {
	s.mu.Lock()
	s.shut, s.last = true, bye{Evicted: evicted}
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.ends.Do(func() { close(s.closing) })
	cut := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.open {
			c.cancel()
			_ = c.nc.Close()
		}
	})
	s.conns.Wait()
	cut()
}
