package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// Options configures a client.
type Options struct {
	Owner string // owner that the store must belong to
	Dir   string // the store's folder
	Token string // authenticates the client to the server
	PID   int    // process id of the holder, for error texts; 0 if it is on another machine
	// TLS configures connections to a holder on another machine. Nil means no TLS.
	TLS *tls.Config
	// Embedder embeds queries in this process; nil for none. Vectors are compared only
	// if the holder's vectors are from the same model.
	Embedder embed.Embedder
	// Progress is called with the holder's progress while it opens the store. May be nil.
	Progress func(stage string, done, total int)
	// Lost is called once, on its own goroutine, when the connection to the holder ends,
	// unless the client was closed first. evicted reports whether the holder closed the
	// store but keeps running. May be nil.
	Lost func(evicted bool)
	// Dead is called regularly while the holder is hung, and reports whether other processes may
	// serve the store. Then the client gives the connection up: see Lost. May be nil.
	Dead func(context.Context) bool
}

const (
	// lifeWait is how long a client waits for a connection, and then for the next progress
	// message while the holder opens the store.
	lifeWait = Silence
	// maxConns bounds the connections in use at the same time, maxIdle the idle ones.
	maxConns = 64
	maxIdle  = 16
	// quick is the timeout of calls that take no context. After it they return the zero
	// value.
	quick = 2 * time.Second
)

// Client gives access to a store that another process holds. It implements store.Engine
// and is safe for concurrent use. A method that takes no context has a timeout of two
// seconds, and returns the zero value if there is no answer.
type Client struct {
	network, address string
	o                Options
	model            string
	id               string
	forms            string // fingerprint of the holder's schema
	peer             *peer  // decodes the holder's messages; nil for the same build

	ctx    context.Context // canceled by Close and Leave
	cancel context.CancelFunc
	slots  chan struct{} // one entry for each connection in use
	watch  sync.WaitGroup
	cache  *cache
	broken atomic.Bool
	trips  atomic.Uint64
	pulse  heartbeat

	mu     sync.Mutex // guards the rest
	idle   []*conn
	open   map[*conn]bool // in use or idle
	closed bool
	ahead  store.Ref // the row at which a walk over all rows is expected to continue
}

var (
	_ store.Engine  = (*Client)(nil)
	_ store.Remote  = (*Client)(nil)
	_ engine.Copier = (*Client)(nil)
)

// conn is a connection, used by one call at a time.
type conn struct {
	nc  net.Conn
	r   *bufio.Reader
	out []byte

	peer *peer
}

// Dial connects to the process that serves the store at an address, and waits until that
// process has opened the store. The caller must close the client. Dial returns
//   - a LostError if there is no server, or something other than a server answers
//   - ErrHeld if the server's messages can't be decoded
//   - ErrRefused if the store has another owner or the token is wrong
//   - the holder's error if it could not open the store
//   - ctx's error
func Dial(ctx context.Context, network, address string, o Options) (*Client, error) {
	life, cancel := context.WithCancel(context.Background())
	c := &Client{network: network, address: address, o: o, ctx: life, cancel: cancel,
		slots: make(chan struct{}, maxConns), cache: newCache(), open: map[*conn]bool{}, pulse: heartbeat{change: make(chan struct{}, 1)}}
	if o.Embedder != nil {
		c.model = o.Embedder.Model()
	}
	w, welcome, err := c.connect(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	c.id, c.forms, c.peer = welcome.Store, welcome.Forms, w.peer
	c.cache.of(c.id)
	c.cache.classes = c.peer.answer(kClass)
	if err := sendFrame(w.nc, kWatch, startFrame(nil)); err != nil {
		cancel()
		return nil, errors.Join(&LostError{Err: err}, w.nc.Close())
	}
	c.watch.Go(func() { c.listen(w) })
	c.watch.Go(func() { c.beat(w) })
	return c, nil
}

// listen reads heartbeats from w, the connection that watches the holder, until the
// holder or the client closes it.
func (c *Client) listen(w *conn) {
	stop := context.AfterFunc(c.ctx, func() { _ = w.nc.Close() })
	defer stop()
	f, err := readFrame(w.r, maxHello)
	for err == nil && f.kind == kBeat {
		c.answered()
		f, err = readFrame(w.r, maxHello)
	}
	_ = w.nc.Close()
	c.answered() // the holder is gone, so it no longer counts as hung
	if c.ctx.Err() != nil {
		return
	}
	c.broken.Store(true)
	var last closeNotice
	if err == nil && f.kind == kBye {
		_ = c.peer.answer(kBye).Decode(f.body, &last) // on an error last keeps its zero value: not evicted
	}
	if c.o.Lost != nil {
		go c.o.Lost(last.Evicted)
	}
}

// Close closes every connection, including those of calls in progress. It waits for the
// client's goroutines. Closing twice is not an error.
func (c *Client) Close() error {
	c.broken.Store(true)
	c.mu.Lock()
	c.closed, c.idle = true, nil
	for cn := range c.open {
		_ = cn.nc.Close()
	}
	c.mu.Unlock()
	c.cancel()
	c.watch.Wait()
	return nil
}

// Leave makes new calls fail and closes idle connections. Calls in progress continue as
// long as the holder answers.
func (c *Client) Leave() {
	c.broken.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, cn := range c.idle {
		delete(c.open, cn)
		_ = cn.nc.Close()
	}
	c.idle = nil
	c.cancel()
}

// connect opens a connection and does the handshake.
func (c *Client) connect(ctx context.Context) (*conn, *welcome, error) {
	d := net.Dialer{Timeout: lifeWait}
	nc, err := d.DialContext(ctx, c.network, c.address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			err = errors.New(err.Error()) // it is not the caller's time that is over
		}
		return nil, nil, &LostError{Err: err}
	}
	if c.o.TLS != nil {
		nc = tls.Client(nc, c.o.TLS)
	}
	cn := &conn{nc: nc, r: bufio.NewReaderSize(nc, 32<<10)}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	w, err := c.handshake(cn)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, err
	}
	_ = nc.SetDeadline(time.Time{})
	return cn, w, nil
}

