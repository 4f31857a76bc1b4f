package codebase_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// copied copies this repository's source to a folder in which it can be edited.
func copied(t testing.TB) string {
	t.Helper()
	from, to := "../../..", t.TempDir()
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // somebody may be editing
		}
		name := d.Name()
		if d.IsDir() {
			if p != from && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(name); ext != ".go" && ext != ".mod" && ext != ".md" && ext != ".py" && ext != ".ts" {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return nil // likewise
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		to := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// BenchmarkUpdateOneFile measures the time from an edit until its new symbol is known, in this repository. The goal is
// less than 100 ms.
func BenchmarkUpdateOneFile(b *testing.B) {
	root := copied(b)
	c := open(b, root, func(o *codebase.Options) { o.Now = time.Now })
	build(b, c)
	const file = "store/shelf.go"
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		write(b, root, map[string]string{file: string(text) + fmt.Sprintf("\nfunc Edit%d() {}\n", i)})
		b.StartTimer()
		update(b, c, file)
		if _, err := c.View().One(fmt.Sprintf("store.Edit%d", i)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdateNewFile measures the same for a new file.
func BenchmarkUpdateNewFile(b *testing.B) {
	root := copied(b)
	c := open(b, root, func(o *codebase.Options) { o.Now = time.Now })
	build(b, c)
	for i := 0; b.Loop(); i++ {
		file := fmt.Sprintf("store/edit%d.go", i)
		write(b, root, map[string]string{file: fmt.Sprintf("package store\n\nfunc Edit%d() {}\n", i)})
		update(b, c, file)
	}
}

// BenchmarkLoadAndBuild measures the start-up cost of a command if nothing has changed.
func BenchmarkLoadAndBuild(b *testing.B) {
	root := copied(b)
	c := open(b, root)
	build(b, c)
	if err := c.Save(); err != nil {
		b.Fatal(err)
	}
	var counts codegraph.Counts
	for b.Loop() {
		next := open(b, root)
		if err := next.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
		if r := build(b, next); r.Changed > 0 {
			b.Fatalf("%d changed", r.Changed)
		}
		counts = next.View().Counts()
	}
	b.ReportMetric(float64(counts.Nodes), "nodes")
}

// BenchmarkBuildAgain measures a Build if nothing has changed.
func BenchmarkBuildAgain(b *testing.B) {
	root := copied(b)
	c := open(b, root)
	build(b, c)
	for b.Loop() {
		build(b, c)
	}
}
