package repository

import (
	"fmt"
	"runtime"
	"time"

	"github.com/kenlayer/ken"
)

// Options tunes Index. The zero value is the default; a negative number is an
// error.
type Options struct {
	MaxFileBytes int64 // larger files are skipped; 0 means 1 MiB
	MaxChunk     int   // most characters (code points) of a chunk's text; 0 means 1,200, at least 200
	MinChunk     int   // shorter chunks join a neighbour where one fits; 0 means 60

	// Include, when not empty, admits only files that match one of these
	// patterns; Exclude skips what matches. Both are written as in .gitignore,
	// relative to the root, and neither brings back what is skipped otherwise.
	Include, Exclude []string

	// Standing, if not nil, says whether what a file holds still stands: the status of its
	// chunks, or "" for the usual one, which is observed. It is called from several
	// goroutines, must not keep content, and its answer must follow from its arguments.
	Standing func(path string, content []byte) ken.Status

	NoHistory  bool // leave git history out, and remove what was indexed of it
	MaxCommits int  // newest commits to keep; 0 means 2,000

	Workers  int              // files read at a time; 0 means one a processor, at most 8
	Progress func(Progress)   // called from one goroutine, in order; may be nil
	Now      func() time.Time // nil means time.Now
}

// Stage names a part of an Index run.
type Stage string

// The stages, in the order in which they run.
const (
	StageFiles   Stage = "files"
	StageCommits Stage = "commits"
)

// Progress says how far a run has come. Unchanged files count as done.
type Progress struct {
	Stage       Stage
	Done, Total int
}

const (
	defaultMaxFileBytes = 1 << 20
	defaultMaxChunk     = 1200
	defaultMinChunk     = 60
	defaultMaxCommits   = 2000
	smallestMaxChunk    = 200 // below this the repeated context would crowd out the text
)

func (o Options) withDefaults() (Options, error) {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"max_file_bytes", o.MaxFileBytes}, {"max_chunk", int64(o.MaxChunk)}, {"min_chunk", int64(o.MinChunk)},
		{"max_commits", int64(o.MaxCommits)}, {"workers", int64(o.Workers)},
	} {
		if f.n < 0 {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: f.name, Msg: "negative", Try: "Leave it out for the default."}
		}
	}
	o.MaxFileBytes = or(o.MaxFileBytes, defaultMaxFileBytes)
	o.MaxChunk = or(o.MaxChunk, defaultMaxChunk)
	o.MinChunk = min(or(o.MinChunk, defaultMinChunk), o.MaxChunk)
	o.MaxCommits = or(o.MaxCommits, defaultMaxCommits)
	o.Workers = or(o.Workers, min(runtime.GOMAXPROCS(0), 8))
	if o.MaxChunk < smallestMaxChunk {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "max_chunk", Msg: fmt.Sprintf("%d is too small", o.MaxChunk),
			Try: fmt.Sprintf("Give at least %d characters.", smallestMaxChunk)}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o, nil
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}