func (c *Client) handshake(cn *conn) (*welcome, error) {
	_ = cn.nc.SetDeadline(time.Now().Add(lifeWait)) // the first write waits for the answers of TLS
	if err := sendJSON(cn.nc, kHello, hello{Ken: version, Forms: own().forms, Owner: c.o.Owner, Token: c.o.Token}); err != nil {
		return nil, &LostError{Err: err}
	}
	for {
		var w welcome
		_ = cn.nc.SetReadDeadline(time.Now().Add(lifeWait))
		if err := receiveJSON(cn.r, kWelcome, &w); err != nil {
			return nil, &LostError{Err: err}
		}
		if !understood(w.Ken, w.Oldest) {
			return nil, otherVersion(w.Version, nil)
		}
		if w.Schema != nil { // the holder is another build and waits for this one's schema
			var err error
			if cn.peer, err = peerOf(w.Forms, w.Schema); err != nil {
				return nil, otherVersion(w.Version, err)
			}
			_ = cn.nc.SetWriteDeadline(time.Now().Add(helloWait))
			if err := sendJSON(cn.nc, kSchema, introduction{programVersion(), own().schema}); err != nil {
				return nil, &LostError{Err: err}
			}
			continue
		}
		switch {
		case w.Refused != nil:
			return nil, &ken.Error{Code: w.Refused.Code, Field: w.Refused.Field, Msg: w.Refused.Msg, Try: w.Refused.Try}
		case cn.peer == nil && w.Forms != own().forms:
			return nil, otherVersion(w.Version, nil)
		case w.Ready && w.Owner != c.o.Owner:
			return nil, &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: fmt.Sprintf("the store belongs to owner %q, not %q", w.Owner, c.o.Owner),
				Try: "Open the folder with its own owner."}
		case w.Ready:
			return &w, nil
		case c.o.Progress != nil && w.Stage != "":
			c.o.Progress(w.Stage, w.Done, w.Total)
		}
	}
}

// acquireConn returns an idle connection, or opens one. It waits while maxConns
// connections are in use. The caller must give the connection back with returnConn.
func (c *Client) acquireConn(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.ping(ctx); err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, errClosed
	}
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		cn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return cn, nil
	}
	c.mu.Unlock()
	cn, w, err := c.connect(ctx)
	if err == nil && w.Forms != c.forms {
		_ = cn.nc.Close()
		err = errInvalid
	}
	if err != nil && ctx.Err() == nil {
		c.broken.Store(true)
		if _, lost := Lost(err); !lost {
			// The holder accepted this client before. A refusal means that another process now
			// serves at the same address.
			err = &LostError{Err: err}
		}
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.open[cn] = true
			return cn, nil
		}
		_ = cn.nc.Close()
		err = errClosed
	}
	<-c.slots
	return nil, err
}

// errClosed is the error of calls after Close or Leave.
var errClosed = &LostError{Err: net.ErrClosed}

// returnConn takes back a connection from acquireConn. It pools the connection if good is
// true and there is room, and closes it otherwise.
func (c *Client) returnConn(cn *conn, good bool) {
	defer func() { <-c.slots }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if good && !c.closed && len(c.idle) < maxIdle {
		c.idle = append(c.idle, cn)
		return
	}
	delete(c.open, cn)
	_ = cn.nc.Close()
}

