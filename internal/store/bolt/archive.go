package bolt

import (
	"context"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Archive puts away a claim that was superseded or has expired, for the reason
// given, or that one if it is empty. Nothing is erased or moved: vectors and index
// entries stay, so that whoever asks for such a claim still finds it by its words,
// and no default recall has seen it since it ceased to stand. Archiving it again
// changes nothing. Errors: ErrNotFound; ErrRefused for a claim that still stands.
func (s *Store) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return s.do(ctx, func(t *txn) error {
		ev, err := store.ArchiveCommand(t.get, id, reason, actor, s.o.env())
		if err != nil || ev == nil {
			return err
		}
		return t.emit(ev)
	})
}
