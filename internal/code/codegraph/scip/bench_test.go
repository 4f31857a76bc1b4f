package scip_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph/scip"
)

// big writes files of 200 functions, each of which calls 20 others. docs returns the documents that an indexer would
// write.
func big(tb testing.TB, files int) (dir string, docs func(i int) []byte) {
	tb.Helper()
	dir = tb.TempDir()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "func F%d() {\n\t%s\n}\n", i, strings.Repeat("call(); ", 20))
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text.String()), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	symbol := func(file, n int) string {
		return fmt.Sprintf("scip-go gomod example.com/a/large/project v1.2.3 `example.com/a/large/project/folder%d`/F%d().", file%files, n%200)
	}
	return dir, func(i int) []byte {
		var occs []occ
		for n := range 200 {
			occs = append(occs, occ{symbol(i, n), 1, []uint64{uint64(3 * n), 5, uint64(6 + len(fmt.Sprint(n)))}})
			for k := range 20 {
				occs = append(occs, occ{symbol(i+k*7, n+k), 0, []uint64{uint64(3*n + 1), uint64(1 + 8*k), uint64(5 + 8*k)}})
			}
		}
		return bytesField(nil, 2, doc(fmt.Sprintf("f%d.go", i), "", occs...))
	}
}

func BenchmarkRead(b *testing.B) {
	dir, docs := big(b, 50)
	var in []byte
	for i := range 50 {
		in = append(in, docs(i)...)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, r, err := scip.Read(bytes.NewReader(in), dir, scip.Options{}); err != nil || r.Files != 50 {
			b.Fatal(r, err)
		}
	}
}

// An index larger than the memory for reading it. It only runs with KEN_BIG, because it takes a while.
func TestBigIndex(t *testing.T) {
	if os.Getenv("KEN_BIG") == "" {
		t.Skip("KEN_BIG is not set")
	}
	const files = 400
	dir, docs := big(t, files)
	in, out := io.Pipe()
	size := 0
	go func() {
		for i := range files {
			n, _ := out.Write(docs(i))
			size += n
		}
		out.Close()
	}()
	ref, report, err := scip.Read(in, dir, scip.Options{})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(ref)
	t.Logf("%d MB, %d documents, %d edges; %d MB of the system at most", size>>20, report.Documents, report.Edges, m.Sys>>20)
	if err != nil || report.Files != files || int(m.Sys) > 3*size {
		t.Errorf("%+v, %v", report, err)
	}
}
