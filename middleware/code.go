package middleware

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// code is what the layer knows of the project's code, and of its goals.
type code struct {
	base       *codebase.Codebase                  // nil when it is switched off, or can't be opened
	objectives *objective.Store                    // nil likewise
	reading    chan struct{}                       // has a place for whoever reads the code for the first time
	read       chan struct{}                       // closed once it was read
	edited     chan struct{}                       // told when files have changed
	so         atomic.Pointer[repository.Progress] // how far reading has come
	renewal    *codeRefresh
	cards      cards
}

// wasRead reports whether the graph says what the files do.
func (c *code) wasRead() bool {
	select {
	case <-c.read:
		return true
	default:
		return false
	}
}

// openCode opens the code without reading it. What can't be opened is left out.
func (l *Layer) openCode(ctx context.Context) {
	c := &l.code
	c.reading, c.read, c.edited = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
	c.renewal = newRenewal(l.follow, l.o.Now)
	if !l.cfg.Middleware.Knowledge {
		return
	}
	var err error
	if l.cfg.Middleware.Graph {
		c.base, err = codebase.Open(ctx, codebase.Options{Root: l.o.Root, State: l.cfg.State(l.o.Root), Generated: l.cfg.Graph.Generated,
			Exclude: l.cfg.Repository.Exclude, Folders: l.cfg.Decisions.Folders, Now: l.o.Now,
			Progress: func(p repository.Progress) {
				c.so.Store(&p)
				l.o.Progress(string(p.Stage), p.Done, p.Total)
			}})
		if err != nil {
			l.o.Log.Warn("the layer works without the code graph", "cause", err, "try", ken.Hint(err))
		}
	}
	if l.cfg.Middleware.Objectives {
		if c.objectives, err = objective.Open(l.o.Root, objective.Options{Folder: l.cfg.Objectives.Folder, Now: l.o.Now}); err != nil {
			l.o.Log.Warn("the layer works without objectives", "cause", err, "try", ken.Hint(err))
		}
	}
}

