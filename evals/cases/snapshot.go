package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/bolt"
)

// snapshot copies an owner's folder of a live store. The store's own lock is held
// meanwhile, shared, so nothing is written in between and nothing is written at
// all. An owner without a folder has no claims, and nothing is copied. Errors:
// ErrHeld while another process has the store open.
func snapshot(ctx context.Context, state, owner, to string) (err error) {
	from := filepath.Join(state, bolt.FolderName(owner))
	const log = "ken.db" // the one file of the folder that a store locks
	switch fi, err := os.Stat(filepath.Join(from, log)); {
	case errors.Is(err, fs.ErrNotExist), err == nil && fi.Size() == 0:
		return nil
	case err != nil:
		return fmt.Errorf("copy store: %w", err)
	}
	db, err := bbolt.Open(filepath.Join(from, log), 0o600, &bbolt.Options{ReadOnly: true, Timeout: 500 * time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return &ken.Error{Code: ken.CodeHeld, Msg: from + " is held by another process",
			Try: "Wait for it to end, or test an export: ken export --out claims.jsonl, then --export claims.jsonl."}
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "copy store " + from, Err: err, Try: "See ken doctor."}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return copyFolder(ctx, from, filepath.Join(to, bolt.FolderName(owner)))
}

// copyFolder copies files and folders; nothing else is in a store's folder but
// what has to stay where it is.
func copyFolder(ctx context.Context, from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy store: %w", err)
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
