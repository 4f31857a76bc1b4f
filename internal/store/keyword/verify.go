package keyword

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"go.etcd.io/bbolt"
)

// directoryFile is the engine's list of segments, a bbolt database.
const directoryFile = "root.bolt"

// verifyDirectory walks the whole database, which is small. The engine reads it
// in goroutines of its own, where a fault in a file that was cut short would
// end the process; here it is an error.
func verifyDirectory(path string, lockTimeout time.Duration) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("check %s: %v", directoryFile, p)
		}
	}()
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
}

func walk(b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return walk(b.Bucket(k))
		}
		return nil
	})
}

// verifySegments checks the checksum of every file that the reader's snapshot uses. It
// reads them all, some ten milliseconds for 100,000 documents, and leaves them
// in the page cache, where the first searches want them.
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

// verifyFile compares a segment with the CRC-32 of everything before it that
// its last four bytes hold.
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
