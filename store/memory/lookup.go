package memory

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// minShortID is that of the store on disk.
const minShortID = 6

// Get returns one claim by its id or a unique prefix or suffix of at least six
// characters. The result is the caller's. Errors: ErrNotFound; ErrInvalid when
// several fit.
func (s *Store) Get(ctx context.Context, id string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []store.Ref
	if u, err := uuid.Parse(id); err == nil {
		if ref, ok := s.refs[u.String()]; ok {
			found = append(found, ref)
		}
	} else if len(id) >= minShortID {
		for text, ref := range s.refs {
			if len(id) < len(text) && (text[:len(id)] == id || text[len(text)-len(id):] == id) {
				found = append(found, ref)
			}
		}
	}
	switch len(found) {
	case 0:
		return ken.Claim{}, notFound(id)
	case 1:
		return store.Clone(&s.records[found[0]].claim), nil
	}
	return ken.Claim{}, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d records", id, len(found)),
		Try: "Give more characters of the id."}
}

// ByKey returns the claim that was written under a key, whatever its status. The
// result is the caller's. Errors: ErrNotFound.
func (s *Store) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	if err := ctx.Err(); err != nil {
		return ken.Claim{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ref, ok := s.refs[s.keys[key]]
	if !ok {
		return ken.Claim{}, &ken.Error{Code: ken.CodeNotFound, Field: "key", Msg: fmt.Sprintf("no claim has the key %q", key),
			Try: "Write one with it, or check the owner."}
	}
	return store.Clone(&s.records[ref].claim), nil
}

// Reinforce records that a claim was seen again: the evidence is added to its own,
// a newer piece in place of the same older one. Errors: ErrNotFound; ErrRefused
// for a claim that no longer stands.
func (s *Store) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return s.do(ctx, func() (*store.Event, error) {
		return store.ReinforceCommand(s.get, id, evidence, actor, s.env)
	})
}
