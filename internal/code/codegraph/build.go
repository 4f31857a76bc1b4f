package codegraph

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/code/repository"
)

// Build brings the graph up to date with the folder root: it reads the files that have
// changed since they were last read, and takes out those that are gone. Files that can't
// be read are reported and count as gone, as in repository.Index. The graph changes at once at
// the end, and not at all when ctx ends before: the error is then that of ctx. It can be used meanwhile; what
// Apply is told of a file during a Build stands.
func (g *Graph) Build(ctx context.Context, root string, o Options) (Report, error) {
	return g.bring(ctx, root, nil, o)
}

// Update is Build for some files, or folders with what is in them, by paths from the root with
// slashes. Of them, those that are gone, or are ignored by now, are taken out of the
// graph; no paths are no work.
func (g *Graph) Update(ctx context.Context, root string, paths []string, o Options) (Report, error) {
	if len(paths) == 0 {
		return Report{Counts: g.View().Counts()}, ctx.Err()
	}
	return g.bring(ctx, root, paths, o)
}

// builder is one run.
type builder struct {
	g      *Graph
	v      *View // what was known at its beginning
	o      Options
	tree   *repository.Tree
	report Report

	units  []*unit        // that have changed
	seen   map[int32]stat // units that have not, although they were read
	failed []string
}

func (g *Graph) bring(ctx context.Context, root string, paths []string, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	start := o.Now()
	tree, err := repository.Files(ctx, root, repository.Options{MaxFileBytes: o.MaxFileBytes, Include: o.Include, Exclude: o.Exclude}, paths...)
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
	b := &builder{g: g, v: g.View(), o: o, tree: tree, seen: map[int32]stat{}}
	b.report.Skipped, b.report.Withheld = tree.Skipped, tree.Withheld
	if err := b.read(ctx); err != nil {
		return b.report, fmt.Errorf("read the repository: %w", err)
	}
	b.finish(b.gone(paths))
	v := g.View()
	b.report.Counts = v.Counts()
	b.report.Problems, b.report.ProblemsTotal = v.Problems(o.Problems)
	b.report.Duration = o.Now().Sub(start)
	return b.report, nil
}

// task is a file that has to be read.
type task struct {
	file repository.File
	old  int32 // its unit, -1 for none
}

// readWindow is how many files are read before progress is told.
const readWindow = 128

func (b *builder) read(ctx context.Context) error {
	var tasks []task
	for _, f := range b.tree.Files {
		if f.Skip != "" && b.o.extractor(f.Path) == nil {
			continue
		}
		b.report.Files++
		old := b.v.fileUnit(f.Path)
		if old >= 0 && b.current(b.v.unit(old), f) {
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

// clockGranularity is as in package repository: how far apart two writes must be for
// the time to tell.
const clockGranularity = 2 * time.Second

// current reports whether a unit need not be read again: nothing says that the file has
// changed, and it is read as it was then.
func (b *builder) current(u *unit, f repository.File) bool {
	if b.o.extractor(f.Path) == nil {
		return u.stat == stat{}
	}
	return !b.o.reread(f.Path) && u.has(headOnly) == b.headOnly(f, u) && u.stat.size == f.Size && u.stat.modTime == f.ModTime.UnixNano() && u.stat.modTime+int64(clockGranularity) < u.stat.readAt
}

// headOnly reports whether only the imports of a file count; u is what was known of it, if
// anything.
func (b *builder) headOnly(f repository.File, u *unit) bool {
	large := f.Skip == repository.ReasonTooLarge || f.Size > unreadBytes
	made := f.Skip == repository.ReasonGenerated || u != nil && u.has(generated)
	return large || made && !b.o.Generated
}

// readAll reads files in parallel.
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
		b.seen[t.old] = r.stat
		return
	}
	b.report.Changed++
	if r.unit.has(headOnly) {
		b.report.HeadOnly = append(b.report.HeadOnly, t.file.Path)
	}
	b.units = append(b.units, r.unit)
}

// gone lists what was known of the paths and was not found.
func (b *builder) gone(paths []string) []string {
	there := make(map[string]bool, len(b.tree.Files))
	for _, f := range b.tree.Files {
		there[f.Path] = f.Skip == "" || b.o.extractor(f.Path) != nil
	}
	out := b.failed
	for i := range b.v.units.n {
		if u := b.v.unit(i); u != nil && u.decision == nil {
			if p := b.v.text(u.path); !there[p] && asked(p, paths) {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// asked reports whether a path is among others or below one of them; no others are all.
func asked(p string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(of string) bool {
		of = strings.TrimSuffix(of, "/")
		rest, ok := strings.CutPrefix(p, of)
		return of == "." || ok && (rest == "" || rest[0] == '/')
	})
}

// finish puts what was read into the graph, except where somebody else did meanwhile.
func (b *builder) finish(gone []string) {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	now := b.g.View()
	hash := func(v *View, path string) string {
		if i := v.fileUnit(path); i >= 0 {
			return v.unit(i).hash
		}
		return "none"
	}
	overtaken := func(path string) bool { return now.version != b.v.version && hash(now, path) != hash(b.v, path) }
	b.units = slices.DeleteFunc(b.units, func(u *unit) bool { return overtaken(b.g.names.strs[u.path]) })
	gone = slices.DeleteFunc(gone, overtaken)
	b.report.Removed, b.report.Others = b.g.replace(b.units, gone)
	b.g.touch(b.v, b.seen)
}

// touch notes when units were seen to be what they are.
func (g *Graph) touch(then *View, seen map[int32]stat) {
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