func (l *Layer) closeCode() error {
	var errs []error
	l.code.renewal.close()
	if c := l.code.base; c != nil {
		errs = append(errs, c.Close())
	}
	if o := l.code.objectives; o != nil {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// Codebase is the project's code; nil when middleware.graph switches it off. Its graph
// is empty until it was read: see ReadCode.
func (l *Layer) Codebase() *codebase.Codebase { return l.code.base }

// Objectives is the project's objectives; nil when middleware.objectives switches them
// off.
func (l *Layer) Objectives() *objective.Store { return l.code.objectives }

// CodeRead reports whether ReadCode returns at once, for who can't wait. While it would
// not, so is how far reading has come, if it has begun.
func (l *Layer) CodeRead() (so repository.Progress, read bool) {
	c := &l.code
	if p := c.so.Load(); p != nil {
		so = *p
	}
	return so, c.base == nil || c.wasRead()
}

// noCode is why there is no graph.
func noCode() error {
	return &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.graph", Msg: "the code graph is switched off, or could not be opened",
		Try: "Set middleware.graph to true, and look at ken doctor."}
}

// ReadCode returns the project's code once it was read, and reads it if nobody has yet:
// what was saved, and what has changed since. Errors: ken.ErrUnavailable when it is
// switched off, and ctx's.
func (l *Layer) ReadCode(ctx context.Context) (*codebase.Codebase, error) {
	c := &l.code
	if c.base == nil {
		return nil, noCode()
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.wasRead() {
		return c.base, nil
	}
	start := l.now()
	if err := c.base.Load(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.o.Log.Info("the code graph is built again", "cause", err)
	}
	report, err := c.base.Build(ctx)
	if err != nil {
		return nil, err
	}
	c.renewal.rested(start)
	close(c.read)
	if many(&report) {
		l.saveCode()
	}
	return c.base, nil
}

// many reports whether reading again what has changed would take longer than writing it.
func many(r *codegraph.Report) bool { return r.Changed+r.Removed > 16+r.Files/50 }

func (l *Layer) saveCode() {
	if err := l.code.base.Save(); err != nil {
		l.o.Log.Info("the code graph is not kept for the next start", "cause", err)
	}
}

// keepCode reads the code, and follows it as it changes, until ctx ends.
func (l *Layer) keepCode(ctx context.Context) {
	if l.code.base == nil {
		return
	}
	if _, err := l.ReadCode(ctx); err != nil {
		if ctx.Err() == nil {
			l.o.Log.Warn("read the code", "cause", err, "try", ken.Hint(err))
		}
		return
	}
	if !l.o.Watch || !l.cfg.Graph.Watch {
		return
	}
	if err := l.code.base.Watch(ctx, func(paths []string) { l.follow(ctx, paths) }); err != nil {
		l.o.Log.Warn("files are not followed; what tool calls write is noticed all the same", "cause", err)
	}
}

// tooMany is from how many files on they are all looked at: a change of branches.
const tooMany = 500

// follow takes in files that have changed.
func (l *Layer) follow(ctx context.Context, paths []string) {
	var err error
	if len(paths) == 0 || len(paths) > tooMany {
		_, err = l.code.base.Build(ctx)
	} else {
		_, err = l.code.base.Update(ctx, paths...)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("read files that have changed", "cause", err, "try", ken.Hint(err))
	}
	l.edit()
}

// edit tells whoever looks after the store that files have changed.
func (l *Layer) edit() {
	select {
	case l.code.edited <- struct{}{}:
	default:
	}
}

const (
	// indexAfter is how long files must rest before they are indexed for search.
	indexAfter = time.Second
	// typesAfter is how long before their types are checked, which takes seconds of a core.
	typesAfter = 20 * time.Second
)

// refineCode checks types after the code was read and whenever it has changed, and has
// changed files indexed, until ctx ends. Of the processes that share a store, the one
// that holds it does.
func (l *Layer) refineCode(ctx context.Context) {
	if l.code.base == nil {
		return
	}
	select {
	case <-l.code.read:
	case <-ctx.Done():
		return
	}
	l.checkTypes(ctx)
	for l.rested(ctx, indexAfter) {
		l.refreshQuietly(ctx)
		if l.still(ctx, typesAfter) {
			l.checkTypes(ctx)
		}
	}
}

// rested waits until files have changed and then not for a while.
func (l *Layer) rested(ctx context.Context, d time.Duration) bool {
	select {
	case <-l.code.edited:
	case <-ctx.Done():
		return false
	}
	for !l.still(ctx, d) {
		if ctx.Err() != nil {
			return false
		}
		<-l.code.edited
	}
	return true
}

// still waits, and reports whether no file has changed meanwhile.
func (l *Layer) still(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.code.edited:
		l.edit() // for whoever waits next
	case <-ctx.Done():
	}
	return false
}

// checkTypes refines the graph by types, where there are some.
func (l *Layer) checkTypes(ctx context.Context) {
	if !l.cfg.Graph.Types || l.code.base.View().Counts().Files == 0 {
		return
	}
	_, report, err := l.code.base.Types(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ken.ErrNotFound): // no Go
	case err != nil:
		l.o.Log.Info("the code graph goes by names", "cause", err)
	case report.Edges > 0:
		l.saveCode()
	}
}

const (
	maxBeside     = 50  // names of what is one step from a turn's symbols
	sureStep      = 0.9 // strength of a step along an edge that is exact
	perhapsStep   = 0.4 // and along one that is a guess
	maxNeighbours = 24
)

// byName is the names of symbols under which somebody may have filed a rule.
func byName(symbols []symbol) (names []string) {
	for i := range symbols {
		names = append(names, CalledBy(&symbols[i].Node)...)
	}
	return names
}

// CalledBy are the names under which something may be known of a node of the code, the
// surest first: with its package or type, whole, and bare where that is no common word.
func CalledBy(n *codegraph.Node) []string {
	short := shortName(n)
	switch n.Kind {
	case codegraph.KindFile:
		return []string{n.Path}
	case codegraph.KindPackage, codegraph.KindNamespace:
		return plain(n.Qualified, n.Path, n.Name)
	case codegraph.KindMethod, codegraph.KindProperty:
		if owner := path.Ext(strings.TrimSuffix(short, "."+n.Name)); owner != "" {
			return plain(short, n.Qualified, owner[1:]+"."+n.Name)
		}
		return plain(short, n.Qualified)
	}
	return plain(short, n.Qualified, n.Name)
}

