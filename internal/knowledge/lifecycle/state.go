package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/repository"
)

// IgnoreName is the file in the project's .ken folder that names ephemeral state, in the
// notation of .gitignore and relative to that folder.
const IgnoreName = ".kenignore"

const (
	kindState = "state"
	stateDir  = "state"

	maxIgnore = 1 << 20 // bytes
	maxDepth  = 16      // folders below state
)

// state deletes the state files that are marked ephemeral. Whatever the marks say, it
// looks below the folder state alone, at regular files alone, and leaves what is kept.
func (w *planner) state(ctx context.Context) error {
	limit, on := before(w.now, w.p.EphemeralStateDays)
	if w.d.KenDir == "" || !on {
		return nil
	}
	root, err := os.OpenRoot(w.d.KenDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() // it was only read
	marks, err := readMarks(root)
	if err != nil || marks.Empty() {
		return err
	}
	return eachState(ctx, root, func(name string, info fs.FileInfo) {
		if !marks.Matches(name, false) || info.ModTime().After(limit) {
			return
		}
		w.add(Change{Rule: DeleteEphemeral, Kind: kindState, ID: name, What: fmt.Sprintf("%s, %d bytes", name, info.Size()), From: "file", To: "deleted",
			Why: IgnoreName + " names it; last written " + ago(w.now, info.ModTime()), Due: info.ModTime().Add(days(w.p.EphemeralStateDays)),
			seen: info.ModTime(), size: info.Size()})
	})
}

// readMarks reads the file of marks; without one, nothing is marked. A link is none.
func readMarks(root *os.Root) (repository.Ignore, error) {
	info, err := root.Lstat(IgnoreName)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return repository.Ignore{}, nil
	case err != nil:
		return repository.Ignore{}, err
	case info.Size() > maxIgnore:
		return repository.Ignore{}, fmt.Errorf("%s has %d bytes, more than any list of marks", IgnoreName, info.Size())
	}
	b, err := root.ReadFile(IgnoreName)
	return repository.ParseIgnore(string(b)), err
}

// eachState calls see with every regular file below state that may be deleted at all.
// Links are not followed.
func eachState(ctx context.Context, root *os.Root, see func(name string, info fs.FileInfo)) error {
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil
		}
		var entries []fs.DirEntry
		if err == nil {
			entries, err = fs.ReadDir(root.FS(), dir)
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case kept(e.Name(), entries):
			case e.IsDir() && depth < maxDepth:
				if err := walk(name, depth+1); err != nil {
					return err
				}
			case e.Type().IsRegular():
				info, err := e.Info()
				if err == nil {
					see(name, info)
				}
			}
		}
		return nil
	}
	return walk(stateDir, 0)
}

// kept reports what no mark makes ephemeral: what gc archives to, what people review,
// locks and signs of life, what keeps state out of git, the graph of the code and an
// embedder that was adapted, and of an owner's folder the log and what is made from it.
func kept(name string, siblings []fs.DirEntry) bool {
	switch {
	case slices.Contains([]string{"MEMORY.md", ".gitignore", "repository.graph", "embedder.ken", "embedder.json"}, name), strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".lock") || name == ".processes"),
		strings.Contains(name, "provenance") && strings.Contains(name, "archive"), strings.HasPrefix(name, "ken.db"), strings.HasSuffix(name, ".sock"):
		return true
	}
	owner := slices.ContainsFunc(siblings, func(e fs.DirEntry) bool { return e.Name() == "ken.db" })
	return owner && (name == "index" || name == "vectors" || name == "holder.json" || strings.HasSuffix(name, ".lock"))
}

// erase deletes a state file, if it is what the plan saw.
func (a *applier) erase(c *Change) (done bool, err error) {
	if a.d.KenDir == "" || !strings.HasPrefix(c.ID, stateDir+"/") || !fs.ValidPath(c.ID) {
		return false, nil
	}
	root, err := os.OpenRoot(a.d.KenDir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for i := range c.ID { // a folder may have become a link
		if c.ID[i] != '/' {
			continue
		}
		if info, err := root.Lstat(c.ID[:i]); err != nil || !info.IsDir() {
			return errors.Is(err, fs.ErrNotExist), nil
		}
	}
	info, err := root.Lstat(c.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular() || !info.ModTime().Equal(c.seen) || info.Size() != c.size:
		return false, nil
	}
	return true, root.Remove(c.ID)
}

// IgnoreExample is a file of marks that marks nothing and says how.
func IgnoreExample() string {
	return `# State that "ken knowledge gc --apply" deletes, in the notation of .gitignore and
# relative to this folder. Only files below state/ can be named here; the log, the
# indexes and what is archived are never deleted. "ken knowledge gc" shows what would go.
#
# state/events/
# state/**/*.tmp
`
}
