package remote

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// programRequest is a request to the program that holds the store, see SendEvent.
type programRequest struct{ Body []byte }

// program serves a programRequest with ServerOptions.OnEvent.
func program(ctx context.Context, c *session, q *programRequest, commit uint64) []byte {
	var out []byte
	err := error(&ken.Error{Code: ken.CodeRefused, Msg: "the process that holds the store answers no events", Try: "Open the store."})
	if answer := c.s.o.OnEvent; answer != nil {
		out, err = answer(ctx, q.Body)
	}
	return c.answer(commit, err, &out)
}

// SendEvent sends an event to the program that holds the store and returns its answer. It
// opens a connection and closes it again. It returns the errors of Dial, a LostError whose
// Sent reports whether the program may have handled the event, and the program's own errors.
func SendEvent(ctx context.Context, network, address string, o Options, body []byte) (out []byte, err error) {
	c := &Client{network: network, address: address, o: o}
	cn, _, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = cn.nc.Close() }() // the answer was read, or there is another error
	stop := context.AfterFunc(ctx, func() { _ = cn.nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	f, err := cn.roundTrip(kProgram, codec.Append(startFrame(nil), &programRequest{body}))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	var a answer
	rest, err := cn.peer.answer(kAnswer).DecodeSome(f.body, &a)
	if err == nil && a.Err == nil {
		err = cn.peer.answer(kProgram).Decode(rest, &out)
	}
	if err != nil {
		return nil, &LostError{Sent: true, Err: err}
	}
	return out, a.Err.err()
}
