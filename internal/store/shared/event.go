package shared

import (
	"context"

	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
)

// onEvent returns Options.OnEvent bound to this owner; nil if it is not set.
func (s *ownerConn) onEvent() func(context.Context, []byte) ([]byte, error) {
	answer := s.w.o.OnEvent
	if answer == nil {
		return nil
	}
	return func(ctx context.Context, body []byte) ([]byte, error) { return answer(ctx, s.owner, body) }
}

// SendEvent sends an event to the process that holds an owner's folder dir, and returns
// its answer. It does not open the store in this process. taken is false if no process
// accepts events for the folder, or if it could not be reached. Then nothing was done.
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
