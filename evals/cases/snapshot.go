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
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
)

// snapshot copies an owner's folder of a live store. The store's own lock is held
// meanwhile, shared, so nothing is written in between and nothing is written at
// all; where another process has the store open, that one makes the copy. An owner
// without a folder has no claims, and nothing is copied. Errors: ErrHeld when the
// process that has the store does not answer.
func snapshot(ctx context.Context, state, owner, to string) (err error) {
	from := filepath.Join(state, bolt.FolderName(owner))
	const log = "ken.db" // the one file of the folder that a store locks
	switch fi, err := os.Stat(filepath.Join(from, log)); {
	case errors.Is(err, fs.ErrNotExist), err == nil && fi.Size() == 0:
		return nil
	case err != nil:
		return fmt.Errorf("copy store: %w", err)
	}
	var db *bbolt.DB
	for range 10 { // whoever has it may be about to end
		db, err = bbolt.Open(filepath.Join(from, log), 0o600, &bbolt.Options{ReadOnly: true, Timeout: 500 * time.Millisecond})
		if !errors.Is(err, bolterrors.ErrTimeout) {
			break
		}
		held := askFor(ctx, from, owner, filepath.Join(to, bolt.FolderName(owner)))
		if _, lost := remote.Lost(held); !lost || ctx.Err() != nil {
			return held
		}
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return bolt.HeldError(from)
	}
	if err != nil {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "copy store " + from, Err: err, Try: "See ken doctor."}
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return copyFolder(ctx, from, filepath.Join(to, bolt.FolderName(owner)))
}

// askFor has the process that holds a store copy it.
func askFor(ctx context.Context, from, owner, to string) error {
	h := bolt.ReadHolder(from)
	if h.Address == "" {
		return &ken.Error{Code: ken.CodeHeld, Msg: from + " is held by another process, which serves nobody",
			Try: "Wait for it to end, or test an export: ken export --out claims.jsonl, then --export claims.jsonl."}
	}
	c, err := remote.Dial(ctx, h.Network, h.Address, remote.Options{Owner: owner, Dir: from, Token: h.Token})
	if err != nil {
		return err
	}
	if err = os.MkdirAll(to, 0o700); err == nil {
		if err = c.CopyTo(ctx, to); err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}
	return errors.Join(err, c.Close())
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
