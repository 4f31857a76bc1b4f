package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// OpenReadOnly opens the store in a folder that can't be written, for reading alone. The
// index and the vectors are copied into a folder for temporary files, because their
// engines write. Every write fails with ErrUnavailable. Any number of processes may have
// a folder open so. Errors: those of Open; ErrNotFound where there is no store yet.
func OpenReadOnly(ctx context.Context, dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	path := filepath.Join(dir, dbFile)
	if _, err := os.Stat(path); err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "folder", Msg: dir + " has no store, and none can be made in it", Err: err,
			Try: "Make the folder writable, or work in another project."}
	}
	o.readOnly = true
	db, err := openDB(path, o)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, o, db)
	s.health.broken = errReadOnly
	if s.work, err = os.MkdirTemp("", "ken-read-*"); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the index: %w", err), db.Close())
	}
	for _, part := range []string{indexDir, vectorDir} {
		if err == nil {
			err = os.CopyFS(filepath.Join(s.work, part), os.DirFS(filepath.Join(dir, part)))
		}
		if errors.Is(err, fs.ErrNotExist) { // it is made anew
			err = nil
		}
	}
	if err == nil {
		err = s.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeProjections(), os.RemoveAll(s.work), db.Close())
	}
	go s.run()
	return s, nil
}

var errReadOnly = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store's folder can't be written, so it is read alone",
	Try: "Make the folder writable, or remove what made its file system read-only."}

// readable reports why the file can't be read as it is: what opening it otherwise does to
// it can't be done.
func (s *Store) readable() error {
	return s.view(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return errOldFile
			}
		}
		meta := tx.Bucket(bMeta)
		if v := meta.Get(kLayout); len(v) != 1 || v[0] != layout && v[0] != layoutNoSums {
			return errOldFile
		}
		if owner := string(meta.Get(kOwner)); owner != s.o.Owner {
			return &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: fmt.Sprintf("%s belongs to owner %q, not %q", s.dir, owner, s.o.Owner),
				Try: "Open the folder with its own owner."}
		}
		return nil
	})
}

var errOldFile = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is of another version of ken, and its folder can't be written",
	Try: "Make the folder writable and open it once."}
