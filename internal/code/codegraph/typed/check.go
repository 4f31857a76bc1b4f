package typed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

// Check type-checks the Go modules under root and returns what the names in their files refer to. It writes nothing.
// Errors in single packages are in the report. It returns ken.ErrNotFound if there is no go.mod. It returns
// ken.ErrUnavailable, with the cause, if there is no toolchain, if the go command does not answer before ctx ends, or
// if no package could be read.
func Check(ctx context.Context, root string, o Options) (codegraph.Refinement, Report, error) {
	out := codegraph.Refinement{Source: Source, Kinds: []codegraph.EdgeKind{codegraph.Inherits, codegraph.Implements, codegraph.References, codegraph.Calls}}
	o, err := o.withDefaults()
	if err != nil {
		return out, Report{}, err
	}
	tree, err := openTree(root)
	if err != nil {
		return out, Report{}, err
	}
	defer tree.Close()
	modules := golang.FindModules(tree.root.FS())
	if len(modules) == 0 {
		return out, Report{}, &ken.Error{Code: ken.CodeNotFound, Msg: "no go.mod under " + tree.path, Try: "Run it where the module is; names are read without types."}
	}
	if _, err := exec.LookPath("go"); err != nil {
		return out, Report{}, unavailable("no Go toolchain in PATH", "Install Go, or add it to PATH; names are read without types until then.", err)
	}
	files := map[string]codegraph.RefinedFile{}
	var report Report
	var failed error
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		r, err := checkModule(ctx, tree, dir, o, files)
		if ctx.Err() != nil {
			return out, report, unavailable("the Go toolchain did not answer in time", "Run go list ./... to see the cause.", context.Cause(ctx))
		}
		if err != nil {
			report.Problems = append(report.Problems, Problem{Path: filepath.ToSlash(filepath.Join(dir, "go.mod")), Text: err.Error()})
			failed = cmp.Or(failed, err)
			continue
		}
		report.add(r)
	}
	if report.Modules == 0 {
		return out, report, failed
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		report.Edges += len(files[p].Edges)
		out.Files = append(out.Files, files[p])
	}
	report.Files = len(files)
	return out, report, nil
}

func (r *Report) add(other Report) {
	r.Modules++
	r.Packages += other.Packages
	r.Lines += other.Lines
	r.Broken += other.Broken
	r.Problems = append(r.Problems, other.Problems...)
	r.Missing = append(r.Missing, other.Missing...)
	slices.Sort(r.Missing)
	r.Missing = slices.Compact(r.Missing)
}

// checkModule checks the module in a folder and adds the results to files.
func checkModule(ctx context.Context, tree *tree, dir string, o Options, files map[string]codegraph.RefinedFile) (Report, error) {
	l, err := load(ctx, tree, dir)
	if err != nil {
		return Report{}, err
	}
	p := newPlan(tree, l, o)
	if err := p.exports(ctx, l); err != nil {
		return Report{}, err
	}
	return p.run(ctx, o.Workers, files)
}

func unavailable(msg, try string, err error) error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: msg, Try: try, Err: err}
}

// tree is the repository. Files are read through os.Root, so links can't lead outside of it.
type tree struct {
	path string // absolute, with links resolved
	root *os.Root
}

func openTree(path string) (*tree, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, &ken.Error{Code: ken.CodeNotFound, Field: "root", Msg: "no folder " + path, Err: err}
		}
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "root", Msg: "can't be resolved", Err: err}
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "root", Msg: "can't be opened", Err: err}
	}
	return &tree{path: abs, root: root}, nil
}

// Close closes the folder.
func (t *tree) Close() { _ = t.root.Close() }

// rel returns the path of a file from the root, with slashes. ok is false for a file outside the root or in a vendor
// folder.
func (t *tree) rel(abs string) (string, bool) {
	rel, err := filepath.Rel(t.path, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	return rel, !vendored(rel)
}

// Source is the Source of refinements made here.
const Source = "types"

// Options configures Check. The zero value checks everything.
type Options struct {
	// Packages, if not empty, restricts the results to these import paths and the packages' tests. Declarations of
	// other packages are still read, because they are needed to find implementations.
	Packages []string

	Workers int // packages checked at the same time; 0 means one per processor; negative is an error
}

func (o Options) withDefaults() (Options, error) {
	if o.Workers < 0 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "workers", Msg: fmt.Sprintf("%d is negative", o.Workers), Try: "Leave it out for one a processor."}
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o, nil
}

