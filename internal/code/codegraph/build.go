package codegraph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/code/repository"
)

// Build brings the graph up to date with the folder root. It reads the files that have changed since they were last
// read and removes those that no longer exist. Files that can't be read are reported and count as removed, as in
// repository.Index.
//
// All changes become visible at once when Build returns. If ctx ends first, the graph does not change and the error is
// that of ctx. The graph can be used while Build runs. A file that Apply changes during a Build keeps what Apply set.
func (g *Graph) Build(ctx context.Context, root string, o Options) (Report, error) {
	return g.update(ctx, root, nil, o)
}

// Update is Build for some files or folders. Paths start at the root and have slashes; a folder includes everything
// below it. Files among them that no longer exist or are ignored now are removed from the graph. With no paths, Update
// does nothing.
func (g *Graph) Update(ctx context.Context, root string, paths []string, o Options) (Report, error) {
	if len(paths) == 0 {
		return Report{Counts: g.View().Counts()}, ctx.Err()
	}
	return g.update(ctx, root, paths, o)
}

// builder holds the state of one Build or Update.
type builder struct {
	g      *Graph
	v      *View // the graph when the run began
	o      Options
	tree   *repository.Tree
	report Report

	units     []*unit        // changed units
	unchanged map[int32]stat // units that were read or checked and have not changed
	failed    []string
}

func (g *Graph) update(ctx context.Context, root string, paths []string, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	start := o.Now()
	tree, err := repository.Files(ctx, root, repository.Options{MaxFileBytes: o.MaxFileBytes, Exclude: o.Exclude}, paths...)
	if err != nil {
		return Report{}, err
	}
	defer tree.Close() // it was only read
	g.mu.Lock()
	g.building++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.building--
		g.mu.Unlock()
	}()
	b := &builder{g: g, v: g.View(), o: o, tree: tree, unchanged: map[int32]stat{}}
	b.report.Skipped, b.report.Withheld = tree.Skipped, tree.Withheld
	if err := b.read(ctx); err != nil {
		return b.report, fmt.Errorf("read the repository: %w", err)
	}
	b.finish(b.missing(paths))
	v := g.View()
	b.report.Counts = v.Counts()
	b.report.Problems, b.report.ProblemsTotal = v.Problems(o.Problems)
	b.report.Duration = o.Now().Sub(start)
	return b.report, nil
}

// task is a file to read.
type task struct {
	file repository.File
	old  int32 // number of the file's present unit; -1 for a new file
}

// readWindow is the number of files that are read between two calls of Progress.
const readWindow = 128

func (b *builder) read(ctx context.Context) error {
	var tasks []task
	for _, f := range b.tree.Files {
		if f.Skip != "" && b.o.extractor(f.Path) == nil {
			continue
		}
		b.report.Files++
		old := b.v.fileUnit(f.Path)
		if old >= 0 && b.isCurrent(b.v.unit(old), f) {
			b.report.Unchanged++
			continue
		}
		tasks = append(tasks, task{f, old})
	}
	p := repository.Progress{Stage: StageGraph, Done: b.report.Unchanged, Total: b.report.Files}
	b.o.Progress(p)
	for window := range slices.Chunk(tasks, readWindow) {
		read, err := b.readAll(ctx, window)
		if err != nil {
			return err
		}
		for i, r := range read {
			b.take(window[i], r)
		}
		p.Done += len(window)
		b.o.Progress(p)
	}
	return ctx.Err()
}

// clockGranularity is the coarsest resolution of file times. A file that was written less than this before it was read
// may have changed since without a new time. Package repository has the same constant.
const clockGranularity = 2 * time.Second

// isCurrent reports whether a unit is up to date: size and time of its file are unchanged, and the file would be read
// in the same way (whole, or only its imports).
func (b *builder) isCurrent(u *unit, f repository.File) bool {
	if b.o.extractor(f.Path) == nil {
		return u.stat == stat{}
	}
	return !b.o.reread(f.Path) && u.has(headOnly) == b.headOnly(f, u) && u.stat.size == f.Size && u.stat.modTime == f.ModTime.UnixNano() && u.stat.modTime+int64(clockGranularity) < u.stat.readAt
}

// headOnly reports whether only the imports of a file are kept. u is the file's present unit, or nil.
func (b *builder) headOnly(f repository.File, u *unit) bool {
	large := f.Skip == repository.ReasonTooLarge || f.Size > unreadBytes
	made := f.Skip == repository.ReasonGenerated || u != nil && u.has(generated)
	return large || made && !b.o.Generated
}

// readAll reads the files of tasks in parallel.
func (b *builder) readAll(ctx context.Context, tasks []task) ([]extracted, error) {
	out := make([]extracted, len(tasks))
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range b.o.Workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := caught.Run(func() error { out[i] = b.extract(tasks[i]); return nil }); err != nil {
					slog.Default().ErrorContext(ctx, "a file can't be read and is left out", "file", tasks[i].file.Path, "cause", err, "stack", caught.Stack(err))
					out[i] = extracted{failed: true}
				}
			}
		})
	}
	return out, group.Wait()
}

