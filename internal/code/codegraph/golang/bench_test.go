package golang_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph/golang"
)

// The files of this repository, one after the other on one core.
func BenchmarkExtract(b *testing.B) {
	tree := os.DirFS("../../../..")
	extract := golang.New(golang.FindModules(tree))
	paths := goFiles(b, tree)
	src := make([][]byte, len(paths))
	var size int64
	for i, p := range paths {
		src[i], _ = fs.ReadFile(tree, p)
		size += int64(len(src[i]))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i, p := range paths {
			extract(p, src[i])
		}
	}
}
