package witness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken/internal/projectfile"
)

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
