package shared

import (
	"context"

	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
)

// onEvent is Options.OnEvent for this owner; nil for none.
func (s *ownerConn) onEvent() func(context.Context, []byte) ([]byte, error) {
	answer := s.w.o.OnEvent
	if answer == nil {
		return nil
	}
	return func(ctx context.Context, body []byte) ([]byte, error) { return answer(ctx, s.owner, body) }
}

// SendEvent has the process that holds an owner's folder answer an event, without opening
// the store here. taken is false if no process does, or it could not be reached; then
// nothing was done.
func SendEvent(ctx context.Context, dir, owner string, body []byte) (answer []byte, taken bool, err error) {
	h := bolt.ReadHolder(dir)
	if !h.Events || h.Address == "" {
		return nil, false, nil
	}
	answer, err = remote.SendEvent(ctx, h.Network, h.Address, remote.Options{Owner: owner, Token: h.Token, PID: h.PID}, body)
	if sent, lost := remote.Lost(err); lost && !sent {
		return nil, false, nil
	}
	return answer, true, err
}
