package codebase

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/code/codegraph/lexed"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/repository"
)

// FileName is the name of the saved graph in the folder for state.
const FileName = "repository.graph"

// Options configures a Codebase. Root is required.
type Options struct {
	Root  string // the project's folder
	State string // folder of the saved graph; empty means .ken/state in Root

	Generated bool     // keep what generated files declare
	Exclude   []string // patterns as in .gitignore, in addition to those of the project
	Folders   []string // folders of decisions, from the root; empty means decision.DefaultFolders

	// Progress is called from one goroutine at a time while files are read; may be nil.
	Progress func(repository.Progress)
	Now      func() time.Time // nil means time.Now
}

// Codebase is the code of one project. It is safe for concurrent use. Changes run one after another, and queries never
// block. The caller closes it.
type Codebase struct {
	o         Options
	graph     atomic.Pointer[codegraph.Graph]
	decisions *decision.Registry

	changing         sync.Mutex           // held while the graph changes; guards the fields below
	readers          *readers             // readers of files; nil until the files of the project are known
	read             readerSignature      // signature of the readers that read all files last; zero if none have
	saved            uint64               // version of the saved graph
	applied          bool                 // the graph has all decisions that were written so far
	appliedDecisions []codegraph.Decision // the decisions last given to the graph
	appliedTo        *codegraph.Graph     // the graph that has them

	examinedMu sync.Mutex           // guards the field below
	examined   map[string]fileState // state of files when Update last examined them, by path
}

// Open opens the code of a project and reads its decisions. Errors: ken.ErrInvalid for an invalid root.
func Open(ctx context.Context, o Options) (*Codebase, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, err
	}
	o.Root = root
	o.State = cmp.Or(o.State, filepath.Join(root, ".ken", "state"))
	if o.Now == nil {
		o.Now = time.Now
	}
	ds, err := decision.Open(ctx, root, decision.Options{Folders: o.Folders, Now: o.Now})
	if err != nil {
		return nil, err
	}
	c := &Codebase{o: o, decisions: ds}
	c.graph.Store(codegraph.New())
	return c, nil
}

// View returns the present graph.
func (c *Codebase) View() *codegraph.View { return c.graph.Load().View() }

// Decisions returns the project's decisions. After writing to it, call Govern to update the graph.
func (c *Codebase) Decisions() *decision.Registry { return c.decisions }

// Close closes the files. Changes that were not saved are read from the files again next time.
func (c *Codebase) Close() error { return c.decisions.Close() }

// Build brings graph and decisions up to date with all files of the project. It reads only what has changed. Files that
// can't be read are in the report. The error is that of ctx or of the root; nothing has changed then.
func (c *Codebase) Build(ctx context.Context) (codegraph.Report, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	r, err := findReaders(ctx, c.o.Root, c.o.Exclude)
	if err != nil {
		return codegraph.Report{}, err
	}
	o := c.options(r)
	o.Reread = r.changedSince(c.read)
	report, err := c.graph.Load().Build(ctx, c.o.Root, o)
	if err != nil {
		return report, err
	}
	c.readers, c.read = r, r.signature
	report.Counts, err = c.applyDecisions(ctx)
	return report, err
}

// Update brings graph and decisions up to date with some files or folders. Paths start at the root and have slashes; a
// folder includes everything below it. Call it right after an edit, with the paths that were changed, created, moved or
// deleted; it takes a few milliseconds. Effects on the meaning of other files, such as a new module path, are left to
// Build. The error is that of ctx; nothing has changed then.
func (c *Codebase) Update(ctx context.Context, paths ...string) (codegraph.Report, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	if len(paths) == 0 {
		return codegraph.Report{Counts: c.View().Counts()}, ctx.Err()
	}
	seen := c.statAll(paths)
	r, err := c.readersFor(ctx, paths)
	if err != nil {
		return codegraph.Report{}, err
	}
	o := c.options(r)
	if also := importers(c.View(), r, paths); len(also) > 0 {
		o.Reread = func(p string) bool { _, found := slices.BinarySearch(also, p); return found }
		paths = append(slices.Clone(paths), also...)
	}
	report, err := c.graph.Load().Update(ctx, c.o.Root, paths, o)
	if err != nil {
		return report, err
	}
	c.readers = r
	if report.Counts, err = c.applyDecisions(ctx); err == nil {
		c.rememberExamined(seen)
	}
	return report, err
}

func (c *Codebase) options(r *readers) codegraph.Options {
	return codegraph.Options{Extractors: r.extractors(), Generated: c.o.Generated, Exclude: c.o.Exclude, Progress: c.o.Progress, Now: c.o.Now}
}

// Prune finds entries of the graph whose files no longer exist. With apply, it removes them.
func (c *Codebase) Prune(ctx context.Context, apply bool) (codegraph.Pruned, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	tree, err := repository.Files(ctx, c.o.Root, repository.Options{Exclude: c.o.Exclude})
	if err != nil {
		return codegraph.Pruned{}, fmt.Errorf("prune the graph: %w", err)
	}
	defer tree.Close() // it was only read
	there := make(map[string]bool, len(tree.Files))
	for i := range tree.Files {
		there[tree.Files[i].Path] = true
	}
	return c.graph.Load().Prune(func(path string) bool { return there[path] }, apply), nil
}

