package keyword

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
)

// directoryFile is the engine's list of segments, a bbolt database.
const directoryFile = "root.bolt"

// verifyDirectory reads the whole database, which is small. The engine reads it in
// goroutines of its own, where a fault in a truncated file would end the process; here
// it becomes an error.
func verifyDirectory(path string, lockTimeout time.Duration) error {
	return caught.Run(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
		if err != nil {
			return err
		}
		defer db.Close()
		return db.View(func(tx *bbolt.Tx) error {
			if info, err := os.Stat(path); err != nil || info.Size() < tx.Size() {
				return errors.Join(errors.New(directoryFile+" was cut short"), err)
			}
			return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) })
		})
	})
}

func walk(b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return walk(b.Bucket(k))
		}
		return nil
	})
}

// verifySegments checks the checksum of every file that the reader's snapshot uses.
// Reading them takes some ten milliseconds for 100,000 documents, and leaves them in
// the page cache for the first searches.
func verifySegments(r index.IndexReader) error {
	for _, s := range r.(*scorch.IndexSnapshot).Segments() {
		if f, ok := s.Segment().(interface{ Path() string }); ok {
			if err := verifyFile(f.Path()); err != nil {
				return fmt.Errorf("check %s: %w", filepath.Base(f.Path()), err)
			}
		}
	}
	return nil
}

// verifyFile compares the last four bytes of a segment with the CRC-32 of everything
// before them.
func verifyFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4 {
		return errors.New("too short")
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, io.LimitReader(f, info.Size()-4), make([]byte, 1<<18)); err != nil {
		return err
	}
	var want [4]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
		return errors.New("checksum mismatch")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// fillerID names an empty document, which is added so that a single segment can be
// merged. No ref's id is as long. It stays: without words, it matches nothing.
const fillerID = "filler"

// scrubPause is the time between two checks of the folder.
const scrubPause = 5 * time.Millisecond

// Scrub removes the words of documents that were deleted before the call: segments that
// still contain some are merged into new ones, and Scrub returns when the old files are
// deleted. It rewrites the whole index; writers and searches continue meanwhile. It
// returns ErrUnavailable when ctx ends first or the disk fails.
func (x *Index) Scrub(ctx context.Context) error {
	engine, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	select {
	case x.scrubbing <- struct{}{}:
		defer func() { <-x.scrubbing }()
		err = x.scrub(ctx, engine)
		x.held.Store(nil) // it may be of a snapshot with the deleted documents
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "deleted words are still in the keyword index's files",
			Try: "Try again; if that fails too, remove the folder and let it be built anew.", Err: fmt.Errorf("scrub: %w", err)}
	}
	return nil
}

func (x *Index) scrub(ctx context.Context, engine *scorch.Scorch) error {
	x.writing.Lock()
	err := x.settle(engine)
	x.writing.Unlock()
	if err != nil {
		return err
	}
	// A flush and a merge that were running when the last document was deleted may
	// still write its words. These two calls end after them, so no later file contains
	// deleted words.
	if err := x.flush(ctx, engine); err != nil {
		return err
	}
	if err := x.merge(ctx, engine); err != nil {
		return err
	}
	suspects, err := filepath.Glob(filepath.Join(x.dir, "*.zap"))
	if err != nil {
		return err
	}
	tick := time.NewTicker(scrubPause)
	defer tick.Stop()
	for {
		// The engine removes old files only after it has persisted something, and not
		// while a search reads them. So flush repeatedly.
		if err := x.flush(ctx, engine); err != nil {
			return err
		}
		left, err := x.inspect(engine, suspects)
		if err != nil || left.files == 0 {
			return err
		}
		if left.dirty {
			if left.single {
				if err := engine.Update(document.NewDocument(fillerID)); err != nil {
					return err
				}
				if err := x.flush(ctx, engine); err != nil {
					return err
				}
			}
			if err := x.merge(ctx, engine); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// remains is the result of a check of the folder.
type remains struct {
	files  int  // suspects that exist and are not segments without deletions
	dirty  bool // one of them is a segment, so it has to be merged
	single bool // there is only one segment, for which the engine plans no merge
}

func (x *Index) inspect(engine *scorch.Scorch, suspects []string) (remains, error) {
	r, err := engine.Reader()
	if err != nil {
		return remains{}, err
	}
	defer r.Close()
	segments := r.(*scorch.IndexSnapshot).Segments()
	clean := map[string]bool{}
	for _, s := range segments {
		if f, ok := s.Segment().(interface{ Path() string }); ok {
			clean[f.Path()] = s.LiveSize() == s.FullSize()
		}
	}
	left := remains{single: len(segments) == 1}
	for _, path := range suspects {
		isClean, isSegment := clean[path]
		if isClean || !isSegment && !exists(path) {
			continue
		}
		left.files++
		left.dirty = left.dirty || isSegment
	}
	return left, nil
}

// merge merges all segments into one, if the engine considers it necessary.
func (x *Index) merge(ctx context.Context, engine *scorch.Scorch) error {
	merged := make(chan error, 1)
	go func() { merged <- engine.ForceMerge(ctx, nil) }() // ends at the latest when the engine is closed
	return x.await(ctx, merged)
}
