package remote

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
)

// ServerOptions configures a server. Only Owner is needed.
type ServerOptions struct {
	Owner string // whose store it is: a client that wants another is refused
	Token string // what a client has to show; "" asks for none

	// Use is called when a client asks for something, and what it returns when that
	// was answered: for who closes stores that nobody uses. May be nil.
	Use func() (done func())
	// Valid reports whether this process still has the right to the store. Without it nothing
	// is answered any more. May be nil.
	Valid func() bool
	// Takes reports whether anything more is taken on. May be nil.
	Takes func() bool
	// Move has the store say that it is elsewhere, and ends the right to it. Nil refuses that.
	Move func(ctx context.Context, m engine.Move) error
	// OnEvent answers events, which are the program's business and not the store's. Nil
	// refuses them.
	OnEvent func(ctx context.Context, body []byte) ([]byte, error)
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
	s         engine.Served
	err       error // why there is no store
	stage     welcome
	listeners map[net.Listener]bool
	open      map[*session]bool
	shut      bool
	last      closeNotice
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
	if o.Valid == nil {
		o.Valid = func() bool { return true }
	}
	if o.Takes == nil {
		o.Takes = func() bool { return true }
	}
	if o.Move == nil {
		o.Move = func(context.Context, engine.Move) error {
			return &ken.Error{Code: ken.CodeRefused, Msg: "this process does not move stores", Try: "Run ken migrate where the store is held by ken."}
		}
	}
	if o.Use == nil {
		o.Use = func() func() { return func() {} }
	}
	return &Server{o: o, opened: make(chan struct{}), closing: make(chan struct{}),
		listeners: map[net.Listener]bool{}, open: map[*session]bool{}}
}

// Ready begins to serve s to those who wait and to those who come.
func (s *Server) Ready(st engine.Served) {
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
			s.begin(nc, nil)
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

// begin serves a connection, whose first frame may have been read.
func (s *Server) begin(nc net.Conn, first *hello) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &session{s: s, nc: nc, first: first, ctx: ctx, cancel: cancel}
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
	s.shut, s.last = true, closeNotice{Evicted: evicted}
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

// session is one connection, on its goroutine.
type session struct {
	s      *Server
	nc     net.Conn
	first  *hello          // that was read already; nil for none
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	frames chan frame
	store  engine.Served
	out    []byte // for answers, used again

	peer    *peer  // how to read what the client writes
	version string // of the client's program, if it is of another build
}

func (c *session) serve() {
	defer c.nc.Close()
	defer c.cancel()
	if !c.handshake() {
		return
	}
	c.frames = make(chan frame)
	var reading sync.WaitGroup
	reading.Go(c.read)
	defer func() {
		c.cancel() // it may have a frame that nobody takes any more
		_ = c.nc.Close()
		reading.Wait()
	}()
	for {
		select {
		case <-c.s.closing:
			c.sendShutdown()
			return
		case <-c.ctx.Done():
			return
		case f := <-c.frames:
			if err := c.handle(f); err != nil {
				return
			}
		}
	}
}

// read hands frames on, and ends the connection's context when there are no more:
// what a client that is gone has asked for is in vain.
func (c *session) read() {
	defer c.cancel()
	for {
		f, err := readFrame(c.nc, maxFrame)
		if err != nil || !c.peer.has(f.kind) {
			return
		}
		select {
		case c.frames <- f:
		case <-c.ctx.Done():
			return
		}
	}
}

// handshake hears who the client is and waits with it until the store is open. It
// reports whether the client is served.
func (c *session) handshake() bool {
	h := c.first
	_ = c.nc.SetDeadline(time.Now().Add(helloWait))
	if h == nil {
		h = &hello{}
		if err := receiveJSON(c.nc, kHello, h); err != nil {
			return false
		}
	}
	mine := welcome{Ken: version, Forms: own().forms}
	refuse := func(e *ken.Error) bool {
		mine.Refused = &refusal{e.Code, e.Field, e.Error(), e.Try}
		_ = sendJSON(c.nc, kWelcome, mine)
		return false
	}
	switch {
	case !c.s.o.Valid() || !c.s.o.Takes():
		return false // who holds the store is found out again
	case !understood(h.Ken, h.Oldest):
		mine.Version = programVersion()
		_ = sendJSON(c.nc, kWelcome, mine) // who reads it sees the difference
		return false
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(c.s.o.Token)) != 1:
		return refuse(&ken.Error{Code: ken.CodeRefused, Field: "token", Msg: "the token is not this store's", Try: "Try again: the process that holds the store has changed."})
	case h.Owner != c.s.o.Owner:
		return refuse(&ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: fmt.Sprintf("the store belongs to another owner, not to %q", h.Owner),
			Try: "Open the folder with its own owner."})
	case h.Forms != mine.Forms:
		if !c.introduce(h.Forms, mine, refuse) {
			return false
		}
	}
	tick := time.NewTicker(lifeEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.s.opened:
			_ = c.nc.SetDeadline(time.Time{})
			return c.admit(mine, refuse)
		case <-c.s.closing:
			return false
		case <-tick.C:
		}
		c.s.mu.Lock()
		life := c.s.stage
		c.s.mu.Unlock()
		life.Ken, life.Forms = mine.Ken, mine.Forms
		_ = c.nc.SetDeadline(time.Now().Add(writeWait))
		if sendJSON(c.nc, kWelcome, life) != nil {
			return false
		}
	}
}

