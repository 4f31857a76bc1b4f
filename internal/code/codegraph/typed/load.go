package typed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// loaded is what the go command says of a module.
type loaded struct {
	config packages.Config
	roots  []*packages.Package
}

const graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
	packages.NeedForTest | packages.NeedTypesSizes

// load asks for the packages of the module in a folder of the tree and for all that
// they import. No file is parsed and nothing is compiled.
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
	roots, err := ask(ctx, &l.config, "./...")
	if work != "off" && (err != nil || outside(roots)) { // the module is not one of the workspace
		l.config.Env = environment("off")
		roots, err = ask(ctx, &l.config, "./...")
	}
	if err != nil {
		return nil, refused("the Go toolchain can't read the module in "+dir, err)
	}
	l.roots = roots
	return l, nil
}

// environment is that of the go command: no network, no workspace but the root's own,
// no driver of other build systems.
func environment(work string) []string {
	return append(os.Environ(), "GOWORK="+work, "GOPROXY=off", "GO111MODULE=on", "GOPACKAGESDRIVER=off")
}

// outside reports whether the go command refused all packages of a folder.
func outside(roots []*packages.Package) bool {
	return !slices.ContainsFunc(roots, func(p *packages.Package) bool { return len(p.GoFiles) > 0 })
}

// ask runs the go command, and does not wait for one that hangs longer than ctx lasts.
func ask(ctx context.Context, c *packages.Config, patterns ...string) ([]*packages.Package, error) {
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

// exportFiles asks for the export data of packages: the files by import path. Without
// a C compiler those that need one are asked for without it.
func (l *loaded) exportFiles(ctx context.Context, paths []string) (map[string]string, error) {
	c := l.config
	c.Mode, c.Tests = packages.NeedName|packages.NeedExportFile, false
	found := map[string]string{}
	for _, env := range [][]string{nil, {"CGO_ENABLED=0"}} {
		if len(paths) == 0 {
			break
		}
		c.Env = slices.Concat(l.config.Env, env)
		pkgs, err := ask(ctx, &c, paths...)
		if err != nil {
			return nil, refused("the Go toolchain can't give what the module imports", err)
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

// refused makes an error of what the go command says: its last line tells why.
func refused(msg string, err error) error {
	text := strings.TrimSpace(err.Error())
	try := "Run go list ./... to see more."
	if strings.Contains(text, "GOPROXY=off") || strings.Contains(text, "go.sum") {
		try = "Run go mod download once: nothing is downloaded here."
	}
	return unavailable(msg, try, errors.New(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])))
}

func vendored(rel string) bool {
	return strings.HasPrefix(rel, "vendor/") || strings.Contains(rel, "/vendor/")
}
