package codebase

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/codegraph/scip"
	"github.com/kenlayer/ken/internal/code/codegraph/typed"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/trust"
)

// fileMagic begins a saved file. The readers' signature and the graph follow.
const fileMagic = "ken codebase 1\n"

// Load loads the graph that was saved last, without reading the project's files. If the file does not exist or can't be
// used, the graph stays as it is, and Build reads everything. The error is nil if the file does not exist.
func (c *Codebase) Load(ctx context.Context) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	f, err := os.Open(filepath.Join(c.o.State, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load the graph: %w", err)
	}
	defer f.Close() // nothing was written
	in := bufio.NewReaderSize(&cancellableReader{ctx, f}, 256<<10)
	head := make([]byte, len(fileMagic))
	var s readerSignature
	for _, part := range [][]byte{head, s.golang[:], s.lexed[:]} {
		if _, err := io.ReadFull(in, part); err != nil {
			return fmt.Errorf("load the graph: %w", cmp.Or(ctx.Err(), error(errUnusable())))
		}
	}
	if string(head) != fileMagic {
		return fmt.Errorf("load the graph: %w", errUnusable())
	}
	g, err := codegraph.Load(in)
	if fault := new(ken.Error); errors.As(err, &fault) {
		unusable := errUnusable()
		unusable.Msg = fault.Msg
		err = unusable
	}
	if err != nil {
		return fmt.Errorf("load the graph: %w", cmp.Or(ctx.Err(), err))
	}
	c.graph.Store(g)
	c.read, c.saved, c.applied = s, g.View().Version(), false
	return nil
}

func errUnusable() *ken.Error {
	return &ken.Error{Code: ken.CodeCorrupt, Field: FileName, Msg: "was not saved by this version", Try: "It is built again; nothing is lost."}
}

// cancellableReader is a reader that fails once ctx has ended.
type cancellableReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellableReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// Save stores the graph for the next process, unless it is stored already. If several processes save at the same time,
// the file is that of one of them, and is complete.
func (c *Codebase) Save() error {
	c.changing.Lock()
	view, s, saved := c.View(), c.read, c.saved
	c.changing.Unlock()
	if view.Version() == saved || s == (readerSignature{}) {
		return nil
	}
	if err := c.write(view, s); err != nil {
		return fmt.Errorf("save the graph: %w", err)
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.saved = view.Version()
	return nil
}

func (c *Codebase) write(view *codegraph.View, s readerSignature) error {
	if err := trust.Mark(c.o.Root, c.o.State); err != nil && !errors.Is(err, ken.ErrUnavailable) {
		return err
	}
	return durable.Replace(filepath.Join(c.o.State, FileName), 0o600, func(w io.Writer) error {
		if _, err := w.Write(slices.Concat([]byte(fileMagic), s.golang[:], s.lexed[:])); err != nil {
			return err
		}
		return view.Save(w)
	})
}

// clockGranularity is the minimum time between two writes that modification times can distinguish.
const clockGranularity = 2 * time.Second

// maxExamined is the maximum number of files whose state is kept for Update.
const maxExamined = 4096

// fileState is the state of a file when Update last examined it.
type fileState struct {
	size    int64 // -1 for a folder
	modTime time.Time
	at      time.Time
}

// Stale returns those of the given files and folders that differ from the graph: they were changed, created or deleted.
// Paths start at the root and have slashes. Stale reads no file, follows no link and stays within the root. It ignores
// what is neither a file nor a folder. It takes a few microseconds per path.
func (c *Codebase) Stale(paths ...string) (out []string) {
	if len(paths) == 0 {
		return nil
	}
	root, err := os.OpenRoot(c.o.Root)
	if err != nil {
		return nil
	}
	defer root.Close() // it was only examined
	v := c.View()
	for _, p := range paths {
		now, ok := statPath(root, p)
		switch {
		case !ok:
		case now == nil:
			if v.Holds(p) {
				out = append(out, p)
			}
		case c.alreadyExamined(p, now):
		case now.size < 0:
			out = append(out, p)
		default:
			s, ok := v.Stamp(p)
			if !ok || s.Size != now.size || !s.ModTime.Equal(now.modTime) || !s.ModTime.Add(clockGranularity).Before(s.ReadAt) {
				out = append(out, p)
			}
		}
	}
	return out
}

// statPath returns the state of the file or folder at a path, or nil if nothing is there. It returns false for a path
// that does not concern the graph.
func statPath(root *os.Root, p string) (*fileState, bool) {
	if !fs.ValidPath(p) || p == "." {
		return nil, false
	}
	info, err := root.Lstat(filepath.FromSlash(p))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true
	case err != nil:
		return nil, false
	case info.IsDir():
		return &fileState{size: -1, modTime: info.ModTime()}, true
	case !info.Mode().IsRegular():
		return nil, false
	}
	return &fileState{size: info.Size(), modTime: info.ModTime()}, true
}

