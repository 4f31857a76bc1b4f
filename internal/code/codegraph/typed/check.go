package typed

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

// Check checks the Go modules under root and says what their files refer to. It writes
// nothing. Errors of single packages are in the report. Where there is no go.mod, it
// returns an error of code not_found; where there is no toolchain, the go command does
// not answer before ctx ends, or not one package could be read, one of code
// unavailable, with the cause.
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
			return out, report, unavailable("the Go toolchain did not answer in time", "Run go list ./... to see what it waits for.", context.Cause(ctx))
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
}

// checkModule checks the module in a folder and adds its files.
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

// tree is the repository. Files are read through os.Root, so that no link leads out of
// it.
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

// Close lets go of the folder.
func (t *tree) Close() { _ = t.root.Close() }

// rel returns a file's path from the root, with slashes; ok is false for one outside
// of it, and in a vendor folder.
func (t *tree) rel(abs string) (string, bool) {
	rel, err := filepath.Rel(t.path, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	return rel, !vendored(rel)
}
