package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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
	Owner string // whose store it is to be
	Dir   string // the store's folder
	Token string // to be shown to the server
	PID   int    // of the holder, for errors
	// TLS is for a holder on another machine; nil for none.
	TLS *tls.Config
	// Embedder is what this process embeds questions with; nil for none. Vectors are
	// compared only if the holder's are of the same model.
	Embedder embed.Embedder
	// Progress is told how far the holder is with opening the store. May be nil.
	Progress func(stage string, done, total int)
	// Lost is called once, on a goroutine of its own, when the holder is gone, if the
	// client was not closed before. evicted: the holder lives on and has let the store
	// go. May be nil.
	Lost func(evicted bool)
}

const (
	// lifeWait is how long the holder may be without a sign of life while it opens
	// the store.
	lifeWait = Silence
	// maxConns bounds the connections of a client, maxIdle those that it keeps.
	maxConns = 64
	maxIdle  = 16
	// quick bounds the calls that take no context. They give zeros after it.
	quick = 2 * time.Second
)

// Client is a store that another process holds. It is a store.Engine, and safe for
// concurrent use. Calls that take no context take two seconds at most and give the
// zero value when there is no answer.
type Client struct {
	network, address string
	o                Options
	model            string
	id               string
	forms            string // the holder's fingerprint
	peer             *peer  // how to read what it writes

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  chan struct{} // one for each open connection
	watch  sync.WaitGroup
	cache  *cache
	broken atomic.Bool
	trips  atomic.Uint64
	pulse  heartbeat

	mu     sync.Mutex // guards the rest
	idle   []*conn
	open   map[*conn]bool // in use or idle
	closed bool
	ahead  store.Ref // where a walk over all rows goes on
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

// Dial connects with the process that serves the store at an address, and waits
// until that has opened it. Errors: a LostError when nobody answers there, or
// something else does; ErrHeld for a process whose messages this one can't read; ErrRefused for
// another owner's store, or a token that is not the server's; what kept the holder
// from opening the store; ctx's.
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

// listen waits on a connection of its own for the end of the holder, or the
// client's own.
func (c *Client) listen(w *conn) {
	stop := context.AfterFunc(c.ctx, func() { _ = w.nc.Close() })
	defer stop()
	f, err := readFrame(w.r, maxHello)
	for err == nil && f.kind == kBeat {
		c.answered()
		f, err = readFrame(w.r, maxHello)
	}
	_ = w.nc.Close()
	c.answered() // it hangs no more: it is gone
	if c.ctx.Err() != nil {
		return
	}
	c.broken.Store(true)
	var last closeNotice
	if err == nil && f.kind == kBye {
		_ = c.peer.answer(kBye).Decode(f.body, &last) // else it is gone all the same
	}
	if c.o.Lost != nil {
		go c.o.Lost(last.Evicted)
	}
}

// Close closes every connection, also those that calls wait on. It is no error to
// close twice.
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

// Leave lets no further call begin; those under way go on as long as the holder
// answers.
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

// connect opens a connection and says hello.
func (c *Client) connect(ctx context.Context) (*conn, *welcome, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, c.network, c.address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
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
		if w.Schema != nil { // it is of another build, and waits for this one's schema
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

// acquireConn returns a connection that nobody uses.
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
			// Whoever refuses a client that was let in is another holder, at the same address.
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

// errClosed is what a client says after Close: whoever closed it knows better.
var errClosed = &LostError{Err: net.ErrClosed}

// returnConn takes a connection back, for the next call if it is still good.
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

// shortTimeout is the context of a call that takes none.
func (c *Client) shortTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, quick)
}

// Owner is whose claims the store holds.
func (c *Client) Owner() string { return c.o.Owner }

// Dir is the owner's folder.
func (c *Client) Dir() string { return c.o.Dir }

// Address is where the holder serves the store.
func (c *Client) Address() string { return c.address }

// ID identifies the store.
func (c *Client) ID() string { return c.id }

// Embedder is this process's; the store's vectors are of the same model, or are not
// compared.
func (c *Client) Embedder() embed.Embedder { return c.o.Embedder }

// exchange sends a request and reads the answer's frame. After an error the
// connection is of no more use.
func (c *Client) exchange(ctx context.Context, cn *conn, kind byte, b []byte) (frame, error) {
	c.trips.Add(1)
	stop := context.AfterFunc(ctx, func() { _ = cn.nc.SetDeadline(time.Unix(1, 0)) })
	f, err := cn.roundTrip(kind, b)
	if !stop() { // the connection may have got its deadline after the answer
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

// Trips is how many requests were answered so far, or tried: what a turn costs more
// than in the process that holds the store.
func (c *Client) Trips() uint64 { return c.trips.Load() }

// Broken reports whether a connection broke since the client was made, or the client
// was closed. A call that takes no context says so in no other way.
func (c *Client) Broken() bool { return c.broken.Load() }

// errSpent is that the answer is there, and that the connection can't be used again.
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

// last is what a server that is gone has said before, such as why it went. cause is
// why it could not be asked: a frame that is not whole is not read.
func (cn *conn) last(cause error) (frame, error) {
	_ = cn.nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if f, err := readFrame(cn.r, maxFrame); err == nil && f.kind == kAnswer {
		return f, errSpent
	}
	return frame{}, &LostError{Err: cause}
}

var errTooLong = &ken.Error{Code: ken.CodeInvalid, Msg: "more than fits into one message to the process that holds the store", Try: "Write it in smaller parts."}

// head reads an answer's head, and notes what it says of the store. rest is what
// was asked for.
func (c *Client) head(f frame) (a answer, rest []byte, err error) {
	rest, err = c.peer.answer(kAnswer).DecodeSome(f.body, &a)
	if err != nil {
		return a, nil, &LostError{Sent: true, Err: err}
	}
	c.cache.invalidate(a.Commit)
	return a, rest, nil
}

// call asks and reads the answer.
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

// ask is call for what takes no look at the commit.
func ask[Q, A any](ctx context.Context, c *Client, kind byte, q *Q) (A, error) {
	out, _, err := call[Q, A](ctx, c, kind, q)
	return out, err
}

// tell is call for what has no answer but an error.
func tell[Q any](ctx context.Context, c *Client, kind byte, q *Q) error {
	_, _, err := call[Q, empty](ctx, c, kind, q)
	return err
}
