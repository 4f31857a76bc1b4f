package memory

import (
	"context"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Archive puts away a claim that was superseded or has expired, for the reason
// given, or that one if it is empty. It is still found by a query that asks for its
// status or time. Archiving it again changes nothing. Errors: ErrNotFound;
// ErrRefused for a claim that still stands.
func (s *Store) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) { return store.ArchiveCommand(s.get, id, reason, actor, s.env) })
}
