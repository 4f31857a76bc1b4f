package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
)

// How a client notices that the holder lives and does not answer: it asks on the
// connection that it watches on, and has an answer within Silence, which a process that
// is merely busy gives. Then every call fails at once, until the answer comes.
const (
	beatEvery = 500 * time.Millisecond
	Silence   = 2 * time.Second // after which a holder counts as hung
	// forgiving is how long a call that nobody bounded waits for a holder that hangs.
	forgiving = time.Second
)

// heartbeat is what is known of the holder's heartbeat. It is safe for concurrent use.
type heartbeat struct {
	asked  atomic.Int64 // when the oldest question without an answer was sent, Unix ns; 0 for none
	hung   atomic.Int64 // since when the holder does not answer, Unix ns; 0 while it does
	change chan struct{}
}

// beat asks the holder again and again whether it is there, until the client is closed or
// the holder gone.
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
					return // whoever listens sees it
				}
			case now.UnixNano()-asked >= int64(Silence) && c.pulse.hung.CompareAndSwap(0, asked):
				c.interrupt()
			}
		}
	}
}

// answered notes that the holder is there.
func (c *Client) answered() {
	c.pulse.asked.Store(0)
	if c.pulse.hung.Swap(0) != 0 {
		select {
		case c.pulse.change <- struct{}{}:
		default:
		}
	}
}

// interrupt ends the calls under way: the holder does not answer.
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

// hangs returns the error of a call while the holder does not answer; nil while it does.
// sent: the holder has the request, and may do it when it goes on.
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

// Hangs is the error of a call while the holder does not answer; nil while it does.
func (c *Client) Hangs() error { return c.hangs(false) }

// fieldHolder is the Field of a HungError.
const fieldHolder = "holder"

// HungError is the error of a holder that lives and does not answer. A pid of 0 is a process of
// another machine.
func HungError(pid int, since time.Duration) *ken.Error {
	if pid == 0 {
		return &ken.Error{Code: ken.CodeUnavailable, Field: fieldHolder, Msg: fmt.Sprintf("the node that holds the store has not answered for %s", since.Round(100*time.Millisecond)),
			Try: "Look at that node and the network between both: ken doctor names it. Another node takes the owner over if it stays silent."}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Field: fieldHolder, Msg: fmt.Sprintf("process %d, which holds the store, has not answered for %s", pid, since.Round(100*time.Millisecond)),
		Try: fmt.Sprintf("Continue it, if it is paused (fg in its terminal, or kill -CONT %d), or end it.", pid)}
}

// IsHung reports an error of a holder that lives and does not answer.
func IsHung(err error) bool {
	var e *ken.Error
	return errors.As(err, &e) && e.Code == ken.CodeUnavailable && e.Field == fieldHolder
}

// ping waits for a holder that hangs, where the caller set no deadline of its own.
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
			select { // the next who waits
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
