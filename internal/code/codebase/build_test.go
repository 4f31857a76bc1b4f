package codebase_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

func TestBuild(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	r := build(t, c)
	if r.Changed != 8 || r.ProblemsTotal != 0 || r.Counts.Decisions != 1 {
		t.Errorf("report %+v", r)
	}
	v := c.View()
	has(t, v, "method:example.com/shop/cart.Cart.Total", codegraph.Calls, "money.Sum")
	has(t, v, "file:web/app.ts", codegraph.Imports, "file:web/format.ts")
	has(t, v, "file:web/app.ts", codegraph.Imports, "file:web/lib/tax.ts")
	has(t, v, "adr:ADR-0001", codegraph.Governs, "money.Amount")
	if again := build(t, c); again.Changed+again.Removed != 0 || c.View().Version() != v.Version() {
		t.Errorf("the second time %+v", again)
	}
}

// After an Update, queries find what an edit has changed.
func TestUpdate(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	before := c.View()
	write(t, root, map[string]string{"money/money.go": shop()["money/money.go"] + "\n// Half halves.\nfunc Half(a Amount) Amount { return a / 2 }\n"})
	if r := update(t, c, "money/money.go"); r.Changed != 1 {
		t.Errorf("report %+v", r)
	}
	if _, err := c.View().One("money.Half"); err != nil {
		t.Error(err)
	}
	if _, err := before.One("money.Half"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("the view of before: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "money", "money.go")); err != nil {
		t.Fatal(err)
	}
	if r := update(t, c, "money"); r.Removed != 1 {
		t.Errorf("report %+v", r)
	}
	if _, err := c.View().One("money.Half"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("of a file that is gone: %v", err)
	}
	if r, err := c.Update(t.Context()); err != nil || r.Counts.Files != 7 {
		t.Errorf("no paths: %+v, %v", r, err)
	}
	for _, bad := range []string{"../up.go", "/etc/passwd", "no/such/file.go", ""} {
		if _, err := c.Update(t.Context(), bad); err != nil {
			t.Logf("%q: %v", bad, err)
		}
		if n := c.View().Counts().Files; n != 7 {
			t.Fatalf("%q: %d files", bad, n)
		}
	}
}

// A new file that another file already imports is connected to it, by Update as well as by Build.
func TestNewFileThatIsImported(t *testing.T) {
	for _, way := range []string{"update", "build"} {
		t.Run(way, func(t *testing.T) {
			files := shop()
			delete(files, "web/format.ts")
			root := project(t, files)
			c := open(t, root)
			build(t, c)
			hasNot(t, c.View(), "file:web/app.ts", codegraph.Imports, "file:web/format.ts")
			write(t, root, map[string]string{"web/format.ts": shop()["web/format.ts"]})
			if way == "update" {
				update(t, c, "web/format.ts")
			} else {
				build(t, c)
			}
			has(t, c.View(), "file:web/app.ts", codegraph.Imports, "file:web/format.ts")
			has(t, c.View(), "function:web/app.render", codegraph.Calls, "function:web/format.format")
			fresh := open(t, root)
			build(t, fresh)
			if export(t, c) != export(t, fresh) {
				t.Error("the graph differs from one that is built anew")
			}
		})
	}
}

// A change of a module's name or of import settings affects files that have not changed.
func TestSettingsAreReadAgain(t *testing.T) {
	settings := map[string]struct {
		file, text string
		has        func(t *testing.T, v *codegraph.View)
	}{
		"module": {"go.mod", "module example.com/store\n", func(t *testing.T, v *codegraph.View) {
			has(t, v, "method:example.com/store/cart.Cart.Total", codegraph.Defines, "cart.Cart.Total")
			if _, err := v.One("package:example.com/shop/cart"); err == nil {
				t.Error("the old module is still there")
			}
		}},
		"paths": {"web/tsconfig.json", `{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["other/*"]}}}`, func(t *testing.T, v *codegraph.View) {
			hasNot(t, v, "file:web/app.ts", codegraph.Imports, "file:web/lib/tax.ts")
		}},
	}
	for name, s := range settings {
		for _, saved := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				root := project(t, shop())
				c := open(t, root)
				build(t, c)
				if saved { // and the change happens while nobody looks
					if err := c.Save(); err != nil {
						t.Fatal(err)
					}
					c = open(t, root)
				}
				write(t, root, map[string]string{s.file: s.text})
				if err := c.Load(t.Context()); saved && err != nil {
					t.Fatal(err)
				}
				build(t, c)
				if name == "module" {
					if n, err := c.View().One("type:example.com/store/cart.Cart"); err != nil {
						t.Errorf("%+v, %v", n, err)
					}
				} else {
					s.has(t, c.View())
				}
				fresh := open(t, root)
				build(t, fresh)
				if export(t, c) != export(t, fresh) {
					t.Error("the graph differs from one that is built anew")
				}
			})
		}
	}
}

