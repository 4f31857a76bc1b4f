package codegraph_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// BenchmarkManyFiles reads 200,000 small files, then checks them without a change, then with one changed file.
func BenchmarkManyFiles(b *testing.B) {
	const files = 200_000
	f := newFolder(b, nil)
	name := func(i int) string { return fmt.Sprintf("a%02d/b%02d/p%03d/f%06d.go", i%20, i/20%20, i/400%100, i) }
	text := func(i, version int) string {
		return fmt.Sprintf("package p\n\ntype T%d struct{ n int }\n\nfunc (t T%d) Version%d() int { return t.n }\n", i, i, version)
	}
	for i := range files {
		f.write(name(i), text(i, 0))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			f.build(codegraph.New())
		}
	})
	g := codegraph.New()
	f.build(g)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if r := f.build(g); r.Changed > 0 {
				b.Fatalf("%+v", r)
			}
		}
	})
	version := 0
	b.Run("update", func(b *testing.B) {
		for b.Loop() {
			version++
			f.write(name(version), text(version, version))
			if r, err := g.Update(b.Context(), f.dir, []string{name(version)}, f.o); err != nil || r.Changed != 1 {
				b.Fatalf("%+v, %v", r, err)
			}
			f.has(g, fmt.Sprintf("method:example.com/x/%s.T%d.Version%d", name(version)[:12], version, version))
		}
	})
}
