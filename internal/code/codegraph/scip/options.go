package scip

import (
	"time"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// Source is how refinements made here are marked.
const Source = "scip"

// Options tunes Read. The zero value is good for an index made in the root.
type Options struct {
	// File returns what the graph knows of a file, by its path from the root, so that
	// symbols become the nodes that are there. It counts when it has the hash of the
	// file as it is now, or none. nil, and false, leave it to the index.
	File func(path string) (codegraph.File, bool)

	// Folder is where in the tree the paths of the index start, with slashes; "" stands
	// for the folder that the index names, where it is in the tree, and else the root.
	Folder string

	// Made is when the index was made: files modified after it are left out. The zero
	// time stands for when the file that is read was modified, and for no such check
	// where r is not a file. Give the time of now to switch the check off.
	Made time.Time
}

// Report says what an index had and what became of it.
type Report struct {
	Tool      string `json:"tool"`      // the indexer, with its version
	Documents int    `json:"documents"` // in the index
	Files     int    `json:"files"`     // that still are what was indexed

	// Missing documents have no file that can be read; Stale ones have one with
	// another content.
	Missing int `json:"missing"`
	Stale   int `json:"stale"`

	Symbols int `json:"symbols"` // defined in Files, with a node
	Placed  int `json:"placed"`  // of them, those that are a node of the graph's
	Edges   int `json:"edges"`

	// Left are the first documents that were left out, with the reason.
	Left []Left `json:"left,omitempty"`
}

// Left is a document that was left out.
type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

const maxLeft = 50
