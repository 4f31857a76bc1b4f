package decision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/projectfile"
)

// DefaultFolders is where records are looked for: where teams keep them.
func DefaultFolders() []string {
	return []string{"docs/adr", "docs/decisions", "doc/adr", "docs/adrs", "docs/architecture/decisions", "adr", ".ken/knowledge/decisions"}
}

// Options tunes a Registry. The zero value is the default.
type Options struct {
	Folders  []string // from the root, with slashes; empty means DefaultFolders
	MaxFiles int      // files that are read at most; 0 means 10,000
	Now      func() time.Time
}

const (
	maxFile      = 16 << 20 // bytes; a larger file is not even looked at
	maxDepth     = 4        // folders below one of Options.Folders
	defaultFiles = 10_000

	lockName = ".ken/state/.decisions.lock"

	// clockGranularity is how far apart two writes must be to be told apart by the
	// modification time: two seconds on the coarsest file systems in use.
	clockGranularity = 2 * time.Second
)

// Registry is the decisions of a project, read from their files. Reading sees one state
// of all files at a time; Refresh moves to the next. It is safe for concurrent use, and
// what writes is safe against other processes that write through a Registry.
type Registry struct {
	files *projectfile.Folder
	o     Options
	mu    sync.Mutex // held by what refreshes or writes
	view  atomic.Pointer[view]
}

// Open reads the records below root. Folders that are not there are empty, files that
// can't be read are problems; the error is that of the root alone, or of ctx.
func Open(ctx context.Context, root string, o Options) (*Registry, error) {
	if len(o.Folders) == 0 {
		o.Folders = DefaultFolders()
	}
	o.Folders = slices.Clone(o.Folders)
	for i, f := range o.Folders {
		clean := path.Clean(strings.TrimSuffix(f, "/"))
		if f == "" || clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) {
			return nil, invalid("folders", fmt.Sprintf("%q leads out of the project", f), "Give folders from the root, such as docs/adr.")
		}
		o.Folders[i] = clean
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultFiles
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	files, err := projectfile.Open(root)
	if err != nil {
		return nil, err
	}
	r := &Registry{files: files, o: o}
	r.view.Store(newView(nil, nil))
	if _, err := r.Refresh(ctx); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return r, nil
}

// Close lets go of the root. What was read can be read on.
func (r *Registry) Close() error { return r.files.Close() }

// Changes are the paths of the records that a Refresh found new, different and gone, each
// in their order.
type Changes struct{ Added, Changed, Removed []string }

// Refresh reads what has changed since, by size, time and content, and nothing else. The
// error is that of ctx.
func (r *Registry) Refresh(ctx context.Context) (Changes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refresh(ctx)
}

// refresh reads what has changed. Files that were just written are read in any case: two
// writes may bear the same time.
func (r *Registry) refresh(ctx context.Context, written ...string) (Changes, error) {
	old := r.view.Load()
	s := scan{r: r, ctx: ctx, old: old.pages, now: map[string]*page{}, written: written, at: r.o.Now()}
	if err := s.all(); err != nil {
		return Changes{}, err
	}
	var c Changes
	for p, now := range s.now {
		was := old.pages[p]
		switch {
		case !now.isRecord() && (was == nil || !was.isRecord()):
		case was == nil || !was.isRecord():
			c.Added = append(c.Added, p)
		case !now.isRecord():
			c.Removed = append(c.Removed, p)
		case was.doc.Hash != now.doc.Hash:
			c.Changed = append(c.Changed, p)
		}
	}
	for p, was := range old.pages {
		if s.now[p] == nil && was.isRecord() {
			c.Removed = append(c.Removed, p)
		}
	}
	for _, list := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.Sort(list)
	}
	switch {
	case !maps.EqualFunc(old.pages, s.now, func(a, b *page) bool { return a.doc == b.doc }) || !slices.Equal(old.unread, s.problems):
		r.view.Store(newView(s.now, s.problems))
	case !maps.Equal(old.pages, s.now): // some were read again, and say what they said
		same := *old
		same.pages = s.now
		r.view.Store(&same)
	}
	return c, nil
}
