package witness

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
)

// Bounds of looking at files.
const (
	maxFiles  = 200              // changed files that are named
	maxDirty  = 2000             // files that are compared by content with git; the rest by size and time
	maxHashed = 16 << 20         // bytes; larger ones are compared by size and time
	lookFor   = 10 * time.Second // how long a look may take
)

// Before is what the files of a project were like.
type Before struct {
	root  string
	git   *gitTree // nil: not a work tree, or git does not answer
	files map[string]stamp
	err   error // they could not be looked at
}

// stamp is what a file was like.
type stamp struct {
	size int64
	at   time.Time
	hash string // "" where it was not read
}

func (s stamp) differs(o stamp) bool {
	if s.hash != "" && o.hash != "" {
		return s.hash != o.hash
	}
	return s.size != o.size || !s.at.Equal(o.at)
}

// File is a file that is another than before.
type File struct {
	Path string `json:"path"` // from the project's root, with slashes
	Hash string `json:"content_hash,omitempty"`
	Gone bool   `json:"gone,omitempty"`
	New  bool   `json:"new,omitempty"`
}

// Changes are the files of a project that are others than before, as far as its ignore
// files leave them in.
type Changes struct {
	Files []File `json:"files"`          // by path, at most 200
	More  int    `json:"more,omitempty"` // that are not named
	By    string `json:"by"`             // git, or times; "" when nobody could tell
	Err   error  `json:"-"`              // why nobody could
}

// Look takes down what the files below root are like: those that git holds for changed,
// or all of them by size and time where there is no git. It takes ten seconds at most.
func Look(ctx context.Context, root string) *Before {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	b := &Before{root: root}
	if b.git = openGit(ctx, root); b.git != nil {
		if b.files, b.err = b.git.dirty(ctx, nil); b.err == nil {
			return b
		}
		b.git = nil
	}
	b.files, b.err = times(ctx, root)
	return b
}

// Changed compares.
func (b *Before) Changed(ctx context.Context) Changes {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	if b.err != nil {
		return Changes{Err: b.err}
	}
	var paths []string
	var by string
	var err error
	if b.git != nil {
		by = "git"
		paths, err = b.git.changed(ctx, b.files)
	} else {
		by = "times"
		paths, err = b.since(ctx)
	}
	if err != nil {
		return Changes{Err: err}
	}
	return b.named(ctx, paths, by)
}

// since compares all files by size and time.
func (b *Before) since(ctx context.Context) (paths []string, err error) {
	now, err := times(ctx, b.root)
	if err != nil {
		return nil, err
	}
	for p, s := range now {
		if was, ok := b.files[p]; !ok || s.differs(was) {
			paths = append(paths, p)
		}
	}
	for p := range b.files {
		if _, ok := now[p]; !ok {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// times are the files that the index would look at.
func times(ctx context.Context, root string) (map[string]stamp, error) {
	t, err := repository.Files(ctx, root, repository.Options{})
	if err != nil {
		return nil, err
	}
	out := make(map[string]stamp, len(t.Files))
	for _, f := range t.Files {
		out[f.Path] = stamp{size: f.Size, at: f.ModTime}
	}
	return out, t.Close()
}

// named reads what changed files hold now. What the index would not look at, such as
// what is secret by its name, is left out.
func (b *Before) named(ctx context.Context, paths []string, by string) Changes {
	out := Changes{Files: []File{}, By: by}
	slices.Sort(paths)
	paths = slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return strings.HasPrefix(p, ".ken/") })
	if len(paths) == 0 {
		return out
	}
	t, err := repository.Files(ctx, b.root, repository.Options{}, paths...)
	if err != nil {
		return Changes{Err: err}
	}
	there := map[string]bool{}
	for _, f := range t.Files {
		there[f.Path] = true
	}
	for _, p := range paths {
		f := File{Path: p, Gone: !there[p]}
		_, was := b.files[p]
		switch {
		case f.Gone && !was && (b.git == nil || !b.git.known[p]), f.Gone && exists(b.root, p):
			continue // left out, or made and taken away again
		case len(out.Files) == maxFiles:
			out.More++
			continue
		}
		if !f.Gone {
			c, err := t.Read(p, 0)
			if err != nil {
				continue
			}
			f.Hash = c.Hash
			f.New = !was && (b.git == nil || !b.git.known[p])
		}
		out.Files = append(out.Files, f)
	}
	out.Err = t.Close()
	return out
}
