package bolt

import (
	"archive/tar"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"
)

// A snapshot is the store's file followed by a copy of its keyword index, so that a process that
// opens it need not rebuild the index. The index is a tar archive. The last bytes of the snapshot
// are the trailer: a magic number and the length of the store's file, 8 bytes each. bbolt reads
// nothing after its last page, so a program that doesn't know about the index can open the whole
// snapshot as a store's file.
const (
	indexMagic   = "ken+idx1"
	indexTrailer = 16
)

// indexedFile is the store's file as of a transaction, and the folder of its index; "" for none.
type indexedFile struct {
	tx  *bbolt.Tx
	dir string
}

// WriteTo implements io.WriterTo.
func (f indexedFile) WriteTo(w io.Writer) (n int64, err error) {
	n, err = f.tx.WriteTo(w)
	if err != nil || f.dir == "" {
		return n, err
	}
	count := &counter{w: w, n: n}
	archive := tar.NewWriter(count)
	if err := errors.Join(archive.AddFS(os.DirFS(f.dir)), archive.Close()); err != nil {
		return count.n, fmt.Errorf("copy the index: %w", err)
	}
	_, err = count.Write(binary.BigEndian.AppendUint64([]byte(indexMagic), uint64(n)))
	return count.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// copyIndex copies the index into a folder next to it. A process that opens the copy with a file
// that is not older applies the missing changes from the file.
func (s *Store) copyIndex() (dir string, err error) {
	x := s.index.Load()
	if x == nil {
		return "", nil
	}
	if dir, err = os.MkdirTemp(s.dir, indexCopies+"*"); err != nil {
		return "", err
	}
	return dir, x.CopyTo(dir)
}

// indexCopies is the prefix of the names of such folders.
const indexCopies = "snapshot-index-"

// removeIndexCopies removes copies that a killed process left: they may contain words that were
// forgotten since. The caller holds the store's lock.
func removeIndexCopies(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), indexCopies) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove copies of the index: %w", err)
	}
	return nil
}

// splitSnapshot cuts the index off a snapshot and extracts it into dir; "" discards it.
func splitSnapshot(f *os.File, dir string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size < indexTrailer {
		return err
	}
	var end [indexTrailer]byte
	if _, err := f.ReadAt(end[:], size-indexTrailer); err != nil {
		return err
	}
	begin := binary.BigEndian.Uint64(end[8:])
	if string(end[:8]) != indexMagic || begin > uint64(size-indexTrailer) {
		return nil
	}
	if dir != "" {
		err = unpackIndex(io.NewSectionReader(f, int64(begin), size-indexTrailer-int64(begin)), dir)
		if err != nil { // the index is rebuilt
			err = os.RemoveAll(dir)
		}
	}
	return errors.Join(err, f.Truncate(int64(begin)))
}

func unpackIndex(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for archive := tar.NewReader(r); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag == tar.TypeDir {
			continue
		}
		if head.Typeflag != tar.TypeReg || head.Name != filepath.Base(head.Name) || !fs.ValidPath(head.Name) || head.Name == "." {
			return fmt.Errorf("an index has no file %q", head.Name)
		}
		f, err := os.OpenFile(filepath.Join(dir, head.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
