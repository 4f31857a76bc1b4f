package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

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
	rest, err = codec.DecodeSome(f.body, &a)
	if err != nil {
		return a, nil, &LostError{Sent: true, Err: err}
	}
	c.cache.hear(a.Commit)
	return a, rest, nil
}

// call asks and reads the answer.
func call[Q, A any](ctx context.Context, c *Client, kind byte, q *Q) (out A, commit uint64, err error) {
	cn, err := c.take(ctx)
	if err != nil {
		return out, 0, err
	}
	cn.out = codec.Append(startFrame(cn.out), q)
	f, err := c.exchange(ctx, cn, kind, cn.out)
	if cap(cn.out) > 1<<20 {
		cn.out = nil
	}
	c.give(cn, err == nil)
	if err != nil && !errors.Is(err, errSpent) {
		return out, 0, err
	}
	a, rest, err := c.head(f)
	if err != nil {
		return out, 0, err
	}
	err = a.Err.err()
	if wrong := codec.Decode(rest, &out); wrong != nil && err == nil {
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
	_, _, err := call[Q, nothing](ctx, c, kind, q)
	return err
}
