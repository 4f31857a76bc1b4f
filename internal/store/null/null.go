// Package null is the store of a program that has not opted in: it stores nothing,
// finds nothing and never fails. No method allocates, so a caller need not check
// whether there is a store.
package null

import (
	"context"

	"github.com/kenlayer/ken"
)

// Store is a store that does nothing. The zero value is ready to use and safe for
// concurrent use.
type Store struct{}

var _ ken.Store = Store{}

// WriteClaim drops the claim. The empty id says that nothing was written.
func (Store) WriteClaim(context.Context, ken.Claim) (string, error) { return "", nil }

// Query finds nothing.
func (Store) Query(context.Context, ken.Query) ([]ken.Claim, error) { return nil, nil }

// Transition does nothing, for any id.
func (Store) Transition(context.Context, ken.Transition) error { return nil }

// Supersede does nothing, for any ids.
func (Store) Supersede(context.Context, string, string) error { return nil }

// History is always empty.
func (Store) History(context.Context, string) ([]ken.ClaimEvent, error) { return nil, nil }
