package repository

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const (
	readWindow  = 64  // files read before their chunks are passed on
	flushChunks = 256 // chunks in one call of the sink, or slightly more
	flushPaths  = 512 // documents or paths in one call of the sink
)

// Index brings sink up to date with the folder root. It reads changed files and new commits, and removes what no longer
// exists. Files that can't be read and folders that can't be listed are reported, not returned as errors, and count as
// deleted. If git is missing or fails, the commits in the sink stay as they are.
//
// If ctx ends or the sink fails, the report covers the work until then. The sink holds complete documents, and the next
// run finishes the work. The same tree gives the same chunks in the same order, with any number of workers.
func Index(ctx context.Context, root string, sink Sink, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	start := o.Now()
	x, err := newIndexer(root, sink, o)
	if err != nil {
		return Report{}, err
	}
	defer x.root.Close() // it was only read
	err = x.run(ctx)
	slices.SortFunc(x.report.Withheld, func(a, b Withheld) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line)
	})
	x.report.Duration = o.Now().Sub(start)
	return x.report, err
}

type indexer struct {
	root   *os.Root
	dir    string // absolute path of root with links resolved
	tree   workTree
	sink   Sink
	o      Options
	lim    limits
	cut    string // Known.Cut of all documents that this run writes
	known  map[string]Known
	dates  fileDates
	report Report

	docs    []Document
	chunks  int // number of chunks in docs
	touched map[string]Known
	removed []string
}

func newIndexer(root string, sink Sink, o Options) (*indexer, error) {
	dir, r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	cut := fmt.Sprintf("%s/%d/%d", chunkerVersion, o.MaxChunk, o.MinChunk)
	if o.Standing != nil {
		cut += "/standing"
	}
	return &indexer{root: r, dir: dir, tree: findWorkTree(dir), sink: sink, o: o,
		lim: newLimits(o.MaxChunk, o.MinChunk), cut: cut, touched: map[string]Known{}}, nil
}

func (x *indexer) run(ctx context.Context) error {
	var err error
	if x.known, err = x.sink.DocumentHashes(ctx); err != nil {
		return fmt.Errorf("list the indexed documents: %w", err)
	}
	w := newWalker(ctx, x.root, x.tree.prefix, x.o)
	if err := w.walk(".", x.tree.ignoreStack()); err != nil {
		return fmt.Errorf("walk the repository: %w", err)
	}
	x.report.Skipped, x.report.Withheld = w.skipped, w.withheld
	slices.SortFunc(w.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	if err := x.removeMissing(ctx, w.files); err != nil {
		return err
	}
	if err := x.files(ctx, w.files); err != nil {
		return err
	}
	if err := x.history(ctx); err != nil {
		return err
	}
	return x.flush(ctx)
}

// removeMissing immediately removes what the walk no longer found: it may have become a secret.
func (x *indexer) removeMissing(ctx context.Context, files []file) error {
	found := make(map[string]bool, len(files))
	for _, f := range files {
		found[f.path] = true
	}
	for _, p := range slices.Sorted(maps.Keys(x.known)) {
		if !found[p] && !strings.HasPrefix(p, commitPrefix) {
			x.remove(p)
		}
	}
	return x.flush(ctx)
}

func (x *indexer) files(ctx context.Context, files []file) error {
	var changed []file
	for _, f := range files {
		if k, ok := x.known[f.path]; ok && isCurrent(k, f, x.cut) {
			x.count(Document{Path: f.path, Known: k}, false)
			continue
		}
		changed = append(changed, f)
	}
	x.dates = x.datesOf(ctx, changed)
	p := Progress{Stage: StageFiles, Done: len(files) - len(changed), Total: len(files)}
	x.o.Progress(p)
	for window := range slices.Chunk(changed, readWindow) {
		readings, err := x.readAll(ctx, window)
		if err != nil {
			return fmt.Errorf("read the repository: %w", err)
		}
		for i, r := range readings {
			if err := x.addReading(ctx, window[i].path, r); err != nil {
				return err
			}
		}
		p.Done += len(window)
		x.o.Progress(p)
	}
	return x.flush(ctx)
}

func (x *indexer) addReading(ctx context.Context, path string, r reading) error {
	switch {
	case r.failed != "":
		x.report.Skipped[r.failed]++
		if _, ok := x.known[path]; ok {
			x.remove(path)
		}
	case r.unchanged:
		x.touched[path] = r.doc.Known
		x.count(r.doc, false)
	default:
		if k, ok := x.known[path]; ok && k.Skip == "" && r.doc.Skip != "" {
			x.report.Removed++
		}
		x.put(r.doc)
		x.count(r.doc, true)
	}
	return x.flushFull(ctx)
}

// count adds a file to the report.
func (x *indexer) count(d Document, changed bool) {
	x.withheld(d.Path, d.Known)
	switch {
	case d.Skip != "":
		x.report.Skipped[Reason(d.Skip)]++
		return
	case changed:
		x.report.Changed++
	default:
		x.report.Unchanged++
	}
	x.report.Files++
}

// withheld adds the passages withheld from a document to the report.
func (x *indexer) withheld(path string, k Known) {
	for _, w := range k.Withheld {
		w.Path = path
		x.report.Withheld = append(x.report.Withheld, w)
	}
}

func (x *indexer) put(d Document) {
	x.docs = append(x.docs, d)
	x.chunks += len(d.Chunks)
	x.report.Chunks += len(d.Chunks)
}

func (x *indexer) remove(path string) {
	x.removed = append(x.removed, path)
	switch {
	case strings.HasPrefix(path, commitPrefix):
		x.report.CommitsRemoved++
	case x.known[path].Skip == "":
		x.report.Removed++
	}
}

func (x *indexer) flushFull(ctx context.Context) error {
	if x.chunks < flushChunks && len(x.docs)+len(x.touched)+len(x.removed) < flushPaths {
		return nil
	}
	return x.flush(ctx)
}

// flush passes the collected changes to the sink. Removals come first, so that text that must not be shown does not
// wait for other work.
func (x *indexer) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(x.removed) > 0 {
		if err := x.sink.RemoveDocuments(ctx, x.removed); err != nil {
			return fmt.Errorf("remove documents: %w", err)
		}
		x.removed = nil
	}
	if len(x.docs) > 0 {
		if err := x.sink.PutDocuments(ctx, x.docs); err != nil {
			return fmt.Errorf("put documents: %w", err)
		}
		x.docs, x.chunks = nil, 0
	}
	if len(x.touched) > 0 {
		if err := x.sink.TouchDocuments(ctx, x.touched); err != nil {
			return fmt.Errorf("touch documents: %w", err)
		}
		x.touched = map[string]Known{}
	}
	return nil
}

