package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// CopyTo implements store.Copier. Writers go on meanwhile, as long as the file need
// not grow.
func (s *Store) CopyTo(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file := filepath.Join(dir, dbFile)
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return &ken.Error{Code: ken.CodeRefused, Field: "folder", Msg: dir + " has a store already", Err: err, Try: "Name an empty folder."}
	}
	if err := s.view(func(tx *bbolt.Tx) error { return tx.CopyFile(file, 0o600) }); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	if err := s.copyVectors(ctx, filepath.Join(dir, vectorDir)); err != nil {
		return fmt.Errorf("copy vectors: %w", err)
	}
	return nil
}

// copyVectors copies the files of all models. One that grows meanwhile may end in half
// a record, which opening it cuts off.
func (s *Store) copyVectors(ctx context.Context, to string) error {
	from := filepath.Join(s.dir, vectorDir)
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".vec" {
			continue
		}
		if err := errors.Join(ctx.Err(), copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
