package vector

import (
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
)

// Purge erases from a file that nobody has open the vectors that keep does not want, and
// deletes a file that is left without any, or can't be read: it is a cache. A file that
// is not there is no error.
func Purge(path string, keep func(Hash) bool) error {
	h, err := headerOf(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return remove(path)
	}
	f, err := OpenFile(path, FileOptions{Model: h.model, Dim: h.dim})
	if errors.Is(err, ken.ErrCorrupt) {
		return remove(path)
	}
	if err != nil {
		return fmt.Errorf("erase from vector file: %w", err)
	}
	var gone []Hash
	for _, h := range f.Hashes() {
		if !keep(h) {
			gone = append(gone, h)
		}
	}
	none := len(gone) == f.Len()
	if !none && len(gone) > 0 {
		err = f.Erase(gone...)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if none {
		return remove(path)
	}
	return nil
}

func headerOf(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	return readHeader(f)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove vector file: %w", err)
	}
	return nil
}
