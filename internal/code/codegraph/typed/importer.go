package typed

import (
	"bufio"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

// exporter reads packages from the export data that the compiler left. It is safe for
// concurrent use.
type exporter struct {
	fset  *token.FileSet
	files map[string]string // by import path

	mu     sync.Mutex // guards what follows
	pkgs   map[string]*types.Package
	failed map[string]error
}

func newExporter(fset *token.FileSet, files map[string]string) *exporter {
	return &exporter{fset: fset, files: files, pkgs: map[string]*types.Package{}, failed: map[string]error{}}
}

func (e *exporter) find(path string) (*types.Package, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.failed[path]; err != nil {
		return nil, err
	}
	if pkg := e.pkgs[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	pkg, err := e.read(path)
	if err != nil {
		e.failed[path] = err
	}
	return pkg, err
}

func (e *exporter) read(path string) (pkg *types.Package, err error) {
	name, ok := e.files[path]
	if !ok {
		return nil, fmt.Errorf("no export data of %s: it can't be built, or is not downloaded", path)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 the toolchain in PATH writes archives, and go/packages reads them like this itself
	r, err := gcexportdata.NewReader(bufio.NewReader(f)) //nolint:staticcheck // as above
	if err != nil {
		return nil, fmt.Errorf("read export data of %s: %w", path, err)
	}
	return gcexportdata.Read(r, e.fset, e.pkgs, path)
}

// importer finds what one node imports.
type importer struct {
	plan *plan
	node *node
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	imp := i.node.Imports[path]
	if imp == nil {
		return nil, fmt.Errorf("%s is not to be had", path)
	}
	m := i.plan.byID[imp.ID]
	if m == nil {
		return i.plan.external.find(imp.PkgPath)
	}
	<-m.ready
	if m.types == nil {
		return nil, fmt.Errorf("%s can't be checked", path)
	}
	return m.types, nil
}