func (b *builder) take(t task, r extracted) {
	switch {
	case r.failed:
		b.report.Files--
		b.report.Skipped[repository.ReasonUnreadable]++
		b.failed = append(b.failed, t.file.Path)
		return
	case r.unit == nil:
		b.report.Unchanged++
		b.unchanged[t.old] = r.stat
		return
	}
	b.report.Changed++
	if r.unit.has(headOnly) {
		b.report.HeadOnly = append(b.report.HeadOnly, t.file.Path)
	}
	b.units = append(b.units, r.unit)
}

// missing lists the files below paths that the graph has and that the tree does not, and the unreadable ones.
func (b *builder) missing(paths []string) []string {
	there := make(map[string]bool, len(b.tree.Files))
	for _, f := range b.tree.Files {
		there[f.Path] = f.Skip == "" || b.o.extractor(f.Path) != nil
	}
	out := b.failed
	for _, u := range b.v.files {
		if p := b.v.text(u.path); !there[p] && selected(p, paths) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selected reports whether p is one of paths or below one of them. With no paths, everything is selected.
func selected(p string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(of string) bool {
		of = strings.TrimSuffix(of, "/")
		rest, ok := strings.CutPrefix(p, of)
		return of == "." || ok && (rest == "" || rest[0] == '/')
	})
}

// finish applies what was read to the graph. It leaves out files that another call has changed since the run began.
func (b *builder) finish(gone []string) {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	now := b.g.View()
	hash := func(v *View, path string) string {
		if v.fileUnit(path) < 0 {
			return "none"
		}
		return v.Hash(path)
	}
	overtaken := func(path string) bool { return now.version != b.v.version && hash(now, path) != hash(b.v, path) }
	b.units = slices.DeleteFunc(b.units, func(u *unit) bool { return overtaken(b.g.names.strs[u.path]) })
	gone = slices.DeleteFunc(gone, overtaken)
	b.report.Removed, b.report.Others = b.g.replace(b.units, gone)
	b.g.updateStats(b.v, b.unchanged)
}

// updateStats stores the new stat of units whose content was read and is unchanged.
func (g *Graph) updateStats(then *View, seen map[int32]stat) {
	if len(seen) == 0 {
		return
	}
	v := *g.View()
	units := edit(&v.units)
	for i, s := range seen {
		if u := v.unit(i); u != nil && u.decision == nil && u.path == then.unit(i).path && u.hash == then.unit(i).hash {
			c := *u
			c.stat = s
			*units.set(i) = &c
		}
	}
	g.view.Store(&v)
}

// extracted is the result of reading one file.
type extracted struct {
	unit   *unit // nil when the content is unchanged
	stat   stat
	failed bool // it could not be read
}

// extract reads a file and runs its extractor.
func (b *builder) extract(t task) extracted {
	f := File{Path: t.file.Path}
	extractor := b.o.extractor(f.Path)
	if extractor == nil {
		return b.makeUnit(f, stat{}, false)
	}
	s := stat{t.file.Size, t.file.ModTime.UnixNano(), b.o.Now().UnixNano()}
	if t.file.Size > unreadBytes {
		f.Problems = []Problem{{Text: fmt.Sprintf("is too large to be read: %d MB", t.file.Size>>20)}}
		return b.makeUnit(f, s, true)
	}
	limit, head := b.o.MaxFileBytes, b.headOnly(t.file, nil)
	if head {
		limit = headBytes
	}
	c, err := b.tree.Read(f.Path, limit)
	if err != nil {
		return extracted{failed: true}
	}
	s.size, s.modTime = c.Size, c.ModTime.UnixNano()
	if t.old >= 0 {
		if u := b.v.unit(t.old); u.hash == c.Hash && !b.o.reread(f.Path) && u.has(headOnly) == b.headOnly(t.file, u) && u.stat != (stat{}) {
			return extracted{stat: s}
		}
	}
	head = head || c.Size > int64(len(c.Bytes)) // the file has grown since the tree was listed
	src, problem := text(c.Bytes)
	if head {
		src = wholeLines(src)
	}
	if problem != "" {
		f.Problems = []Problem{{Text: problem}}
	} else {
		f = recoverExtractor(extractor, f.Path, src)
	}
	f.Hash = c.Hash
	f.Generated = f.Generated || t.file.Skip == repository.ReasonGenerated
	if head {
		f.Problems = nil // the cut at the limit may have caused them
	}
	return b.makeUnit(f, s, head || f.Generated && !b.o.Generated)
}

// makeUnit makes the unit of a file. With head it keeps only the imports. It holds g.mu only for this step.
func (b *builder) makeUnit(f File, s stat, head bool) extracted {
	if head {
		f.Decls, f.Uses = nil, nil
	}
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	u := b.g.compact(&f)
	u.stat = s
	if head {
		u.flags |= headOnly
	}
	return extracted{unit: u}
}

// recoverExtractor runs an extractor and turns a panic into a Problem: a faulty extractor must not end a server.
func recoverExtractor(e Extractor, path string, src []byte) (f File) {
	defer func() {
		if r := recover(); r != nil {
			f = File{Path: path, Problems: []Problem{{Text: Clip(fmt.Sprint("the extractor failed: ", r))}}}
		}
	}()
	f = e(path, src)
	f.Path = path
	return f
}

// text converts a file's content to UTF-8. problem says why the content is not text; it is empty otherwise.
func text(b []byte) (src []byte, problem string) {
	src, wide := Decode(b)
	if !wide && bytes.IndexByte(src, 0) >= 0 {
		return nil, "is no text: it has bytes of value zero"
	}
	if !utf8.Valid(src) {
		src = bytes.ToValidUTF8(src, []byte("\ufffd"))
	}
	return src, ""
}

// Decode converts a text that begins with the mark of UTF-16 to UTF-8, and removes the mark of UTF-8. wide reports whether
// it was UTF-16.
func Decode(b []byte) (src []byte, wide bool) {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if rest, ok := bytes.CutPrefix(b, []byte(mark)); ok {
			units := make([]uint16, len(rest)/2)
			for i := range units {
				units[i] = order.Uint16(rest[2*i:])
			}
			return []byte(string(utf16.Decode(units))), true
		}
	}
	return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), false
}

