package codebase

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/kenlayer/ken/internal/code/repository"
)

// quietPeriod is the time without events after which changes are reported. An editor writes a file in several steps,
// and switching branches changes many files.
const quietPeriod = 30 * time.Millisecond

// maxWait is the time after which changes are reported even if files keep changing.
const maxWait = 500 * time.Millisecond

// Watch calls changed with the files and folders that were created, changed, moved or deleted, until ctx ends. Paths
// start at the root; they are sorted and unique. changed runs on Watch's goroutine; later events are in its next call.
// An empty list means that any file may have changed, because there were too many events. Folders that Build leaves out
// and the files of git and of .ken are not watched. The error says why files can't be watched, such as a limit of the
// system. It is nil if ctx ends.
func (c *Codebase) Watch(ctx context.Context, changed func(paths []string)) error {
	w, err := fsnotify.NewBufferedWatcher(4096)
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer w.Close() // nothing was written
	f := watcher{c: c, w: w, folders: map[string]bool{}, pending: map[string]bool{}}
	if err := f.watch(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // ctx ended as requested
		}
		return fmt.Errorf("watch files: %w", err)
	}
	return f.run(ctx, changed)
}

// watcher is the state of one Watch.
type watcher struct {
	c          *Codebase
	w          *fsnotify.Watcher
	folders    map[string]bool // watched folders
	pending    map[string]bool // changed paths
	overflowed bool            // events were lost
	created    []string        // folders created since the last report
}

func (f *watcher) run(ctx context.Context, changed func([]string)) error {
	quiet, late := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	quiet.Stop()
	late.Stop()
	for {
		waiting := len(f.pending) > 0 || f.overflowed
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watch files: %w", err)
			}
			f.overflowed = true
		case e := <-f.w.Events:
			if !f.handleEvent(ctx, e) {
				continue
			}
		case <-quiet.C:
			f.report(ctx, changed)
			continue
		case <-late.C:
			f.report(ctx, changed)
			continue
		}
		if !waiting {
			late.Reset(maxWait)
		}
		quiet.Reset(quietPeriod)
	}
}

func (f *watcher) report(ctx context.Context, changed func([]string)) {
	f.rewatch(ctx)
	paths := slices.Sorted(maps.Keys(f.pending))
	lost := f.overflowed
	f.overflowed = false
	clear(f.pending)
	switch {
	case lost:
		changed(nil)
	case len(paths) > 0:
		changed(paths)
	}
}

// handleEvent records an event. It reports whether the event concerns the project.
func (f *watcher) handleEvent(ctx context.Context, e fsnotify.Event) bool {
	rel, err := filepath.Rel(f.c.o.Root, e.Name)
	p := filepath.ToSlash(rel)
	if err != nil || !fs.ValidPath(p) || p == "." || e.Op == fsnotify.Chmod || toolFolder(p) {
		return false
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		f.unwatch(p)
	}
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			_ = f.watch(ctx, p) // the next Build finds what can't be watched
			f.created = append(f.created, p)
		}
	}
	f.pending[p] = true
	return true
}

// unwatch stops watching a folder and the folders below. Otherwise the watches of a moved folder would continue under
// the old names.
func (f *watcher) unwatch(p string) {
	for dir := range f.folders {
		if dir == p || strings.HasPrefix(dir, p+"/") {
			_ = f.w.Remove(filepath.Join(f.c.o.Root, filepath.FromSlash(dir))) // it may be gone with its folder
			delete(f.folders, dir)
		}
	}
}

// rewatch watches the new folders once more. If a folder was moved, the end of the watch under its old name may have
// come after the new watch began.
func (f *watcher) rewatch(ctx context.Context) {
	for _, p := range f.created {
		for dir := range f.folders {
			if dir == p || strings.HasPrefix(dir, p+"/") {
				delete(f.folders, dir)
			}
		}
		_ = f.watch(ctx, p) // as before
	}
	f.created = nil
}

// toolFolder reports whether a folder belongs to a tool and not to the project.
func toolFolder(p string) bool {
	for dir := p; dir != "."; dir = path.Dir(dir) {
		if b := path.Base(dir); b == ".git" || b == ".ken" || b == "node_modules" {
			return true
		}
	}
	return false
}

// watch watches the folders that contain files of the project: those at or below paths, or all.
func (f *watcher) watch(ctx context.Context, paths ...string) error {
	tree, err := repository.Files(ctx, f.c.o.Root, repository.Options{Exclude: f.c.o.Exclude}, paths...)
	if err != nil {
		return err
	}
	defer tree.Close() // it was only read
	want := append([]string{"."}, paths...)
	for i := range tree.Files {
		want = append(want, path.Dir(tree.Files[i].Path))
	}
	for _, dir := range want {
		for ; !f.folders[dir]; dir = path.Dir(dir) {
			err := f.w.Add(filepath.Join(f.c.o.Root, filepath.FromSlash(dir)))
			if errors.Is(err, fs.ErrNotExist) && dir != "." {
				continue // it was removed since
			}
			if err != nil {
				return err
			}
			f.folders[dir] = true
			if dir == "." {
				break
			}
		}
	}
	return nil
}
