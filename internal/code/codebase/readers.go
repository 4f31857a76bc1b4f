package codebase

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/repository"
)

// readers read the files of a project as it is now: what a name in one stands for
// depends on which others there are, and on the settings of build tools.
type readers struct {
	files  map[string]bool
	asked  map[string]string // hashes of the settings that were read, by path
	golang codegraph.Extractor
	lexed  *lexed.Set
	signs  signs
}

// signs tell whether readers would read a file that has not changed as others did.
type signs struct {
	golang [sha256.Size]byte // of the modules
	lexed  [sha256.Size]byte // of the files and the settings
}

// maxSetting is the most of a setting's file that is read, in bytes.
const maxSetting = 1 << 20

// findReaders looks at the names of all files, and into the settings among them.
func findReaders(ctx context.Context, root string, exclude []string) (*readers, error) {
	tree, err := repository.Files(ctx, root, repository.Options{Exclude: exclude})
	if err != nil {
		return nil, err
	}
	defer tree.Close() // it was only read
	names := make([]string, len(tree.Files))
	for i := range tree.Files {
		names[i] = tree.Files[i].Path
	}
	return newReaders(names, tree), nil
}

// newReaders makes readers for files of these names, in their order.
func newReaders(names []string, tree *repository.Tree) *readers {
	r := &readers{files: make(map[string]bool, len(names)), asked: map[string]string{}}
	read := func(p string) ([]byte, error) {
		c, err := tree.Read(p, maxSetting)
		if err == nil {
			r.asked[p] = c.Hash
		}
		return c.Bytes, err
	}
	lexing := sha256.New()
	for _, p := range names {
		r.files[p] = true
		if lexed.Language(p) != "" {
			fmt.Fprintf(lexing, "%q\n", p)
		}
	}
	r.lexed = lexed.New(lexed.Options{Files: names, Read: read})
	for _, p := range slices.Sorted(maps.Keys(r.asked)) {
		fmt.Fprintf(lexing, "%q %s\n", p, r.asked[p])
	}
	lexing.Sum(r.signs.lexed[:0])

	modules := map[string]string{}
	going := sha256.New()
	for _, p := range names {
		if path.Base(p) != "go.mod" {
			continue
		}
		text, err := read(p)
		if m := golang.ModulePath(text); err == nil && m != "" {
			modules[path.Dir(p)] = m
			fmt.Fprintf(going, "%q %q\n", p, m)
		}
	}
	r.golang = golang.New(modules)
	going.Sum(r.signs.golang[:0])
	return r
}

// readersFor are readers of the project's files after these have changed. New files are
// read after a look at them alone; who is known is taken from before.
func (c *Codebase) readersFor(ctx context.Context, paths []string) (*readers, error) {
	r := c.readers
	switch {
	case r != nil && r.knows(paths):
		return r, nil
	case r == nil || slices.ContainsFunc(paths, r.setting):
		return findReaders(ctx, c.o.Root, c.o.Exclude)
	}
	tree, err := repository.Files(ctx, c.o.Root, repository.Options{Exclude: c.o.Exclude}, paths...)
	if err != nil {
		return nil, err
	}
	defer tree.Close() // it was only read
	names := make(map[string]bool, len(r.files)+len(tree.Files))
	maps.Copy(names, r.files)
	added, lexes := false, false
	for i := range tree.Files {
		p := tree.Files[i].Path
		if r.setting(p) {
			return findReaders(ctx, c.o.Root, c.o.Exclude)
		}
		if !names[p] {
			added, lexes = true, lexes || lexed.Language(p) != ""
			names[p] = true
		}
	}
	switch {
	case !added:
		return r, nil
	case !lexes: // what a name stands for in other languages does not depend on it
		further := *r
		further.files = names
		return &further, nil
	}
	return newReaders(slices.Sorted(maps.Keys(names)), tree), nil
}

// settingNames are files that say where imports lead, by their last name.
var settingNames = []string{"go.mod", "tsconfig.json", "jsconfig.json", "package.json", "Cargo.toml"}

// knows reports whether r still reads files right after these have changed.
func (r *readers) knows(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !r.files[p] || r.setting(p) })
}

// setting reports a file that says where imports lead.
func (r *readers) setting(p string) bool {
	return r.asked[p] != "" || slices.Contains(settingNames, path.Base(p))
}

// otherThan picks the files that r reads otherwise than those of whom these are the
// signs; nil when there are none.
func (r *readers) otherThan(then signs) func(path string) bool {
	if then == (signs{}) || then == r.signs {
		return nil
	}
	return func(p string) bool {
		if lexed.Language(p) != "" {
			return then.lexed != r.signs.lexed
		}
		return then.golang != r.signs.golang
	}
}

func (r *readers) extractors() map[string]codegraph.Extractor {
	all := map[string]codegraph.Extractor{".go": r.golang}
	for _, ext := range lexed.Extensions() {
		all[ext] = r.lexed.Extract
	}
	return all
}
