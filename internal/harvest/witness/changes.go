package witness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/projectfile"
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

// gitTree asks git about a work tree.
type gitTree struct {
	root   string
	prefix string          // of the root's paths, as git writes them from the top
	head   string          // the commit when it was opened; "" for none
	known  map[string]bool // files that git tracks, of those that changed since
}

// openGit returns nil where git can't tell.
func openGit(ctx context.Context, root string) *gitTree {
	g := &gitTree{root: root, known: map[string]bool{}}
	out, err := g.run(ctx, "rev-parse", "--is-inside-work-tree", "--show-prefix")
	inside, prefix, _ := strings.Cut(out, "\n")
	if err != nil || inside != "true" {
		return nil
	}
	g.prefix = strings.TrimSuffix(prefix, "\n")
	g.head = g.commit(ctx)
	return g
}

func (g *gitTree) commit(ctx context.Context) string {
	out, err := g.run(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// dirty are the files that are not as they were committed, and those of more, as they
// are now. A file that is gone has the zero stamp.
func (g *gitTree) dirty(ctx context.Context, more []string) (map[string]stamp, error) {
	out, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all", "--", ".")
	if err != nil {
		return nil, err
	}
	dir, err := projectfile.Open(g.root)
	if err != nil {
		return nil, err
	}
	files := map[string]stamp{}
	add := func(p string) error {
		if _, ok := files[p]; ok || strings.HasPrefix(p, ".ken/") {
			return ctx.Err()
		}
		var s stamp
		if info, err := dir.Stat(p); err == nil && !info.Folder {
			s = stamp{size: info.Size, at: info.ModTime}
			if len(files) < maxDirty {
				if f, err := dir.Read(p, maxHashed); err == nil {
					s.hash = f.Hash
				}
			}
		}
		files[p] = s
		return ctx.Err()
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) < 4 {
			continue
		}
		p, ok := strings.CutPrefix(entry[3:], g.prefix)
		if !ok || strings.HasSuffix(p, "/") { // a repository within
			continue
		}
		if entry[:2] != "??" {
			g.known[p] = true
		}
		if err = add(p); err != nil {
			break
		}
	}
	for _, p := range more {
		if err == nil {
			err = add(p)
		}
	}
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return files, err
}

// changed are the files that are others than before.
func (g *gitTree) changed(ctx context.Context, before map[string]stamp) (paths []string, err error) {
	var were []string
	for p := range before {
		were = append(were, p)
	}
	now, err := g.dirty(ctx, were)
	if err != nil {
		return nil, err
	}
	for p, s := range now {
		if was, ok := before[p]; !ok || s.differs(was) { // one that was not listed was as it is committed
			paths = append(paths, p)
		}
	}
	head := g.commit(ctx)
	if head == g.head || head == "" || g.head == "" {
		return paths, nil
	}
	out, err := g.run(ctx, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", "--relative", g.head, head, "--")
	if err != nil {
		return nil, err
	}
	for p := range strings.SplitSeq(out, "\x00") {
		if p == "" || strings.HasPrefix(p, ".ken/") {
			continue
		}
		if _, compared := now[p]; !compared { // it is as it is committed now, and was as before
			g.known[p] = true
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// run asks git, without what a configuration could make it do on the way.
func (g *gitTree) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = g.root
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook's GIT_DIR would name another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}

func exists(root, name string) bool {
	_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}
