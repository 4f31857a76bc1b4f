package golang_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/golang"
	"github.com/kenlayer/ken/internal/race"
)

// Reads this repository and the folders in KEN_TREES (separated as in PATH), and logs the time.
func TestReal(t *testing.T) {
	trees := append([]string{"../../../.."}, filepath.SplitList(os.Getenv("KEN_TREES"))...)
	for _, tree := range trees {
		root, err := filepath.Abs(tree)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(root), func(t *testing.T) {
			files, lines := readTree(t, os.DirFS(root))
			var decls, uses, qualified, members, problems int
			for _, f := range files {
				check(t, f, lines[f.Path])
				decls, uses, problems = decls+len(f.Decls), uses+len(f.Uses), problems+len(f.Problems)
				for _, u := range f.Uses {
					if u.Qualified {
						qualified++
					} else if strings.HasPrefix(u.Name, ".") {
						members++
					}
				}
			}
			if tree == "../../../.." && (len(files) < 200 || problems > 0) {
				t.Errorf("%d files, %d problems", len(files), problems)
			}
			t.Logf("%d declarations, %d uses: %d qualified, %d members of something; %d problems", decls, uses, qualified, members, problems)
		})
	}
}

func readTree(t *testing.T, tree fs.FS) ([]codegraph.File, map[string]int) {
	t.Helper()
	extract := golang.New(golang.FindModules(tree))
	paths := goFiles(t, tree)
	if race.Enabled { // about ten times as slow: a part will do
		paths = paths[:len(paths)/5]
	}
	src, lines, total := make([][]byte, len(paths)), map[string]int{}, 0
	for i, p := range paths {
		src[i], _ = fs.ReadFile(tree, p)
		lines[p] = bytes.Count(src[i], []byte("\n")) + 1
		total += lines[p]
	}
	out := make([]codegraph.File, len(paths))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				out[i] = extract(paths[i], src[i])
			}
		})
	}
	for i := range paths {
		work <- i
	}
	close(work)
	wg.Wait()
	took := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d files, %d lines in %v on %d cores, %d MB kept", len(paths), total, took.Round(time.Millisecond), runtime.GOMAXPROCS(0),
		(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
	return out, lines
}

// check checks the contract of codegraph.File.
func check(t *testing.T, f codegraph.File, lines int) {
	t.Helper()
	for i, d := range f.Decls {
		if d.Parent >= len(f.Decls) || d.Parent == i || d.Line < 1 || d.End < d.Line || d.End > lines || d.Name == "" {
			t.Errorf("%s: declaration %+v", f.Path, d)
		}
		if len(d.Signature) > 200 || len(d.Doc) > 200 || strings.Contains(d.Signature+d.Doc, "\n") {
			t.Errorf("%s: texts of %+v", f.Path, d)
		}
		if d.Kind != codegraph.KindPackage && !strings.HasSuffix(d.Qualified, "."+d.Name) {
			t.Errorf("%s: %q is not the last part of %q", f.Path, d.Name, d.Qualified)
		}
	}
	for _, u := range f.Uses {
		if u.From < -1 || u.From >= len(f.Decls) || u.Line < 1 || u.Line > lines || strings.Trim(u.Name, ".") == "" {
			t.Errorf("%s: use %+v", f.Path, u)
		}
	}
}
