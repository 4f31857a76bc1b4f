package codebase_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

// What a type checker says holds until the file changes, and is saved.
func TestTypes(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	files := shop()
	files["go.mod"] = "module example.com/shop\n\ngo 1.24\n"
	files["cart/pricer.go"] = "package cart\n\ntype Pricer interface{ Price() int }\n\ntype fixed int\n\nfunc (f fixed) Price() int { return int(f) }\n"
	root := project(t, files)
	c := open(t, root)
	build(t, c)
	hasNot(t, c.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	refined, report, err := c.Types(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Packages != 2 || report.Broken != 0 || refined.Files != 3 || refined.Stale != 0 {
		t.Errorf("refined %+v, report %+v", refined, report)
	}
	has(t, c.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	next := open(t, root)
	if err := next.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	build(t, next)
	has(t, next.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
	write(t, root, map[string]string{"cart/pricer.go": "package cart\n\ntype Pricer interface{ Price(n int) int }\n\ntype fixed int\n\nfunc (f fixed) Price() int { return int(f) }\n"})
	update(t, next, "cart/pricer.go")
	hasNot(t, next.View(), "type:example.com/shop/cart.fixed", codegraph.Implements, "cart.Pricer")
}

func TestTypesThatCantBeChecked(t *testing.T) {
	c := open(t, project(t, map[string]string{"a.py": "def f(): pass\n"}))
	build(t, c)
	if _, _, err := c.Types(t.Context()); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("without a module: %v", err)
	}
	c = open(t, project(t, shop()))
	build(t, c)
	t.Setenv("PATH", t.TempDir())
	if _, _, err := c.Types(t.Context()); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("without a go command: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := c.Types(ctx); err == nil {
		t.Error("after the end")
	}
}

// A compiler's index, made by a real indexer, makes guesses exact, in a folder of the
// project as well.
func TestImport(t *testing.T) {
	zoo := filepath.Join("..", "codegraph", "scip", "testdata", "zoo")
	for _, folder := range []string{"", "web/zoo"} {
		root := t.TempDir()
		for _, name := range []string{"animal.ts", "keeper.ts"} {
			b, err := os.ReadFile(filepath.Join(zoo, name))
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, map[string]string{filepath.Join(folder, name): string(b)})
		}
		c := open(t, root)
		build(t, c)
		before := c.View().Counts()
		in, err := os.Open(filepath.Join(zoo, "ts.scip"))
		if err != nil {
			t.Fatal(err)
		}
		refined, report, err := c.Import(t.Context(), in, scip.Options{Folder: folder, Made: later()})
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		if refined.Files != 2 || report.Placed == 0 || report.Missing+report.Stale != 0 {
			t.Errorf("%q: refined %+v, report %+v", folder, refined, report)
		}
		after := c.View().Counts()
		if after.Guesses >= before.Guesses || after.Edges < before.Edges-before.Guesses {
			t.Errorf("%q: before %+v, after %+v", folder, before, after)
		}
		old, err := os.Open(filepath.Join(zoo, "ts.scip"))
		if err != nil {
			t.Fatal(err)
		}
		if refined, report, err = c.Import(t.Context(), old, scip.Options{Folder: folder, Made: time.Unix(0, 0)}); err != nil || refined.Files != 0 || report.Stale != 2 {
			t.Errorf("of files changed since: %+v, %+v, %v", refined, report, err)
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, t.TempDir(), func(o *codebase.Options) { o.Exclude = []string{"*.ts"} })
	bad, err := os.Open(filepath.Join(zoo, "animal.ts"))
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close() // it was only read
	if _, _, err := c.Import(t.Context(), bad, scip.Options{}); err == nil {
		t.Error("a source file was taken for an index")
	}
}
