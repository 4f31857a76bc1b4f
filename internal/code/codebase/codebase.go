package codebase

import (
	"cmp"
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/decision"
	"github.com/kenlayer/ken/internal/code/repository"
)

// FileName is what a graph is saved as, in the folder for state.
const FileName = "repository.graph"

// Options says which project it is. Root is needed.
type Options struct {
	Root  string // the project's folder
	State string // the folder for what is saved; empty means .ken/state in Root

	Generated bool     // keep what generated files declare
	Exclude   []string // patterns as in .gitignore, beside those of the project
	Folders   []string // of decisions, from the root; empty means decision.DefaultFolders

	// Progress is told how far reading has come, from one goroutine at a time; may be nil.
	Progress func(repository.Progress)
	Now      func() time.Time // nil means time.Now
}

// Codebase is the code of one project. It is safe for concurrent use: changes wait for
// each other, questions wait for nobody. Close it when done.
type Codebase struct {
	o         Options
	graph     atomic.Pointer[codegraph.Graph]
	decisions *decision.Registry

	changing sync.Mutex           // held by whoever changes the graph; guards the fields below
	readers  *readers             // of files; nil until it is known which there are
	read     signs                // of those that have read all files; zero when nobody has
	saved    uint64               // version of the graph as it lies on disk
	governed bool                 // whether the decisions have been told to the graph
	told     []codegraph.Decision // that were told last
	toldTo   *codegraph.Graph     // to this one

	asking sync.Mutex       // guards the field below
	asked  map[string]asked // what Update has looked at, by path
}

// Open opens the code of a project and reads its decisions. Errors: ken.ErrInvalid for
// a root that can't be.
func Open(ctx context.Context, o Options) (*Codebase, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, err
	}
	o.Root = root
	o.State = cmp.Or(o.State, filepath.Join(root, ".ken", "state"))
	if o.Now == nil {
		o.Now = time.Now
	}
	ds, err := decision.Open(ctx, root, decision.Options{Folders: o.Folders, Now: o.Now})
	if err != nil {
		return nil, err
	}
	c := &Codebase{o: o, decisions: ds}
	c.graph.Store(codegraph.New())
	return c, nil
}

// Root is the project's folder, absolute.
func (c *Codebase) Root() string { return c.o.Root }

// View is the graph as it is now.
func (c *Codebase) View() *codegraph.View { return c.graph.Load().View() }

// Decisions is the project's decisions. Whoever writes through it calls Govern
// afterwards, so that the graph hears of it.
func (c *Codebase) Decisions() *decision.Registry { return c.decisions }

// Close lets go of the files. What was not saved is read from the files again next time.
func (c *Codebase) Close() error { return c.decisions.Close() }
