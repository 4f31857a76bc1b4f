// Package casestest runs memory tests from a Go test, so that a program can test what
// its agent remembers next to its code:
//
//	func TestMemory(t *testing.T) {
//		casestest.Run(t, cases.Options{}, "testdata/memory.yaml")
//	}
//
// The language of the files is described in docs/memory-tests.md.
package casestest

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals/cases"
)

// Run runs every case of the files as a subtest with the case's name. It calls t.Fatal
// for a file that can't be read and for cases that can't be run.
func Run(t *testing.T, o cases.Options, files ...string) {
	t.Helper()
	if len(files) == 0 {
		t.Fatal("no files of cases")
	}
	for _, path := range files {
		f, err := cases.Load(path)
		if err != nil {
			t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
		}
		err = cases.Run(t.Context(), f.Cases, o, func(r cases.Result) {
			t.Run(r.Case.Name, func(t *testing.T) {
				t.Helper()
				for _, n := range r.Notes {
					t.Log(n)
				}
				if !r.OK() {
					t.Errorf("%s:%d\n%s", r.Case.File, r.Case.Line, r.Explain(""))
				}
			})
		})
		if err != nil {
			t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
		}
	}
}
