package remote

import (
	"cmp"
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
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// ServerOptions configures a server. Only Owner is needed.
type ServerOptions struct {
	Owner string // owner of the store; clients that want another owner's are refused
	Token string // the token that a client must send

	// Use is called when a request begins, and its result when the request ends.
	// Callers that close unused stores need it. Heartbeats and waits for the log do not
	// count as use. May be nil.
	Use func() (done func())
	// Valid reports whether this process still has the right to the store. When it
	// returns false, the server sends no more answers. May be nil.
	Valid func() bool
	// Takes reports whether the server accepts new requests and clients. May be nil.
	Takes func() bool
	// Move records in the store that it has moved, and gives up the right to it. If Move
	// is nil, the server refuses such requests.
	Move func(ctx context.Context, m engine.Move) error
	// OnEvent answers events, which the program handles and not the store. If OnEvent is
	// nil, the server refuses them.
	OnEvent func(ctx context.Context, body []byte) ([]byte, error)
	// Silence is how long a client's transaction may go without a request before the
	// server rolls it back. The default, also for values <= 0, is 5 s.
	Silence time.Duration
	Log     *slog.Logger // default slog.Default()
}

// Timeouts and intervals of a server.
const (
	helloWait = 5 * time.Second        // for a client to send its hello
	writeWait = 10 * time.Second       // for a client to accept an answer
	lifeEvery = 250 * time.Millisecond // between progress messages while the store is being opened
)

// Server serves one store to other processes. It may be started before the store is open;
// clients then wait. It is safe for concurrent use.
type Server struct {
	o ServerOptions

	opened  chan struct{} // closed by Ready or Fail
	closing chan struct{} // closed by Shutdown
	ends    sync.Once
	conns   sync.WaitGroup

	mu        sync.Mutex // guards the rest
	s         engine.Served
	err       error // from Fail; nil if the store was opened
	stage     welcome
	listeners map[net.Listener]bool
	open      map[*session]bool
	shut      bool
	last      closeNotice
}

// NewServer returns a server for a store that is not open yet. The caller must then call
// either Ready or Fail, once.
func NewServer(o ServerOptions) *Server {
	o.Silence = cmp.Or(max(o.Silence, 0), 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
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

// Ready makes the server serve st, also to the clients that are already waiting. The caller
// still owns st.
func (s *Server) Ready(st engine.Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s = st
	close(s.opened)
}

// Fail makes the server refuse all clients with err, the reason why the store could not be
// opened.
func (s *Server) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.opened)
}

// Progress sets the progress that waiting clients are sent while the store is being opened.
// It can be used as bolt.Options.Progress.
func (s *Server) Progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = welcome{Stage: stage, Done: done, Total: total}
}

// Serve accepts clients on l until Shutdown, and then returns nil. It closes l. If l is
// closed otherwise, Serve returns an error. Several listeners may be served at once.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners[l] = true
	s.mu.Unlock()
	defer l.Close()
	if err := acceptAll(l, s.closing, func(nc net.Conn) { s.begin(nc, nil) }); err != nil && !s.isShut() {
		return fmt.Errorf("serve the store: %w", err)
	}
	return nil
}

// Drop closes a listener that another one replaces. Its connections stay open.
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

// begin starts to serve a connection. first is its hello if that was already read, else
// nil.
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

// Shutdown closes the listeners, finishes the requests in progress, and closes every
// connection. When ctx ends, it cancels the remaining requests. evicted is sent to the
// clients; true means that this process closes the store but keeps running.
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

// session serves one connection, on its own goroutine.
type session struct {
	s      *Server
	nc     net.Conn
	first  *hello          // the hello, if it was already read; else nil
	ctx    context.Context // canceled when the connection ends
	cancel context.CancelFunc
	frames chan frame
	store  engine.Served
	out    []byte // buffer for answers, reused

	peer    *peer  // decodes the client's messages; nil for the same build
	version string // of the client's program, if it is another build
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
		c.cancel() // read may be waiting to hand over a frame
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

// read sends the connection's frames to c.frames. When the connection ends, it cancels the
// connection's context, which also cancels the request in progress.
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

// handshake reads and checks the client's hello, and then waits until the store is open,
// sending progress messages. It reports whether the client is served.
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
		return false // the client then looks again for the process that holds the store
	case !understood(h.Ken, h.Oldest):
		mine.Version = programVersion()
		_ = sendJSON(c.nc, kWelcome, mine) // the client compares the versions
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
		if known, ok := errors.AsType[*ken.Error](err); ok {
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
			oops := &ken.Error{Code: ken.CodeInternal, Msg: fmt.Sprintf("the process that holds the store panicked: %v", p), Try: "Report this with the entry of its log."}
			if err = c.send(c.answer(0, oops, nil)); f.kind == kView || f.kind == kUpdate {
				err = errors.Join(err, oops) // the client may still expect a transaction, so the connection is closed
			}
		}
	}()
	if !c.s.o.Takes() {
		return errInvalid
	}
	switch f.kind {
	case kWatch: // a heartbeat
		_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
		return sendFrame(c.nc, kBeat, startFrame(nil))
	case kWait: // it has no time limit and does not count as use
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
	commit := c.store.Commit() // the answer's data is at least as new
	b, err := h.serve(c.ctx, c, f, commit)
	if err != nil {
		return err
	}
	return c.send(b)
}

// errInvalid ends the connections of a process that no longer has the right to the store.
var errInvalid = errors.New("another process holds the store")

// send sends an answer, which was appended to startFrame's result.
func (c *session) send(b []byte) error {
	if !c.s.o.Valid() { // the data may be stale, and a write may be missing at the new holder
		return errInvalid
	}
	if cap(b) <= 1<<20 { // don't keep the memory of a rare, large answer
		c.out = b
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
	return sendFrame(c.nc, kAnswer, b)
}

// sendShutdown sends the closeNotice, the last frame on a connection that has no request in
// progress.
func (c *session) sendShutdown() {
	c.s.mu.Lock()
	last := c.s.last
	c.s.mu.Unlock()
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	_ = sendFrame(c.nc, kBye, codec.Append(startFrame(nil), &last)) // an error means that the client is already gone
}