// shortTimeout returns the context of a call that takes no context.
func (c *Client) shortTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, quick)
}

// Owner returns the owner of the store.
func (c *Client) Owner() string { return c.o.Owner }

// Dir returns the store's folder.
func (c *Client) Dir() string { return c.o.Dir }

// Address returns the address at which the holder serves the store.
func (c *Client) Address() string { return c.address }

// ID returns the store's id.
func (c *Client) ID() string { return c.id }

// Embedder returns this process's embedder, nil for none. The store's vectors are compared
// only if they are from the same model.
func (c *Client) Embedder() embed.Embedder { return c.o.Embedder }

// exchange sends a request and reads the answer's frame. After an error the connection
// can't be used again. With errSpent the frame is valid all the same.
func (c *Client) exchange(ctx context.Context, cn *conn, kind byte, b []byte) (frame, error) {
	c.trips.Add(1)
	stop := context.AfterFunc(ctx, func() { _ = cn.nc.SetDeadline(time.Unix(1, 0)) })
	f, err := cn.roundTrip(kind, b)
	if !stop() { // the deadline may have been set after the answer came
		if err == nil {
			return f, errSpent
		}
		return f, ctx.Err()
	}
	if _, lost := Lost(err); lost {
		if hung := c.hangs(true); hung != nil {
			return f, hung
		}
		c.broken.Store(true)
	}
	return f, err
}

// Trips returns how many requests this client has sent or tried to send. The holder's own
// calls need none.
func (c *Client) Trips() uint64 { return c.trips.Load() }

// Broken reports whether a connection broke since the client was created, or the client
// was closed. Calls that take no context can't report this as an error.
func (c *Client) Broken() bool { return c.broken.Load() }

// errSpent reports that the answer was received, but the connection can't be used again.
var errSpent = errors.New("the connection is spent")

func (cn *conn) roundTrip(kind byte, b []byte) (frame, error) {
	if err := sendFrame(cn.nc, kind, b); err != nil {
		if errors.Is(err, errTooLarge) {
			return frame{}, errTooLong
		}
		return cn.last(err)
	}
	f, err := readFrame(cn.r, maxFrame)
	if err == nil && f.kind != kAnswer {
		err = fmt.Errorf("a frame of kind %d", f.kind)
	}
	if err != nil {
		return frame{}, &LostError{Sent: true, Err: err}
	}
	return f, nil
}

// last reads an answer that the server sent before it closed the connection, such as the
// reason for closing. cause is the error of the failed send, returned in a LostError if
// there is no complete answer. On success the error is errSpent.
func (cn *conn) last(cause error) (frame, error) {
	_ = cn.nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if f, err := readFrame(cn.r, maxFrame); err == nil && f.kind == kAnswer {
		return f, errSpent
	}
	return frame{}, &LostError{Err: cause}
}

var errTooLong = &ken.Error{Code: ken.CodeInvalid, Msg: "more than fits into one message to the process that holds the store", Try: "Write it in smaller parts."}

// head decodes an answer's head and passes its commit number to the cache. rest is the
// encoded result.
func (c *Client) head(f frame) (a answer, rest []byte, err error) {
	rest, err = c.peer.answer(kAnswer).DecodeSome(f.body, &a)
	if err != nil {
		return a, nil, &LostError{Sent: true, Err: err}
	}
	c.cache.invalidate(a.Commit)
	return a, rest, nil
}

// call sends a request and decodes the answer. commit is the answer's commit number.
func call[Q, A any](ctx context.Context, c *Client, kind byte, q *Q) (out A, commit uint64, err error) {
	cn, err := c.acquireConn(ctx)
	if err != nil {
		return out, 0, err
	}
	cn.out = codec.Append(startFrame(cn.out), q)
	f, err := c.exchange(ctx, cn, kind, cn.out)
	if cap(cn.out) > 1<<20 {
		cn.out = nil
	}
	c.returnConn(cn, err == nil)
	if err != nil && !errors.Is(err, errSpent) {
		return out, 0, err
	}
	a, rest, err := c.head(f)
	if err != nil {
		return out, 0, err
	}
	err = a.Err.err()
	if wrong := c.peer.answer(kind).Decode(rest, &out); wrong != nil && err == nil {
		err = &LostError{Sent: true, Err: wrong}
	}
	return out, a.Commit, err
}

// ask is call for callers that do not need the commit number.
func ask[Q, A any](ctx context.Context, c *Client, kind byte, q *Q) (A, error) {
	out, _, err := call[Q, A](ctx, c, kind, q)
	return out, err
}

// tell is call for requests whose answer has no result.
func tell[Q any](ctx context.Context, c *Client, kind byte, q *Q) error {
	_, _, err := call[Q, empty](ctx, c, kind, q)
	return err
}
