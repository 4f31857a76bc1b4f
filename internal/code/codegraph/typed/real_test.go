package typed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// needGo skips a test if there is no toolchain.
func needGo(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain in PATH")
	}
}

// Checks the modules in the folders of KEN_TREES (separated as in PATH) and logs the time. A folder of the module cache
// can be used, because nothing is written.
func TestReal(t *testing.T) {
	needGo(t)
	trees := filepath.SplitList(os.Getenv("KEN_TREES"))
	if len(trees) == 0 {
		t.Skip("KEN_TREES names no folders")
	}
	for _, tree := range trees {
		t.Run(filepath.Base(tree), func(t *testing.T) {
			runtime.GC()
			done := make(chan uint64)
			stop := make(chan struct{})
			go func() {
				var peak uint64
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-stop:
						done <- peak
						return
					case <-tick.C:
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						peak = max(peak, m.HeapAlloc)
					}
				}
			}()
			start := time.Now()
			ref, report, err := typed.Check(t.Context(), tree, typed.Options{})
			took := time.Since(start)
			close(stop)
			peak := <-done
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[codegraph.EdgeKind]int{}
			for _, f := range ref.Files {
				for _, e := range f.Edges {
					kinds[e.Kind]++
				}
			}
			problems := report.Problems
			report.Problems = nil
			t.Logf("%+v in %v, at most %d MB in use; %v", report, took.Round(time.Millisecond), peak>>20, kinds)
			for _, p := range problems[:min(8, len(problems))] {
				t.Logf("%+v", p)
			}
		})
	}
}