// readers read the files of a project in its present state. The meaning of a name depends on which other files exist
// and on the settings of build tools.
type readers struct {
	files     map[string]bool
	settings  map[string]string // hashes of the settings files that were read, by path
	golang    codegraph.Extractor
	lexed     *lexed.Set
	signature readerSignature
}

// readerSignature tells whether two readers would read an unchanged file in the same way.
type readerSignature struct {
	golang [sha256.Size]byte // hash of the modules
	lexed  [sha256.Size]byte // hash of the file names and the settings
}

// maxSetting is the maximum number of bytes read from a settings file.
const maxSetting = 1 << 20

// findReaders lists all files and reads the settings among them.
func findReaders(ctx context.Context, root string, exclude []string) (*readers, error) {
	tree, err := repository.Files(ctx, root, repository.Options{Exclude: exclude})
	if err != nil {
		return nil, err
	}
	defer tree.Close() // it was only read
	return readersOf(tree), nil
}

// readersOf returns the readers of all files of a tree. The package.json files next to sources, which contain the
// package's name, belong to them even if they are ignored, as generated ones often are.
func readersOf(tree *repository.Tree) *readers {
	names, folders := map[string]bool{}, map[string]bool{}
	for i := range tree.Files {
		p := tree.Files[i].Path
		names[p] = true
		switch lexed.Language(p) {
		case "javascript", "typescript":
			for dir := path.Dir(p); !folders[dir]; dir = path.Dir(dir) {
				folders[dir] = true
			}
		}
	}
	for dir := range folders {
		p := path.Join(dir, "package.json")
		if names[p] {
			continue
		}
		if _, err := tree.Read(p, maxSetting); err == nil {
			names[p] = true
		}
	}
	return newReaders(slices.Sorted(maps.Keys(names)), tree)
}

// newReaders makes readers for files with these names, in this order.
func newReaders(names []string, tree *repository.Tree) *readers {
	r := &readers{files: make(map[string]bool, len(names)), settings: map[string]string{}}
	read := func(p string) ([]byte, error) {
		c, err := tree.Read(p, maxSetting)
		if err == nil {
			r.settings[p] = c.Hash
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
	for _, p := range slices.Sorted(maps.Keys(r.settings)) {
		fmt.Fprintf(lexing, "%q %s\n", p, r.settings[p])
	}
	lexing.Sum(r.signature.lexed[:0])

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
	going.Sum(r.signature.golang[:0])
	return r
}

// readersFor returns readers of the project's files after changes at paths. It looks for new files only there; the
// other files are taken from the previous readers.
func (c *Codebase) readersFor(ctx context.Context, paths []string) (*readers, error) {
	r := c.readers
	switch {
	case r == nil || slices.ContainsFunc(paths, r.setting):
		return findReaders(ctx, c.o.Root, c.o.Exclude)
	case !slices.ContainsFunc(paths, func(p string) bool { return !r.files[p] }):
		return r, nil
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
	case !lexes: // names in other languages do not depend on these files
		further := *r
		further.files = names
		return &further, nil
	}
	return newReaders(slices.Sorted(maps.Keys(names)), tree), nil
}

// settingNames are the names of files that configure imports.
var settingNames = []string{"go.mod", "tsconfig.json", "jsconfig.json", "package.json", "Cargo.toml"}

// setting reports whether a file configures imports.
func (r *readers) setting(p string) bool {
	return r.settings[p] != "" || slices.Contains(settingNames, path.Base(p))
}

// changedSince returns a function that reports which files r reads differently than the readers with the signature
// then. It returns nil if there are none.
func (r *readers) changedSince(then readerSignature) func(path string) bool {
	if then == (readerSignature{}) || then == r.signature {
		return nil
	}
	return func(p string) bool {
		if lexed.Language(p) != "" {
			return then.lexed != r.signature.lexed
		}
		return then.golang != r.signature.golang
	}
}

func (r *readers) extractors() map[string]codegraph.Extractor {
	all := map[string]codegraph.Extractor{".go": r.golang}
	for _, ext := range lexed.Extensions() {
		all[ext] = r.lexed.Extract
	}
	return all
}

// Limits for Update with new files. What exceeds them is left to Build.
const (
	maxNew       = 200
	maxImporters = 500
)

// importers lists files that may import new files at or below the paths. They have not changed, but were read before
// the imported files existed.
func importers(v *codegraph.View, r *readers, paths []string) []string {
	words, added := map[string]bool{}, 0
	add := func(p string) {
		if lexed.Language(p) == "" || !r.files[p] {
			return
		}
		if _, known := v.Stamp(p); known {
			return
		}
		added++
		stem, _, _ := strings.Cut(path.Base(p), ".")
		words[stem] = true
		switch stem {
		case "index", "mod", "lib", "main", "__init__": // the name of the folder stands for them
			words[path.Base(path.Dir(p))] = true
		}
	}
	for _, p := range paths {
		if r.files[p] {
			add(p)
			continue
		}
		folder := strings.TrimSuffix(p, "/") + "/"
		for f := range r.files {
			if strings.HasPrefix(f, folder) {
				add(f)
			}
		}
	}
	if added == 0 || added > maxNew {
		return nil
	}
	return v.Importing(words, maxImporters)
}
