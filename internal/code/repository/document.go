package repository

import (
	"context"

	"github.com/kenlayer/ken/store"
)

// Document is one source file, or one commit, cut into chunks; Known is what a
// sink remembers of it beside the chunks. Stores own both types.
type (
	Document = store.Document
	Known    = store.Known
)

// Sink is what indexing needs of a store. Index calls it from one goroutine at a
// time. Each call takes effect whole or not at all, so that an index that is
// interrupted between two calls holds whole documents, some of them old.
type Sink interface {
	// DocumentHashes returns what the sink holds, by path. The map is the caller's.
	DocumentHashes(ctx context.Context) (map[string]Known, error)
	// PutDocuments stores the documents, each in place of all chunks that its
	// path had before. A path occurs at most once in a call. The sink may keep
	// the slices.
	PutDocuments(ctx context.Context, docs []Document) error
	// TouchDocuments replaces what is known of documents whose chunks stay as
	// they are. A path that the sink does not hold is left out without an error.
	TouchDocuments(ctx context.Context, known map[string]Known) error
	// RemoveDocuments removes the documents and their chunks. An unknown path is
	// no error.
	RemoveDocuments(ctx context.Context, paths []string) error
}
