package bolt

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// ByKey returns the claim that was written under a key, whatever its status. The
// result is the caller's. Errors: ErrNotFound, also for one that was forgotten.
func (s *Store) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	var id uuid.UUID
	err := s.view(func(tx *bbolt.Tx) error {
		var err error
		if id, err = s.idOfKey(tx, key); err == nil && id == uuid.Nil {
			err = noKey(key)
		}
		return err
	})
	if err != nil {
		return ken.Claim{}, err
	}
	ref, _, ok := s.find(id)
	if !ok { // the write is not acknowledged yet, or the claim was just forgotten
		return ken.Claim{}, noKey(key)
	}
	c, err := s.Claim(ctx, ref)
	return store.Clone(&c), err
}

func noKey(key string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "key", Msg: fmt.Sprintf("no claim has the key %q", key),
		Try: "Write one with it, or check --owner."}
}
