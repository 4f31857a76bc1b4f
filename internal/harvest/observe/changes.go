package observe

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Bounds of a snapshot.
const (
	maxFiles        = 200              // maximum number of changed files that are listed
	maxDirty        = 2000             // maximum number of files whose content is compared with git; the others are compared by size and time
	maxHashed       = 16 << 20         // bytes; larger files are compared by size and time
	snapshotTimeout = 10 * time.Second // how long a snapshot may take
)

// Snapshot holds the state of a project's files at one time.
type Snapshot struct {
	root  string
	git   *gitTree // nil if root is no work tree, or git failed
	files map[string]fileState
	err   error // why the files could not be listed
}

// fileState holds a file's size, time and content hash.
type fileState struct {
	size int64
	at   time.Time
	hash string // "" if the content was not read
}

func (s fileState) differs(o fileState) bool {
	if s.hash != "" && o.hash != "" {
		return s.hash != o.hash
	}
	return s.size != o.size || !s.at.Equal(o.at)
}

// File is a changed file.
type File struct {
	Path    string `json:"path"` // relative to the project's root, with slashes
	Hash    string `json:"content_hash,omitempty"`
	Deleted bool   `json:"gone,omitempty"`
	New     bool   `json:"new,omitempty"`
}

// Changes lists the changed files of a project. Files that its ignore files match are left
// out.
type Changes struct {
	Files []File `json:"files"`          // by path, at most 200
	More  int    `json:"more,omitempty"` // number of changed files that are not listed
	By    string `json:"by"`             // "git" or "times", by which the changes were found; "" if Err is set
	Err   error  `json:"-"`              // why the changes are unknown
}

// TakeSnapshot records the state of the files below root. With git these are the files that
// git reports as changed, otherwise all files by size and time. It takes at most ten
// seconds.
func TakeSnapshot(ctx context.Context, root string) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	b := &Snapshot{root: root}
	if b.git = openGit(ctx, root); b.git != nil {
		if b.files, b.err = b.git.dirty(ctx, nil); b.err == nil {
			return b
		}
		b.git = nil
	}
	b.files, b.err = times(ctx, root)
	return b
}

// Changed returns the files that have changed since the snapshot.
func (b *Snapshot) Changed(ctx context.Context) Changes {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
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

// since returns the files whose size or time has changed.
func (b *Snapshot) since(ctx context.Context) (paths []string, err error) {
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

// times returns the state of the files that the index would include.
func times(ctx context.Context, root string) (map[string]fileState, error) {
	t, err := repository.Files(ctx, root, repository.Options{})
	if err != nil {
		return nil, err
	}
	out := make(map[string]fileState, len(t.Files))
	for _, f := range t.Files {
		out[f.Path] = fileState{size: f.Size, at: f.ModTime}
	}
	return out, t.Close()
}

// named returns the current state of changed files. Files that the index excludes, such as
// those whose name marks them as secret, are left out.
func (b *Snapshot) named(ctx context.Context, paths []string, by string) Changes {
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
		f := File{Path: p, Deleted: !there[p]}
		_, was := b.files[p]
		switch {
		case f.Deleted && !was && (b.git == nil || !b.git.known[p]), f.Deleted && exists(b.root, p):
			continue // excluded, or created and deleted again
		case len(out.Files) == maxFiles:
			out.More++
			continue
		}
		if !f.Deleted {
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

// gitTree runs git in a work tree.
type gitTree struct {
	root   string
	prefix string          // path of root within the repository, as git prints it
	head   string          // commit at the time of opening; "" if there is none
	known  map[string]bool // files tracked by git, among those that changed
}

// openGit returns nil if root is no work tree or git fails.
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

// dirty returns the current state of files that differ from their committed version, and of
// those in more. A deleted file has the zero fileState.
func (g *gitTree) dirty(ctx context.Context, more []string) (map[string]fileState, error) {
	out, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all", "--", ".")
	if err != nil {
		return nil, err
	}
	dir, err := projectfile.Open(g.root)
	if err != nil {
		return nil, err
	}
	files := map[string]fileState{}
	add := func(p string) error {
		if _, ok := files[p]; ok || strings.HasPrefix(p, ".ken/") {
			return ctx.Err()
		}
		var s fileState
		if info, err := dir.Stat(p); err == nil && !info.Folder {
			s = fileState{size: info.Size, at: info.ModTime}
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
		if !ok || strings.HasSuffix(p, "/") { // a nested repository
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

// changed returns the files whose state differs from before.
func (g *gitTree) changed(ctx context.Context, before map[string]fileState) (paths []string, err error) {
	now, err := g.dirty(ctx, slices.Collect(maps.Keys(before)))
	if err != nil {
		return nil, err
	}
	for p, s := range now {
		if was, ok := before[p]; !ok || s.differs(was) { // a file that was not listed before had its committed content
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
		if _, compared := now[p]; !compared { // it had its committed content before, and has now
			g.known[p] = true
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// run runs git with settings that prevent a configuration from starting other programs.
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
