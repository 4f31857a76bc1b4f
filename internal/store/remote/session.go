package remote

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// session is one connection, on its goroutine.
type session struct {
	s      *Server
	nc     net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	frames chan frame
	store  store.Served
	out    []byte // for answers, used again
}

func (c *session) serve() {
	defer c.nc.Close()
	defer c.cancel()
	if !c.greet() {
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
			c.bye()
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
		if err != nil {
			return
		}
		select {
		case c.frames <- f:
		case <-c.ctx.Done():
			return
		}
	}
}

// greet hears who the client is and waits with it until the store is open. It
// reports whether the client is served.
func (c *session) greet() bool {
	var h hello
	_ = c.nc.SetDeadline(time.Now().Add(helloWait))
	if err := receiveJSON(c.nc, kHello, &h); err != nil {
		return false
	}
	mine := welcome{Ken: version, Forms: fingerprint()}
	refuse := func(e *ken.Error) bool {
		mine.Refused = &refusal{e.Code, e.Field, e.Error(), e.Try}
		_ = sendJSON(c.nc, kWelcome, mine)
		return false
	}
	switch {
	case h.Ken != version || h.Forms != mine.Forms:
		_ = sendJSON(c.nc, kWelcome, mine) // who reads it sees the difference
		return false
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(c.s.o.Token)) != 1:
		return refuse(&ken.Error{Code: ken.CodeRefused, Field: "token", Msg: "the token is not this store's", Try: "Try again: the process that holds the store has changed."})
	case h.Owner != c.s.o.Owner:
		return refuse(&ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: fmt.Sprintf("the store belongs to another owner, not to %q", h.Owner),
			Try: "Open the folder with its own owner."})
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
			if err = c.send(c.answer(0, oops, func(b []byte) []byte { return b })); f.kind == kView || f.kind == kUpdate {
				err = errors.Join(err, oops) // who knows what the client takes the connection for
			}
		}
	}()
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
		return fmt.Errorf("a frame of kind %d", f.kind)
	}
	commit := c.store.Commit() // what follows is at least as new
	b, err := h(c.ctx, c, f.body, commit)
	if err != nil {
		return err
	}
	return c.send(b)
}

// send sends an answer, which was appended to begin's result.
func (c *session) send(b []byte) error {
	if cap(b) <= 1<<20 { // else it was a large one, of which there are few
		c.out = b
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(writeWait))
	return sendFrame(c.nc, kAnswer, b)
}

// bye is the last that a client hears on a connection that it asks nothing on.
func (c *session) bye() {
	c.s.mu.Lock()
	last := c.s.last
	c.s.mu.Unlock()
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	_ = sendFrame(c.nc, kBye, appendTo(startFrame(nil), &last)) // else it is gone before this process is
}
