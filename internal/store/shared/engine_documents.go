package shared

import (
	"context"

	"github.com/kenlayer/ken/store"
)

// What is written of documents is the same when it is written twice, so that no name
// is needed for it.

// DocumentHashes implements store.Documents.
func (e *engine) DocumentHashes(ctx context.Context) (known map[string]store.Known, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { known, err = s.DocumentHashes(ctx); return err })
	return known, err
}

// PutDocuments implements store.Documents.
func (e *engine) PutDocuments(ctx context.Context, docs []store.Document) error {
	return e.read(ctx, func(s store.Engine) error { return s.PutDocuments(ctx, docs) })
}

// RemoveDocuments implements store.Documents.
func (e *engine) RemoveDocuments(ctx context.Context, paths []string) error {
	return e.read(ctx, func(s store.Engine) error { return s.RemoveDocuments(ctx, paths) })
}

// TouchDocuments implements store.Documents.
func (e *engine) TouchDocuments(ctx context.Context, known map[string]store.Known) error {
	return e.read(ctx, func(s store.Engine) error { return s.TouchDocuments(ctx, known) })
}

// Orphans implements store.Documents.
func (e *engine) Orphans(ctx context.Context) (paths []string, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { paths, err = s.Orphans(ctx); return err })
	return paths, err
}

// PruneOrphans implements store.Documents. Should a holder be lost on the way, those
// that it had pruned are not counted.
func (e *engine) PruneOrphans(ctx context.Context, paths []string) (n int, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { n, err = s.PruneOrphans(ctx, paths); return err })
	return n, err
}
