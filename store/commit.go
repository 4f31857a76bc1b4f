package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// CommitsKept is how long a store remembers the ids of writes at least: as long may
// a write be repeated.
const CommitsKept = 15 * time.Minute

type commitKey struct{}

// WithCommit names the write that the context is given to, a claim's or a shelf's.
// A store on disk keeps the name with the change, in one transaction, for
// CommitsKept, and a second write of the same name changes nothing and returns what
// the first one did. So who lost the answer may repeat the call. id is a UUID of
// version 7 and is used for one write.
func WithCommit(ctx context.Context, id uuid.UUID) context.Context {
	return context.WithValue(ctx, commitKey{}, id)
}

// CommitOf is the write's name; the nil UUID for none.
func CommitOf(ctx context.Context) uuid.UUID {
	id, _ := ctx.Value(commitKey{}).(uuid.UUID)
	return id
}

type eraseKey struct{}

// EraseLater has a Forget that the context is given to leave the words in the files:
// the claims are gone for every reader, and whoever calls it calls Compact when all else
// that must go is gone, so that the files are rewritten once.
func EraseLater(ctx context.Context) context.Context { return context.WithValue(ctx, eraseKey{}, true) }

// ErasesLater reports whether EraseLater was called on the context.
func ErasesLater(ctx context.Context) bool { return ctx.Value(eraseKey{}) != nil }
