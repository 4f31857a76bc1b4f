// Package evals tests what an agent remembers, beside the code of the program that
// it belongs to:
//
//	func TestMemory(t *testing.T) {
//		evals.Run(t, evals.Options{}, "testdata/memory.yaml")
//	}
//
// A file of cases says what is known, what is asked, and what must and must not come
// of it. Its language is described in docs/memory-tests.md; ken eval test runs the
// same files. What measures recall on whole data sets is ken eval sweep.
package evals

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/evals/cases"
)

// Options configures the store and the settings with which cases run. The zero value
// runs cases that bring all of their knowledge with them under given.
type Options struct {
	// Root is the project's folder. Where there is a base, the project's files are
	// searchable as the configuration says. "" is no project.
	Root string
	// Config is the configuration in force; nil is the default one.
	Config *config.Config
	// Embedder is used instead of the configured one.
	Embedder embed.Embedder
	// State and Export are the base: what is known before given is written. State is
	// the folder of a live store (knowledge.db_path), which is copied; Export is a file
	// as ken export writes it. At most one is set; none is an empty base.
	State, Export string
	// GivenAlone starts cases that have given, even an empty one, from nothing
	// instead of the base.
	GivenAlone bool
}

// Run runs every case of the files as a subtest of its name. A file that can't be
// read, or cases that can't be run, end the test.
func Run(t *testing.T, o Options, files ...string) {
	t.Helper()
	if len(files) == 0 {
		t.Fatal("no files of cases")
	}
	with := cases.Options{Root: o.Root, Config: o.Config, Embedder: o.Embedder, State: o.State, Export: o.Export, GivenAlone: o.GivenAlone}
	for _, path := range files {
		f, err := cases.Load(path)
		if err != nil {
			t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
		}
		err = cases.Run(t.Context(), f.Cases, with, func(r cases.Result) {
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
