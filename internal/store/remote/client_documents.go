package remote

import (
	"context"

	"github.com/kenlayer/ken/store"
)

// DocumentHashes implements store.Documents.
func (c *Client) DocumentHashes(ctx context.Context) (map[string]store.Known, error) {
	return ask[nothing, map[string]store.Known](ctx, c, kDocumentHashes, &nothing{})
}

// PutDocuments implements store.Documents. Many are put in several transactions,
// each document in one.
func (c *Client) PutDocuments(ctx context.Context, docs []store.Document) error {
	from, size := 0, 0
	for i := range docs {
		size += 1024
		for j := range docs[i].Chunks {
			size += 1024 + len(docs[i].Chunks[j].Text)
		}
		if size > importBytes && i > from {
			if err := tell(ctx, c, kPutDocuments, &documentsRequest{Put: docs[from:i]}); err != nil {
				return err
			}
			from, size = i, 0
		}
	}
	return tell(ctx, c, kPutDocuments, &documentsRequest{Put: docs[from:]})
}

// RemoveDocuments implements store.Documents.
func (c *Client) RemoveDocuments(ctx context.Context, paths []string) error {
	return tell(ctx, c, kRemoveDocuments, &documentsRequest{Remove: paths})
}

// TouchDocuments implements store.Documents.
func (c *Client) TouchDocuments(ctx context.Context, known map[string]store.Known) error {
	return tell(ctx, c, kTouchDocuments, &documentsRequest{Touch: known})
}

// Orphans implements store.Documents.
func (c *Client) Orphans(ctx context.Context) ([]string, error) {
	return ask[nothing, []string](ctx, c, kOrphans, &nothing{})
}

// PruneOrphans implements store.Documents.
func (c *Client) PruneOrphans(ctx context.Context, paths []string) (int, error) {
	return ask[documentsRequest, int](ctx, c, kPruneOrphans, &documentsRequest{Remove: paths})
}
