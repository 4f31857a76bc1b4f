package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
)

// A client detects that the holder is running but does not answer as follows. It sends
// heartbeats on a separate connection. If there is no answer within Silence, the holder is
// hung; a process that is only busy answers in time. Calls then fail until an answer comes.
const (
	beatEvery = 500 * time.Millisecond
	Silence   = 2 * time.Second // how long a heartbeat may stay unanswered before the holder counts as hung
	// forgiving is how long a call without a deadline waits for a hung holder.
	forgiving = time.Second
)

// heartbeat is the state of the holder's heartbeat. It is safe for concurrent use.
type heartbeat struct {
	asked  atomic.Int64 // when the unanswered heartbeat was sent, Unix ns; 0 for none
	hung   atomic.Int64 // since when the holder is hung, Unix ns; 0 if it is not
	change chan struct{}
}

// beat sends a heartbeat every beatEvery until the client is closed or the connection
// breaks. It marks the holder as hung when an answer is late, and breaks the connection
// when a hung holder is dead.
func (c *Client) beat(w *conn) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			switch asked := c.pulse.asked.Load(); {
			case asked == 0:
				c.pulse.asked.Store(now.UnixNano())
				_ = w.nc.SetWriteDeadline(now.Add(Silence))
				if sendFrame(w.nc, kWatch, startFrame(nil)) != nil {
					return // listen handles the broken connection
				}
			case now.UnixNano()-asked >= int64(Silence) && c.pulse.hung.CompareAndSwap(0, asked):
				c.interrupt()
			case c.pulse.hung.Load() != 0 && c.o.Dead != nil && c.o.Dead(c.ctx):
				_ = w.nc.Close() // listen does the rest
				return
			}
		}
	}
}

// answered records that the holder has answered, and wakes a call that waits in ping.
func (c *Client) answered() {
	c.pulse.asked.Store(0)
	if c.pulse.hung.Swap(0) != 0 {
		select {
		case c.pulse.change <- struct{}{}:
		default:
		}
	}
}

// interrupt makes the calls in progress fail and closes idle connections, because the
// holder is hung.
func (c *Client) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cn := range c.open {
		_ = cn.nc.SetDeadline(time.Unix(1, 0))
	}
	for _, cn := range c.idle {
		delete(c.open, cn)
		_ = cn.nc.Close()
	}
	c.idle = nil
}

// hangs returns a HungError while the holder is hung, else nil. sent says that the request
// may have reached the holder, which may then still execute it.
func (c *Client) hangs(sent bool) error {
	since := c.pulse.hung.Load()
	if since == 0 {
		return nil
	}
	e := HungError(c.o.PID, time.Since(time.Unix(0, since)))
	if sent {
		e.Msg += "; it is not known whether it does what it was asked"
	}
	return e
}

// Hangs returns a HungError while the holder is hung, else nil.
func (c *Client) Hangs() error { return c.hangs(false) }

// fieldHolder is the Field of the errors that HungError returns.
const fieldHolder = "holder"

// HungError returns the error for a holder that is running but does not answer. since is
// how long it has not answered. A pid of 0 means a process on another machine.
func HungError(pid int, since time.Duration) *ken.Error {
	if pid == 0 {
		return &ken.Error{Code: ken.CodeUnavailable, Field: fieldHolder, Msg: fmt.Sprintf("the node that holds the store has not answered for %s", since.Round(100*time.Millisecond)),
			Try: "Look at that node and the network between both: ken doctor names it. Another node takes the owner over if it stays silent."}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Field: fieldHolder, Msg: fmt.Sprintf("process %d, which holds the store, has not answered for %s", pid, since.Round(100*time.Millisecond)),
		Try: fmt.Sprintf("Continue it, if it is paused (fg in its terminal, or kill -CONT %d), or end it.", pid)}
}

// IsHung reports whether err was returned by HungError or wraps such an error.
func IsHung(err error) bool {
	var e *ken.Error
	return errors.As(err, &e) && e.Code == ken.CodeUnavailable && e.Field == fieldHolder
}

// ping returns nil if the holder is not hung. If it is and ctx has no deadline, ping waits up to
// forgiving for it to answer. Otherwise it returns the error at once.
func (c *Client) ping(ctx context.Context) error {
	err := c.hangs(false)
	if _, bounded := ctx.Deadline(); err == nil || bounded {
		return err
	}
	give := time.NewTimer(forgiving)
	defer give.Stop()
	for err != nil {
		select {
		case <-c.pulse.change:
			err = c.hangs(false)
			select { // wake the next waiting call
			case c.pulse.change <- struct{}{}:
			default:
			}
		case <-give.C:
			return c.hangs(false)
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return errClosed
		}
	}
	return nil
}