// A broken file, a root without git and an empty file affect nothing else.
func TestBadFiles(t *testing.T) {
	files := shop()
	files["cart/broken.go"] = "package cart\n\nfunc Broken( {\n"
	files["web/broken.ts"] = "export function half( { \x00\xff"
	root := project(t, files)
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	c := open(t, root)
	r := build(t, c)
	if r.ProblemsTotal == 0 || r.Problems[0].Path != "cart/broken.go" || r.Problems[0].Line != 3 {
		t.Errorf("problems %+v", r.Problems)
	}
	has(t, c.View(), "method:example.com/shop/cart.Cart.Total", codegraph.Calls, "money.Sum")
	if _, err := c.View().One("loop/cart/cart.go"); err == nil {
		t.Error("a link was followed")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	version := c.View().Version()
	write(t, root, map[string]string{"cart/more.go": "package cart\n\nfunc More() {}\n"})
	if _, err := c.Build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if c.View().Version() != version {
		t.Error("a build that was ended has changed the graph")
	}
}

func TestOpenOfNothing(t *testing.T) {
	if _, err := codebase.Open(t.Context(), codebase.Options{Root: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("there is no such folder")
	}
	c := open(t, t.TempDir())
	if r := build(t, c); r.Counts.Nodes != 0 {
		t.Errorf("an empty folder: %+v", r)
	}
}

func TestSearchNarrows(t *testing.T) {
	root := project(t, shop())
	c := open(t, root)
	build(t, c)
	for _, x := range []struct {
		q    codebase.Query
		want string
	}{
		{codebase.Query{Words: "total"}, "method:example.com/shop/cart.Cart.Total"},
		{codebase.Query{Words: "format", Kinds: []codegraph.Kind{codegraph.KindFunction}}, "function:web/format.format"},
		{codebase.Query{Words: "tax", Path: "web/lib/"}, "function:web/lib/tax.tax file:web/lib/tax.ts"},
		{codebase.Query{Words: "tax", Path: "*.go"}, ""},
		{codebase.Query{Words: "sum", Path: "./money", Exported: true}, "function:example.com/shop/money.Sum"},
	} {
		found := codebase.Search(c.View(), x.q, codegraph.Page{})
		var ids []string
		for _, r := range found.Results {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != x.want || found.Total != len(ids) {
			t.Errorf("%+v: %s of %d", x.q, got, found.Total)
		}
	}
	all := codebase.Search(c.View(), codebase.Query{Words: "cart"}, codegraph.Page{})
	second := codebase.Search(c.View(), codebase.Query{Words: "cart"}, codegraph.Page{Limit: 1, Offset: 1})
	if len(second.Results) != 1 || second.Results[0].ID != all.Results[1].ID || second.Total != all.Total {
		t.Errorf("the second of %+v is %+v", all, second)
	}
	if far := codebase.Search(c.View(), codebase.Query{Words: "cart"}, codegraph.Page{Offset: 5000}); len(far.Results) != 0 || far.Total != all.Total {
		t.Errorf("far behind: %+v", far)
	}
}
