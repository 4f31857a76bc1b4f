package codebase_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codebase"
)

// What has changed since it was read is told by its size and time alone, until Update has
// looked at it.
func TestStale(t *testing.T) {
	ctx := context.Background()
	root := project(t, shop())
	c, err := codebase.Open(ctx, codebase.Options{Root: root, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	paths := []string{"cart/cart.go", "web/app.ts", "cart/new.go", "money", "gone.go", "..", "../x.go", ".", "", "docs/adr/0001-cents.md"}
	check := func(what string, want ...string) {
		t.Helper()
		if got := c.Stale(paths...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	update := func() {
		t.Helper()
		if _, err := c.Update(ctx, c.Stale(paths...)...); err != nil {
			t.Fatal(err)
		}
	}
	check("files of which only the name was looked at, and folders", "money", "docs/adr/0001-cents.md")
	update()
	check("nothing")

	write(t, root, map[string]string{"cart/cart.go": "package cart\n\nfunc Fresh() {}\n", "cart/new.go": "package cart\n\nfunc Newer() {}\n"})
	if err := os.Chtimes(filepath.Join(root, "web/app.ts"), time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("changed, made and touched", "cart/cart.go", "web/app.ts", "cart/new.go")
	update()
	check("after an update")
	for _, name := range []string{"cart.Fresh", "cart.Newer"} {
		if _, err := c.View().One(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, p := range []string{"cart/new.go", "web/app.ts"} {
		if err := os.Remove(filepath.Join(root, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "money")); err != nil {
		t.Fatal(err)
	}
	check("deleted", "web/app.ts", "cart/new.go", "money")
	update()
	check("gone")
	if _, err := c.View().One("money.Amount"); err == nil {
		t.Error("what lay in a folder is still there")
	}
}

// A new file is read as one of its project: with the imports that lead to it and from it.
func TestUpdateOfANewFile(t *testing.T) {
	ctx := context.Background()
	root := project(t, shop())
	c, err := codebase.Open(ctx, codebase.Options{Root: root, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"web/total.ts": "import { tax } from \"@lib/tax\";\nimport { format } from \"./format\";\n\nexport function total(n: number): string { return format(tax(n)); }\n"})
	if _, err := c.Update(ctx, "web/total.ts"); err != nil {
		t.Fatal(err)
	}
	once := hashesAndEdges(t, c)
	if _, err := c.Build(ctx); err != nil {
		t.Fatal(err)
	}
	if again := hashesAndEdges(t, c); once != again {
		t.Errorf("a build says more:\n%s\n%s", once, again)
	}
}

func hashesAndEdges(t *testing.T, c *codebase.Codebase) (out string) {
	t.Helper()
	s, err := c.View().Show("total.total")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.To {
		out += string(e.Kind) + " " + string(e.How) + " " + e.To.ID + "\n"
	}
	return out
}
