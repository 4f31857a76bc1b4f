package shared

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
)

// copies limits the size of a node's folder. It deletes the stores of owners that are not open in
// this process and that the engine has completely. It is safe for concurrent use.
type copies struct {
	w *Owners

	mu    sync.Mutex           // held while the folder is measured and trimmed; guards known
	known map[string]ownerCopy // by owner
}

// ownerCopy is an owner's store in the folder.
type ownerCopy struct {
	owner string
	used  time.Time // time of the last opening or closing: both change the folder
	bytes int64
}

const (
	// trimPause is the time between an opening and the measurement of the folder.
	trimPause = time.Second
	// askWait is the timeout for asking the engine whether it has everything that a copy has.
	askWait = 2 * time.Second
	// goneName is the prefix of folders that are being removed. No owner's folder has it.
	goneName = ".gone-"
)

// errKept means that a copy must not be removed now.
var errKept = errors.New("it is open, or the engine does not have all of it")

// removeGone removes folders whose removal a killed process did not complete.
func removeGone(dir string) (err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), goneName) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// keepBound trims the folder to at most the given number of bytes whenever it may have grown, until
// ctx ends.
func (w *Owners) keepBound(ctx context.Context, bytes int64) {
	for told := false; ; {
		select {
		case <-w.grown:
		case <-ctx.Done():
			return
		}
		select { // a short process, such as a command, ends before it measures
		case <-time.After(trimPause):
		case <-ctx.Done():
			return
		}
		left, err := w.copies.trim(ctx, func(int64) int64 { return bytes })
		if err != nil && ctx.Err() == nil {
			w.o.Log.Warn("copies of owners' stores could not be removed", "cause", err)
		}
		if over := left > bytes; over != told {
			if told = over; over {
				w.o.Log.Warn("the folder is larger than store.folder_mb: what is left is in use, or not in the engine", "folder", w.dir, "megabytes", left>>20)
			}
		}
	}
}

// grows tells keepBound that the folder may have grown. It never blocks.
func (w *Owners) grows() {
	select {
	case w.grown <- struct{}{}:
	default: // a notification is pending already
	}
}

// makeRoom removes half of the copies, by size, because the disk is full. It reports whether it
// removed any.
func (w *Owners) makeRoom(ctx context.Context) bool {
	if w.o.Node == nil || w.o.Folder <= 0 {
		return false
	}
	was := int64(0)
	left, err := w.copies.trim(ctx, func(all int64) int64 { was = all; return all / 2 })
	if err != nil {
		w.o.Log.Warn("copies of owners' stores could not be removed", "cause", err)
	}
	return left < was
}

// trim removes the least recently used copies until at most bound(size of all) bytes are left. It
// returns the number of bytes that are left.
func (c *copies) trim(ctx context.Context, bound func(all int64) int64) (left int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, left, err := c.look(ctx)
	bytes := bound(left)
	if err != nil || left <= bytes {
		return left, err
	}
	slices.SortFunc(all, func(a, b ownerCopy) int { return a.used.Compare(b.used) })
	var errs []error
	for _, one := range all {
		if left <= bytes || ctx.Err() != nil {
			break
		}
		switch err := c.remove(ctx, one.owner); {
		case err == nil:
			left -= one.bytes
			delete(c.known, one.owner)
			c.w.o.Log.Debug("a copy of an owner's store was removed", "owner", one.owner, "bytes", one.bytes)
		case errors.Is(err, commitlog.ErrUnreachable): // the other copies would fail, too
			return left, errors.Join(append(errs, err)...)
		case !errors.Is(err, errKept):
			errs = append(errs, err)
		}
	}
	return left, errors.Join(errs...)
}

// look lists the owners' stores in the folder and returns their total size in bytes. c.mu is held.
func (c *copies) look(ctx context.Context) (all []ownerCopy, bytes int64, err error) {
	owners, err := bolt.List(c.w.dir)
	if err != nil {
		return nil, 0, err
	}
	now := make(map[string]ownerCopy, len(owners))
	for _, owner := range owners {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		dir := filepath.Join(c.w.dir, bolt.FolderName(owner))
		info, err := os.Stat(dir)
		if err != nil {
			continue // it was removed meanwhile
		}
		one, known := c.known[owner]
		if !known || !one.used.Equal(info.ModTime()) || c.w.isOpen(owner) {
			one = ownerCopy{owner, info.ModTime(), sizeOf(dir)}
		}
		now[owner] = one
		all, bytes = append(all, one), bytes+one.bytes
	}
	c.known = now
	return all, bytes, nil
}

// sizeOf returns the size of the files below a folder, in bytes. Files may be created and removed
// meanwhile.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// isOpen reports whether an owner's store is open or being opened in this process.
func (w *Owners) isOpen(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, open := w.open.Peek(owner)
	return open
}

// remove removes an owner's copy. Errors: errKept if the copy is open, in any process, or has
// records that the engine lacks; those of the log.
func (c *copies) remove(ctx context.Context, owner string) error {
	dir := filepath.Join(c.w.dir, bolt.FolderName(owner))
	is, _, err := isCopy(dir)
	if err != nil {
		return err
	}
	before, err := bolt.FilesOfBefore(dir)
	if err != nil || !is || before || c.w.isOpen(owner) {
		return cmp.Or(err, errKept)
	}
	lock, err := bolt.Acquire(dir, c.w.store(owner))
	if errors.Is(err, ken.ErrHeld) || errors.Is(err, ken.ErrCorrupt) { // the next opening replaces it
		return errKept
	}
	if err != nil {
		return err
	}
	if err := c.removable(ctx, owner, lock); err != nil {
		return errors.Join(err, lock.Release())
	}
	return lock.RemoveCopy(filepath.Join(c.w.dir, goneName+uuid.NewString()))
}

// removable returns nil if a copy can be removed: it is empty, or the engine has all of its records.
// Otherwise it returns errKept or an error of the log.
func (c *copies) removable(ctx context.Context, owner string, lock *bolt.Lock) error {
	at, used, err := lock.Mark()
	if err != nil || !used {
		return err
	}
	if at.Position == 0 {
		return errKept
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	has, err := commitlog.Has(ctx, c.w.o.Node.o.Log, owner, commitlog.Mark(at))
	if err == nil && !has {
		err = errKept
	}
	return err
}