// wholeLines drops the last line of a text when the text may have been cut within it.
func wholeLines(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 && len(b) > headBytes/2 {
		return b[:i+1]
	}
	return b
}

// Options configures Build and Update. The zero value has no extractors, so all files become plain nodes. A negative
// number is an error.
type Options struct {
	// Extractors read files, by lower-case extension with its dot: ".go". A file with another extension becomes a node
	// without declarations.
	Extractors map[string]Extractor

	MaxFileBytes int64 // of a larger file only the imports are kept; 0 means 1 MiB
	Generated    bool  // keep the declarations of generated files, too; otherwise only their imports

	// Reread, if not nil, selects unchanged files that are read again because the names in them have a new meaning: for
	// example, their module's path has changed.
	Reread func(path string) bool

	// Exclude is the same as in repository.Options.
	Exclude []string

	Workers  int                       // files read at the same time; 0 means one per processor, at most 8
	Problems int                       // maximum number of problems in the report; 0 means 100
	Progress func(repository.Progress) // called from one goroutine, in order; may be nil
	Now      func() time.Time          // nil means time.Now
}

// StageGraph is the stage that Progress reports while files are read for the graph.
const StageGraph repository.Stage = "graph"

const (
	defaultFileBytes = 1 << 20
	defaultProblems  = 100
	headBytes        = 64 << 10 // bytes read of a file of which only the imports are kept; imports are at the top
	unreadBytes      = 64 << 20 // a larger file becomes a node and is not read
)

func (o Options) withDefaults() (Options, error) {
	for name, n := range map[string]int64{"max_file_bytes": o.MaxFileBytes, "workers": int64(o.Workers), "problems": int64(o.Problems)} {
		if n < 0 {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "negative", Try: "Leave it out for the default."}
		}
	}
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, defaultFileBytes)
	o.Workers = cmp.Or(o.Workers, min(runtime.GOMAXPROCS(0), 8))
	o.Problems = cmp.Or(o.Problems, defaultProblems)
	if o.Progress == nil {
		o.Progress = func(repository.Progress) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func (o *Options) reread(path string) bool { return o.Reread != nil && o.Reread(path) }

// extractor returns the extractor for a path, or nil.
func (o *Options) extractor(path string) Extractor {
	return o.Extractors[strings.ToLower(filepath.Ext(path))]
}

// Report is the result of Build or Update.
type Report struct {
	Files     int `json:"files"`     // files examined
	Changed   int `json:"changed"`   // files that are new or have new content
	Unchanged int `json:"unchanged"` // files unchanged by size and time, or by hash
	Removed   int `json:"removed"`   // files that no longer exist
	Others    int `json:"others"`    // other files and decisions that were resolved again because of these changes

	// HeadOnly lists the paths of changed files of which only the imports are kept: generated files and files over the
	// size limit.
	HeadOnly []string `json:"head_only,omitempty"`
	// Skipped and Withheld are the same as in repository.Tree.
	Skipped  map[repository.Reason]int `json:"skipped,omitempty"`
	Withheld []repository.Withheld     `json:"withheld,omitempty"`

	// Problems are the first problems in the whole graph, by path and line. ProblemsTotal counts all.
	Problems      []FileProblem `json:"problems,omitempty"`
	ProblemsTotal int           `json:"problems_total,omitempty"`

	Counts   Counts        `json:"counts"` // counts of the graph after the run
	Duration time.Duration `json:"duration"`
}

// FileProblem is a place in a file that could not be read.
type FileProblem struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 0 for the whole file
	Text string `json:"text"`
}

func compareProblems(a, b FileProblem) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
}
