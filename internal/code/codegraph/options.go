package codegraph

import (
	"runtime"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/repository"
)

// Options tunes Build and Update. The zero value knows no language; a negative number is
// an error.
type Options struct {
	// Extractors read files, by extension in lower case with its dot: ".go". A file whose
	// extension is not among them is a node and nothing else.
	Extractors map[string]Extractor

	MaxFileBytes int64 // of a larger file only the imports are kept; 0 means 1 MiB
	Generated    bool  // keep what generated files declare, too, and not their imports alone

	// Reread, if not nil, picks files that are read again although they have not changed,
	// because what names in them stand for has: a module has another path by now.
	Reread func(path string) bool

	// Include and Exclude are as in repository.Options.
	Include, Exclude []string

	Workers  int                       // files read at a time; 0 means one a processor, at most 8
	Problems int                       // most problems in the report; 0 means 100
	Progress func(repository.Progress) // called from one goroutine, in order; may be nil
	Now      func() time.Time          // nil means time.Now
}

// StageGraph is what Progress calls reading files for the graph.
const StageGraph repository.Stage = "graph"

const (
	defaultFileBytes = 1 << 20
	defaultProblems  = 100
	headBytes        = 64 << 10 // of a file of which only the imports count: they come first
	unreadBytes      = 64 << 20 // a larger file is a node and is not read
)

func (o Options) withDefaults() (Options, error) {
	for name, n := range map[string]int64{"max_file_bytes": o.MaxFileBytes, "workers": int64(o.Workers), "problems": int64(o.Problems)} {
		if n < 0 {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "negative", Try: "Leave it out for the default."}
		}
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = defaultFileBytes
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	if o.Problems == 0 {
		o.Problems = defaultProblems
	}
	if o.Progress == nil {
		o.Progress = func(repository.Progress) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func (o *Options) reread(path string) bool { return o.Reread != nil && o.Reread(path) }

// extractor returns the one for a path, and nil when there is none.
func (o *Options) extractor(path string) Extractor {
	b := base(path)
	if i := strings.LastIndexByte(b, '.'); i >= 0 {
		return o.Extractors[strings.ToLower(b[i:])]
	}
	return nil
}
