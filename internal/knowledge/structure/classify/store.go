package classify

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/store"
)

// Store is what is read and written: an owner's store.Engine is one.
type Store interface {
	structure.Source
	Writer

	// Get reads a claim by its id; ErrNotFound when there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// ByKey reads the claim that holds a key; ErrNotFound when none does.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Claim reads a record; ErrNotFound when it is gone.
	Claim(ctx context.Context, ref store.Ref) (ken.Claim, error)
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)

	// Events yields the log from a sequence number on, oldest first.
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	// Seq is the number of the log's last event.
	Seq() uint64
	// Wait returns when the log holds an event after seq, or ctx ends.
	Wait(ctx context.Context, seq uint64) error
	// Shelf is the owner's room for what is not knowledge.
	Shelf() store.Shelf
}

// Writer is what changes in a store.
type Writer interface {
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	Assign(ctx context.Context, a ken.Assignment) (changed bool, err error)
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	Transition(ctx context.Context, t ken.Transition) error
	Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error)
}

// actor is who writes what is found out here.
var actor = ken.Actor{Type: "system", ID: "structure"}
