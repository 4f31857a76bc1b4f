package projectfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
)

// retry is how long to wait before trying a held lock again.
const retry = 5 * time.Millisecond

// Lock waits for the lock with this name, which excludes other holders in this process
// and others, until ctx is done. The file is not deleted on release. A folder that is
// created for it is ignored by git. Errors: ken.ErrHeld if ctx is done first,
// ken.ErrRefused for a link and for a project that can't be written.
func (f *Folder) Lock(ctx context.Context, name string) (release func() error, err error) {
	if err := f.makeIgnored(path.Dir(name)); err != nil {
		return nil, fmt.Errorf("make room for a lock: %w", denied(f.dir, err))
	}
	if info, err := f.lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, refused(name, "is no regular file")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lock := flock.New(filepath.Join(f.dir, filepath.FromSlash(name)))
	ok, err := lock.TryLockContext(ctx, retry)
	if ok {
		return lock.Close, nil
	}
	_ = lock.Close()
	if ctx.Err() != nil {
		return nil, &ken.Error{Code: ken.CodeHeld, Field: name, Msg: "another process is changing these files", Try: "Try again when it is done.", Err: ctx.Err()}
	}
	return nil, fmt.Errorf("lock %s: %w", name, denied(name, err))
}

// makeIgnored creates a folder with a .gitignore, because its files belong to this machine
// only.
func (f *Folder) makeIgnored(dir string) error {
	if _, err := f.lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.folder(dir); err != nil {
		return err
	}
	file, err := f.root.OpenFile(path.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("*\n")
	return errors.Join(err, file.Close())
}