// Report is the result of a run.
type Report struct {
	Modules  int `json:"modules"`
	Packages int `json:"packages"` // packages in the result; a package and its internal tests count once
	Files    int `json:"files"`
	Lines    int `json:"lines"`
	Edges    int `json:"edges"`

	// Broken counts those of the packages that have errors. Results for the valid parts of them are included.
	Broken int `json:"broken"`

	// Missing are the import paths of packages that are not downloaded. Nothing is downloaded here.
	Missing []string `json:"missing,omitempty"`

	// Problems are the first errors of each package, ordered by package and place.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is an error in a package or module.
type Problem struct {
	Package string `json:"package,omitempty"` // import path; empty for the whole module
	Path    string `json:"path,omitempty"`    // from the root
	Line    int    `json:"line,omitempty"`
	Text    string `json:"text"`
	Follows bool   `json:"follows,omitempty"` // the package imports a missing one, perhaps through others, which may be the cause
}

const problemsEach = 5 // per package

// loaded is the go command's description of a module.
type loaded struct {
	config packages.Config
	roots  []*packages.Package
}

const graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
	packages.NeedForTest | packages.NeedTypesSizes

// load lists the packages of the module in a folder of the tree and everything that they import. It parses no file and
// compiles nothing.
func load(ctx context.Context, t *tree, dir string) (*loaded, error) {
	abs := filepath.Join(t.path, filepath.FromSlash(dir))
	mod := "-mod=readonly"
	if _, err := os.Lstat(filepath.Join(abs, "vendor", "modules.txt")); err == nil {
		mod = "-mod=vendor"
	}
	work := "off"
	if info, err := t.root.Lstat("go.work"); err == nil && info.Mode().IsRegular() {
		work = filepath.Join(t.path, "go.work")
	}
	l := &loaded{config: packages.Config{
		Mode: graphMode, Context: ctx, Dir: abs, Tests: true, BuildFlags: []string{mod}, Env: environment(work),
	}}
	roots, err := runGo(ctx, &l.config, "./...")
	if work != "off" && (err != nil || noPackages(roots)) { // the module is not part of the workspace
		l.config.Env = environment("off")
		roots, err = runGo(ctx, &l.config, "./...")
	}
	if err != nil {
		return nil, goError("the Go toolchain can't read the module in "+dir, err)
	}
	l.roots = roots
	return l, nil
}

// environment returns the environment of the go command: no network, no workspace other than the root's, and no driver
// of another build system.
func environment(work string) []string {
	return append(os.Environ(), "GOWORK="+work, "GOPROXY=off", "GO111MODULE=on", "GOPACKAGESDRIVER=off")
}

// noPackages reports whether the go command found no package with Go files.
func noPackages(roots []*packages.Package) bool {
	return !slices.ContainsFunc(roots, func(p *packages.Package) bool { return len(p.GoFiles) > 0 })
}

// runGo runs the go command. It returns when ctx ends even if the command hangs.
func runGo(ctx context.Context, c *packages.Config, patterns ...string) ([]*packages.Package, error) {
	type answer struct {
		pkgs []*packages.Package
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		pkgs, err := packages.Load(c, patterns...)
		done <- answer{pkgs, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-done:
		if a.err == nil && len(a.pkgs) == 0 {
			a.err = errors.New("no packages")
		}
		return a.pkgs, a.err
	}
}

// exportFiles returns the files with the export data of packages, by import path. Packages that fail with cgo, for lack
// of a C compiler, are requested again without cgo.
func (l *loaded) exportFiles(ctx context.Context, paths []string) (map[string]string, error) {
	c := l.config
	c.Mode, c.Tests = packages.NeedName|packages.NeedExportFile, false
	found := map[string]string{}
	for _, env := range [][]string{nil, {"CGO_ENABLED=0"}} {
		if len(paths) == 0 {
			break
		}
		c.Env = slices.Concat(l.config.Env, env)
		pkgs, err := runGo(ctx, &c, paths...)
		if err != nil {
			return nil, goError("the Go toolchain can't give what the module imports", err)
		}
		for _, p := range pkgs {
			if p.ExportFile != "" {
				found[p.PkgPath] = p.ExportFile
			}
		}
		paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return found[p] != "" })
	}
	return found, nil
}

// goError turns the output of the go command into an error. The last line of the output holds the cause.
func goError(msg string, err error) error {
	text := strings.TrimSpace(err.Error())
	try := "Run go list ./... to see more."
	if notDownloaded(text) {
		try = "Run go mod download once: nothing is downloaded here."
	}
	return unavailable(msg, try, errors.New(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])))
}

// notDownloaded reports whether the go command says that it lacks a module.
func notDownloaded(text string) bool {
	return strings.Contains(text, "GOPROXY=off") || strings.Contains(text, "go.sum")
}

func vendored(rel string) bool {
	return strings.HasPrefix(rel, "vendor/") || strings.Contains(rel, "/vendor/")
}

// source is the content of a file when it was read. Results refer to this content.
type source struct {
	path   string // from the root
	hash   string
	lines  int
	syntax *ast.File
}

const maxFile = 64 << 20 // bytes; the compiler's own limit is far above the size of any written file

// read reads and parses a file. Parse errors become problems; what could be parsed is used.
func (p *plan) read(n *node, path string) (source, []Problem) {
	src := source{path: path}
	open := p.tree.readFile
	if !n.own {
		open = os.ReadFile
	}
	text, err := open(path)
	if err != nil {
		return src, []Problem{{Package: n.PkgPath, Path: path, Text: err.Error()}}
	}
	sum := sha256.Sum256(text)
	src.hash = "sha256:" + hex.EncodeToString(sum[:])
	src.lines = bytes.Count(text, []byte("\n"))
	src.syntax, err = parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
	var problems []Problem
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) {
		for _, e := range list {
			problems = append(problems, Problem{Package: n.PkgPath, Path: path, Line: e.Pos.Line, Text: e.Msg})
		}
	}
	return src, problems
}

func (t *tree) readFile(path string) ([]byte, error) {
	info, err := t.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a regular file, or is too large", path)
	}
	return t.root.ReadFile(path)
}

// at makes a Problem at a position.
func (p *plan) at(n *node, pos token.Pos, text string) Problem {
	text, _, _ = strings.Cut(text, "\n")
	where := p.fset.PositionFor(pos, false)
	return Problem{Package: n.PkgPath, Path: where.Filename, Line: where.Line, Text: text}
}
