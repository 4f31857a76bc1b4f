package typed

import (
	"fmt"
	"runtime"

	"github.com/kenlayer/ken"
)

// Source is how refinements made here are marked.
const Source = "types"

// Options tunes Check. The zero value checks everything.
type Options struct {
	// Packages, when not empty, are those to say something of, by import path; with
	// each come its tests. What the others declare is read all the same, because only
	// then it is known what implements what.
	Packages []string

	Workers int // packages checked at a time; 0 means one a processor; negative is an error
}

func (o Options) withDefaults() (Options, error) {
	if o.Workers < 0 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "workers", Msg: fmt.Sprintf("%d is negative", o.Workers), Try: "Leave it out for one a processor."}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}

// Report says what a run looked at.
type Report struct {
	Modules  int `json:"modules"`
	Packages int `json:"packages"` // of which something is said; a package's tests in its name are part of it
	Files    int `json:"files"`
	Lines    int `json:"lines"`
	Edges    int `json:"edges"`

	// Broken counts the packages among them with errors; what could be made out of
	// them counts all the same.
	Broken int `json:"broken"`

	// Problems are the first errors of each package that has any, in order of package
	// and place.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something that stood in the way.
type Problem struct {
	Package string `json:"package,omitempty"` // import path; empty for the whole module
	Path    string `json:"path,omitempty"`    // from the root
	Line    int    `json:"line,omitempty"`
	Text    string `json:"text"`
}

const problemsEach = 5 // of one package