// Options configures Index. The zero value is the default. A negative number is an error.
type Options struct {
	MaxFileBytes int64 // larger files are skipped; 0 means 1 MiB
	MaxChunk     int   // maximum characters (code points) of a chunk's text; a declaration may have eight times as many; 0 means 1,200, at least 200
	MinChunk     int   // shorter chunks are joined with a neighbour if possible; 0 means 60

	// Exclude skips files that match one of these patterns, in the notation of .gitignore, relative to the root.
	Exclude []string

	// Standing, if not nil, returns the status of a file's chunks, depending on whether the content is still valid; ""
	// means the default, observed. It is called from several goroutines, must not keep content, and must depend on its
	// arguments only.
	Standing func(path string, content []byte) ken.Status

	// Declarations, if not nil, returns the declarations of a code file, or nil if it can't read the file. It is not
	// called for Go and Markdown. It is called from several goroutines, and must depend on its arguments only.
	Declarations func(path string, content []byte) []Declaration

	NoHistory  bool // leave git history out, and remove indexed commits
	MaxCommits int  // newest commits to keep; 0 means 2,000

	Workers  int              // files read at the same time; 0 means one per processor, at most 8
	Progress func(Progress)   // called from one goroutine, in order; may be nil
	Now      func() time.Time // nil means time.Now
}

// Stage names a part of a run of Index.
type Stage string

// The stages, in the order in which they run.
const (
	StageFiles   Stage = "files"
	StageCommits Stage = "commits"
)

// Progress reports the progress of a run. Unchanged files count as done.
type Progress struct {
	Stage       Stage
	Done, Total int
}

const (
	defaultMaxFileBytes = 1 << 20
	defaultMaxChunk     = 1200
	defaultMinChunk     = 60
	defaultMaxCommits   = 2000
	smallestMaxChunk    = 200 // with a smaller size, repeated context would leave no room for text
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
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, defaultMaxFileBytes)
	o.MaxChunk = cmp.Or(o.MaxChunk, defaultMaxChunk)
	o.MinChunk = min(cmp.Or(o.MinChunk, defaultMinChunk), o.MaxChunk)
	o.MaxCommits = cmp.Or(o.MaxCommits, defaultMaxCommits)
	o.Workers = cmp.Or(o.Workers, min(runtime.GOMAXPROCS(0), 8))
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

// Reason is the reason why a file, or a folder with everything in it, is not indexed.
type Reason string

// The reasons.
const (
	ReasonBinary     Reason = "binary"
	ReasonData       Reason = "data" // minified, or rows of data rather than text
	ReasonExcluded   Reason = "excluded"
	ReasonGenerated  Reason = "generated" // by a tool; includes lock files and build output
	ReasonIgnored    Reason = "ignored"
	ReasonIrregular  Reason = "irregular" // a socket, a pipe, a device
	ReasonNested     Reason = "nested"    // a submodule or another work tree
	ReasonNotUTF8    Reason = "not UTF-8"
	ReasonSecret     Reason = "secret"
	ReasonSymlink    Reason = "symlink"
	ReasonTooLarge   Reason = "too large"
	ReasonUnreadable Reason = "unreadable"
	ReasonVendored   Reason = "vendored"
)

// Withheld is a passage or a whole file that was kept out because it looks like a secret.
type Withheld = store.Withheld

// Report is the result of a run.
type Report struct {
	Files     int `json:"files"` // indexed: the sum of Changed and Unchanged
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"` // files that were indexed before and are not any more
	Chunks    int `json:"chunks"`  // written by this run, for files and commits

	// Skipped counts by reason. A skipped folder counts once.
	Skipped map[Reason]int `json:"skipped,omitempty"`
	// Withheld lists everything that looks like a secret, by path and line.
	Withheld []Withheld `json:"withheld,omitempty"`

	Commits        int    `json:"commits"`     // reachable and within the limit
	CommitsNew     int    `json:"commits_new"` // written by this run
	CommitsRemoved int    `json:"commits_removed"`
	History        string `json:"history,omitempty"` // why there is no git history; empty if there is

	Duration time.Duration `json:"duration"`
}