// alreadyExamined reports whether Update has examined a path in its present state. If Update left it out then, it would
// do so again.
func (c *Codebase) alreadyExamined(p string, now *fileState) bool {
	c.examinedMu.Lock()
	defer c.examinedMu.Unlock()
	was, ok := c.examined[p]
	return ok && was.size == now.size && was.modTime.Equal(now.modTime) && was.modTime.Add(clockGranularity).Before(was.at)
}

// statAll returns the states of the files at the paths. It is called before they are read.
func (c *Codebase) statAll(paths []string) map[string]fileState {
	root, err := os.OpenRoot(c.o.Root)
	if err != nil {
		return nil
	}
	defer root.Close() // it was only examined
	out := make(map[string]fileState, len(paths))
	at := c.o.Now()
	for _, p := range paths {
		if now, ok := statPath(root, p); ok && now != nil {
			now.at = at
			out[p] = *now
		}
	}
	return out
}

// rememberExamined stores the states of examined files.
func (c *Codebase) rememberExamined(seen map[string]fileState) {
	c.examinedMu.Lock()
	defer c.examinedMu.Unlock()
	if c.examined == nil || len(c.examined)+len(seen) > maxExamined {
		c.examined = make(map[string]fileState, len(seen))
	}
	maps.Copy(c.examined, seen)
}

// Types type-checks the project's Go packages and refines the graph with the result. It takes seconds; queries and
// updates can run at the same time. Results for files that have changed by then are left out. Errors: ken.ErrNotFound
// if there is no Go module, ken.ErrUnavailable if there is no toolchain, and that of ctx.
func (c *Codebase) Types(ctx context.Context) (codegraph.Refined, typed.Report, error) {
	r, report, err := typed.Check(ctx, c.o.Root, typed.Options{})
	if err != nil {
		return codegraph.Refined{}, report, err
	}
	return c.refine(r), report, nil
}

// Import refines the graph with an index in the SCIP format, made by a compiler's indexer. See scip.Options for
// o.Folder and o.Made. The graph must have been built. Errors are those of scip.Read, and that of ctx.
func (c *Codebase) Import(ctx context.Context, in io.Reader, o scip.Options) (codegraph.Refined, scip.Report, error) {
	tree, err := repository.Files(ctx, c.o.Root, repository.Options{Exclude: c.o.Exclude})
	if err != nil {
		return codegraph.Refined{}, scip.Report{}, err
	}
	defer tree.Close() // it was only read
	r := readersOf(tree)
	extractors := r.extractors()
	o.File = func(p string) (codegraph.File, bool) {
		extract := extractors[strings.ToLower(path.Ext(p))]
		if extract == nil || !r.files[p] || ctx.Err() != nil {
			return codegraph.File{}, false
		}
		content, err := tree.Read(p, maxIndexed)
		if err != nil || content.Size > maxIndexed {
			return codegraph.File{}, false
		}
		f := extract(p, content.Bytes)
		f.Hash = content.Hash
		return f, true
	}
	refinement, report, err := scip.Read(in, c.o.Root, o)
	if err != nil {
		return codegraph.Refined{}, report, err
	}
	return c.refine(refinement), report, ctx.Err()
}

// maxIndexed is the maximum size of a file in which symbols of an index are looked up, in bytes.
const maxIndexed = 1 << 20

func (c *Codebase) refine(r codegraph.Refinement) codegraph.Refined {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.graph.Load().Refine(r)
}