// plain leaves out what is a common word by itself, and what is there already.
func plain(names ...string) (out []string) {
	for i, n := range names {
		if n == "" || n == "." || reading.Common(analysis.Entity(n)) || i > 0 && n == names[0] {
			continue
		}
		out = append(out, n)
	}
	return out
}

// shortName is the end of a qualified name: store.Shelf, Shelf.View in a file that is its
// own scope. Of a file it is the path.
func shortName(n *codegraph.Node) string {
	if n.Kind == codegraph.KindFile {
		return n.Path
	}
	return n.Qualified[strings.LastIndexByte(n.Qualified, '/')+1:]
}

// owner is the type that a method or property belongs to, as a node has it; false for
// what belongs to none.
func owner(n *codegraph.Node) (codegraph.Node, bool) {
	if n.Kind != codegraph.KindMethod && n.Kind != codegraph.KindProperty {
		return codegraph.Node{}, false
	}
	q, ok := strings.CutSuffix(n.Qualified, "."+n.Name)
	if !ok || !strings.Contains(q[strings.LastIndexByte(q, '/')+1:], ".") {
		return codegraph.Node{}, false
	}
	return codegraph.Node{Kind: codegraph.KindType, Qualified: q, Name: q[strings.LastIndexByte(q, '.')+1:]}, true
}

// beside are the things one step from symbols: what they are defined in, and what they
// depend on or depends on them, the nearest first.
func beside(v *codegraph.View, symbols []symbol) (out []structure.Beside) {
	left := maxBeside
	add := func(b structure.Beside) {
		if len(b.Names) > 0 && left > 0 {
			b.Names = b.Names[:min(len(b.Names), left)]
			left -= len(b.Names)
			out = append(out, b)
		}
	}
	ids := make([]string, len(symbols))
	for i := range symbols {
		n := &symbols[i].Node
		ids[i] = n.ID
		if names := around(n); len(names) > 0 {
			add(structure.Beside{Focus: shortName(n), Names: names, Type: string(codegraph.Defines), Strength: sureStep})
		}
	}
	near, _, err := v.Neighbours(ids[:min(len(ids), codegraph.MaxNeighbourhood)], maxNeighbours)
	if err != nil {
		return out
	}
	for i := range near {
		n := &near[i]
		if n.Kind == codegraph.Defines || n.Kind == codegraph.Governs || n.Kind == codegraph.Tests || n.Test {
			continue
		}
		b := structure.Beside{Focus: focusOf(symbols, n.Of), Names: CalledBy(&n.Node), Type: string(n.Kind), Out: n.Out, Strength: sureStep}
		if n.How == codegraph.Guess {
			b.Strength = perhapsStep
		}
		if of, ok := owner(&n.Node); ok {
			b.Names = append(b.Names, CalledBy(&of)...)
		}
		add(b)
	}
	return out
}

// around are the names of what a node lies in: its type, file and package.
func around(n *codegraph.Node) (names []string) {
	if of, ok := owner(n); ok {
		names = append(names, CalledBy(&of)...)
	}
	if n.Path == "" || n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace {
		return names
	}
	if n.Kind != codegraph.KindFile {
		names = append(names, n.Path)
	}
	names = append(names, plain(path.Dir(n.Path))...)
	if at := strings.LastIndexByte(n.Qualified, '/'); n.Language == "go" && n.Kind != codegraph.KindFile {
		end := strings.IndexByte(n.Qualified[at+1:], '.')
		if end > 0 {
			names = append(names, plain(n.Qualified[:at+1+end], n.Qualified[at+1:at+1+end])...)
		}
	}
	return names
}

func focusOf(symbols []symbol, id string) string {
	for i := range symbols {
		if symbols[i].ID == id {
			return shortName(&symbols[i].Node)
		}
	}
	return id
}
