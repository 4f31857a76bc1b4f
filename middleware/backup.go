package middleware

import "context"

// Owners lists everybody who has knowledge here, in the folder of knowledge.db_path or in
// the engine of store.url.
func (l Operator) Owners(ctx context.Context) ([]string, error) { return l.owners.List(ctx) }

// CopyStore copies an owner's store as it is now into a folder, while it is in use.
func (l Operator) CopyStore(ctx context.Context, owner, dir string) error {
	return l.owners.CopyTo(ctx, owner, dir)
}