func (c *session) admit(mine welcome, refuse func(*ken.Error) bool) bool {
	c.s.mu.Lock()
	st, err := c.s.s, c.s.err
	c.s.mu.Unlock()
	if err != nil {
		e := &ken.Error{Code: ken.CodeUnavailable, Msg: "the store could not be opened", Err: err, Try: ken.Hint(err)}
		var known *ken.Error
		if errors.As(err, &known) {
			e.Code = known.Code
		}
		return refuse(e)
	}
	c.store = st
	mine.Ready, mine.Owner, mine.Store = true, st.Owner(), st.ID()
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
	return sendJSON(c.nc, kWelcome, mine) == nil
}

// handle serves one request. An error ends the connection.
func (c *session) handle(f frame) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.s.o.Log.Error("serve the store", "panic", p, "stack", string(debug.Stack()))
			oops := &ken.Error{Code: ken.CodeInternal, Msg: fmt.Sprintf("the process that holds the store panicked: %v", p), Try: "Report this with what stands in its log."}
			if err = c.send(c.answer(0, oops, nothing)); f.kind == kView || f.kind == kUpdate {
				err = errors.Join(err, oops) // who knows what the client takes the connection for
			}
		}
	}()
	if !c.s.o.Takes() {
		return errInvalid
	}
	switch f.kind {
	case kWatch: // who watches asks nothing but whether somebody is here
		_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
		return sendFrame(c.nc, kBeat, startFrame(nil))
	case kWait: // it may take for ever, and keeps nothing busy
		return c.wait(f)
	}
	defer c.s.o.Use()()
	if f.kind == kView || f.kind == kUpdate {
		return c.shelf(f)
	}
	h, ok := handlers[f.kind]
	if !ok {
		return c.sendRefusal(c.unknown(f.kind))
	}
	commit := c.store.Commit() // what follows is at least as new
	b, err := h.serve(c.ctx, c, f, commit)
	if err != nil {
		return err
	}
	return c.send(b)
}

// errInvalid ends the connections of a process that has no right to the store any more.
var errInvalid = errors.New("another process holds the store")

// send sends an answer, which was appended to begin's result.
func (c *session) send(b []byte) error {
	if !c.s.o.Valid() { // what it says may be old, or be a write that another holder does not have
		return errInvalid
	}
	if cap(b) <= 1<<20 { // else it was a large one, of which there are few
		c.out = b
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
	return sendFrame(c.nc, kAnswer, b)
}

// sendShutdown is the last that a client hears on a connection that it asks nothing on.
func (c *session) sendShutdown() {
	c.s.mu.Lock()
	last := c.s.last
	c.s.mu.Unlock()
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	_ = sendFrame(c.nc, kBye, appendTo(startFrame(nil), &last)) // else it is gone before this process is
}
