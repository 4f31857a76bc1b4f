package middleware

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// code holds the project's code graph and objectives, and the state of reading them.
type code struct {
	base       *codebase.Codebase // nil if it is switched off or can't be opened
	objectives *objective.Store   // nil if it is switched off or can't be opened
	loading    chan struct{}      // holds a token during the first reading of the code
	loaded     chan struct{}      // closed after the first reading of the code
	reads      atomic.Bool        // a turn in the foreground began to read the code
	life       context.Context    // of that reading; ends when the layer is closed
	stop       context.CancelFunc
	changed    chan struct{}                       // receives a value when files have changed
	progress   atomic.Pointer[repository.Progress] // of reading the code
	refresh    *codeRefresh
	cards      cards
}

// isLoaded reports whether the code was read, so that the graph is complete.
func (c *code) isLoaded() bool {
	select {
	case <-c.loaded:
		return true
	default:
		return false
	}
}

// openCode opens the code without reading it. It leaves out the parts that can't be opened.
func (l *Layer) openCode(ctx context.Context) {
	c := &l.code
	c.loading, c.loaded, c.changed = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
	c.life, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.refresh = newCodeRefresh(l.updateCode, l.o.Now)
	if !l.cfg.Middleware.Knowledge {
		return
	}
	var err error
	if l.cfg.Middleware.Graph {
		c.base, err = codebase.Open(ctx, codebase.Options{Root: l.o.Root, State: l.cfg.State(l.o.Root), Generated: l.cfg.Graph.Generated,
			Exclude: l.cfg.Repository.Exclude, Folders: l.cfg.Decisions.Folders, Now: l.o.Now,
			Progress: func(p repository.Progress) {
				c.progress.Store(&p)
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
	l.code.refresh.close()
	if c := l.code.base; c != nil {
		errs = append(errs, c.Close())
	}
	if o := l.code.objectives; o != nil {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// Codebase returns the project's code; nil if middleware.graph is off. Its graph is empty until the
// code is read: see ReadCode.
func (l operator) Codebase() *codebase.Codebase { return l.code.base }

// Objectives returns the project's objectives; nil if middleware.objectives is off.
func (l operator) Objectives() *objective.Store { return l.code.objectives }

// CodeRead reports whether ReadCode would return at once. It is for callers that can't wait. so is
// the progress of reading; the zero value if reading has not begun.
func (l operator) CodeRead() (so repository.Progress, read bool) {
	c := &l.code
	if p := c.progress.Load(); p != nil {
		so = *p
	}
	return so, c.base == nil || c.isLoaded()
}

// errNoCode returns the error for a missing graph.
func errNoCode() error {
	return &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.graph", Msg: "the code graph is switched off, or could not be opened",
		Try: "Set middleware.graph to true, and look at ken doctor."}
}

// ReadCode returns the project's code. On the first call it reads the saved graph and the files
// that changed since. It returns ken.ErrUnavailable if the graph is switched off, and ctx's error
// if ctx ends first.
func (l operator) ReadCode(ctx context.Context) (*codebase.Codebase, error) {
	c := &l.code
	if c.base == nil {
		return nil, errNoCode()
	}
	select {
	case c.loading <- struct{}{}:
		defer func() { <-c.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.isLoaded() {
		return c.base, nil
	}
	start := l.now()
	if err := c.base.Load(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.o.Log.Info("the code graph is rebuilt", "cause", err)
	}
	report, err := c.base.Build(ctx)
	if err != nil {
		return nil, err
	}
	c.refresh.noteFullScan(start)
	close(c.loaded)
	if manyChanges(&report) {
		l.saveCode()
	}
	return c.base, nil
}

// manyChanges reports whether so many files changed that saving the graph is cheaper than reading
// them again at the next start.
func manyChanges(r *codegraph.Report) bool { return r.Changed+r.Removed > 16+r.Files/50 }

func (l *Layer) saveCode() {
	if err := l.code.base.Save(); err != nil {
		l.o.Log.Info("the code graph could not be saved", "cause", err)
	}
}

// followCode reads the code and follows its changes until ctx ends.
func (l *Layer) followCode(ctx context.Context) {
	if l.code.base == nil {
		return
	}
	if _, err := l.Operator().ReadCode(ctx); err != nil {
		l.warn(ctx, "read the code", err)
		return
	}
	if !l.o.Watch || !l.cfg.Graph.Watch {
		return
	}
	if err := l.code.base.Watch(ctx, func(paths []string) { l.updateCode(ctx, paths) }); err != nil {
		l.o.Log.Warn("files are not watched; only changes by tool calls are noticed", "cause", err)
	}
}

// maxUpdatePaths is the maximum number of changed files that are read one by one. With more, for
// example after a switch of branches, all files are examined.
const maxUpdatePaths = 500

// updateCode reads changed files. No paths, or more than maxUpdatePaths, mean all files.
func (l *Layer) updateCode(ctx context.Context, paths []string) {
	var err error
	if len(paths) == 0 || len(paths) > maxUpdatePaths {
		_, err = l.code.base.Build(ctx)
	} else {
		_, err = l.code.base.Update(ctx, paths...)
	}
	l.warn(ctx, "read files that have changed", err)
	offer(l.code.changed, struct{}{})
}

const (
	// indexDelay is how long files must be unchanged before they are indexed for search.
	indexDelay = time.Second
	// typesDelay is how long files must be unchanged before their types are checked, which takes
	// some seconds of one core.
	typesDelay = 20 * time.Second
)

// refineCode checks types and indexes files after the code was read and after each change, until
// ctx ends. Of the processes that share a store, only its holder does this.
func (l *Layer) refineCode(ctx context.Context) {
	if l.code.base == nil {
		return
	}
	select {
	case <-l.code.loaded:
	case <-ctx.Done():
		return
	}
	l.checkTypes(ctx)
	for l.waitForCodeChange(ctx, indexDelay) {
		l.refreshQuietly(ctx)
		if l.codeQuietFor(ctx, typesDelay) {
			l.checkTypes(ctx)
		}
	}
}

// waitForCodeChange waits until files have changed and then stayed unchanged for d. It returns
// false when ctx ends.
func (l *Layer) waitForCodeChange(ctx context.Context, d time.Duration) bool {
	select {
	case <-l.code.changed:
	case <-ctx.Done():
		return false
	}
	for !l.codeQuietFor(ctx, d) {
		if ctx.Err() != nil {
			return false
		}
		<-l.code.changed
	}
	return true
}

// codeQuietFor waits for d and reports whether no file changed during that time.
func (l *Layer) codeQuietFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.code.changed:
		offer(l.code.changed, struct{}{}) // so that the next wait sees the change
	case <-ctx.Done():
	}
	return false
}

// checkTypes adds type information to the graph, if the project has Go code.
func (l *Layer) checkTypes(ctx context.Context) {
	if !l.cfg.Graph.Types || l.code.base.View().Counts().Files == 0 {
		return
	}
	_, report, err := l.code.base.Types(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ken.ErrNotFound): // the project has no Go code
	case err != nil:
		l.o.Log.Info("the code graph has no type information", "cause", err)
	case report.Edges > 0:
		l.saveCode()
	}
}

// Bounds and scores of the neighbours of a turn's symbols: the nodes one edge away.
const (
	maxNearbyNames = 50  // names of neighbours
	exactStepScore = 0.9 // score of a neighbour along an exact edge
	guessStepScore = 0.4 // score of a neighbour along a guessed edge
	maxNeighbours  = 24
)

// ruleNames returns the names of symbols under which a rule may be filed.
func ruleNames(symbols []symbol) (names []string) {
	for i := range symbols {
		names = append(names, calledBy(&symbols[i].Node)...)
	}
	return names
}

// CodeNames returns the names under which something may be known of a node of the code, the
// surest first.
func (operator) CodeNames(n *codegraph.Node) []string { return calledBy(n) }

// calledBy returns the names under which claims about a node of the code may be filed, the most
// specific first: the name with its package or type, the qualified name, and the short name. It
// leaves out names that are common words.
func calledBy(n *codegraph.Node) []string {
	short := shortName(n)
	switch n.Kind {
	case codegraph.KindFile:
		return []string{n.Path}
	case codegraph.KindPackage, codegraph.KindNamespace:
		return distinctiveNames(n.Qualified, n.Path, n.Name)
	case codegraph.KindMethod, codegraph.KindProperty:
		if owner := path.Ext(strings.TrimSuffix(short, "."+n.Name)); owner != "" {
			return distinctiveNames(short, n.Qualified, owner[1:]+"."+n.Name)
		}
		return distinctiveNames(short, n.Qualified)
	}
	return distinctiveNames(short, n.Qualified, n.Name)
}

// distinctiveNames leaves out duplicates of the first name and names that are common words.
func distinctiveNames(names ...string) (out []string) {
	for i, n := range names {
		if n == "" || n == "." || reading.Common(analysis.Entity(n)) || i > 0 && n == names[0] {
			continue
		}
		out = append(out, n)
	}
	return out
}

// shortName returns the end of a qualified name, such as store.Shelf, or Shelf.View for a file that
// is its own scope. For a file it returns the path.
func shortName(n *codegraph.Node) string {
	if n.Kind == codegraph.KindFile {
		return n.Path
	}
	return n.Qualified[strings.LastIndexByte(n.Qualified, '/')+1:]
}

// ownerType returns the type that a method or property belongs to; false if it has none.
func ownerType(n *codegraph.Node) (codegraph.Node, bool) {
	if n.Kind != codegraph.KindMethod && n.Kind != codegraph.KindProperty {
		return codegraph.Node{}, false
	}
	q, ok := strings.CutSuffix(n.Qualified, "."+n.Name)
	if !ok || !strings.Contains(q[strings.LastIndexByte(q, '/')+1:], ".") {
		return codegraph.Node{}, false
	}
	return codegraph.Node{Kind: codegraph.KindType, Qualified: q, Name: q[strings.LastIndexByte(q, '.')+1:]}, true
}

// nearbyThings returns the neighbours of symbols, the nearest first: the nodes that contain them,
// that they depend on, and that depend on them.
func nearbyThings(v *codegraph.View, symbols []symbol) (out []structure.Beside) {
	left := maxNearbyNames
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
		if names := enclosingNames(n); len(names) > 0 {
			add(structure.Beside{Focus: shortName(n), Names: names, Type: string(codegraph.Defines), Strength: exactStepScore})
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
		b := structure.Beside{Focus: focusName(symbols, n.Of), Names: calledBy(&n.Node), Type: string(n.Kind), Out: n.Out, Strength: exactStepScore}
		if n.How == codegraph.Guess {
			b.Strength = guessStepScore
		}
		if of, ok := ownerType(&n.Node); ok {
			b.Names = append(b.Names, calledBy(&of)...)
		}
		add(b)
	}
	return out
}

// enclosingNames returns the names of the node's type, file and package.
func enclosingNames(n *codegraph.Node) (names []string) {
	if of, ok := ownerType(n); ok {
		names = append(names, calledBy(&of)...)
	}
	if n.Path == "" || n.Kind == codegraph.KindPackage || n.Kind == codegraph.KindNamespace {
		return names
	}
	if n.Kind != codegraph.KindFile {
		names = append(names, n.Path)
	}
	names = append(names, distinctiveNames(path.Dir(n.Path))...)
	if at := strings.LastIndexByte(n.Qualified, '/'); n.Language == "go" && n.Kind != codegraph.KindFile {
		end := strings.IndexByte(n.Qualified[at+1:], '.')
		if end > 0 {
			names = append(names, distinctiveNames(n.Qualified[:at+1+end], n.Qualified[at+1:at+1+end])...)
		}
	}
	return names
}

func focusName(symbols []symbol, id string) string {
	for i := range symbols {
		if symbols[i].ID == id {
			return shortName(&symbols[i].Node)
		}
	}
	return id
}

// Bounds of reading changed files.
const (
	// editWait is the maximum time that a turn waits for changed files to be read.
	editWait = 100 * time.Millisecond
	// editWindow is the number of a conversation's last messages that are searched for tool calls.
	editWindow = 256
	// maxSeenCalls is the maximum number of remembered tool calls, in each of two maps.
	maxSeenCalls = 1 << 14
	// rescanFactor sets the pause after a full scan: this many times the duration of the scan.
	rescanFactor = 20
)

// codeRefresh reads changed files in the background, one batch at a time. A turn may stop waiting
// for a batch. Its methods are safe for concurrent use.
type codeRefresh struct {
	read func(ctx context.Context, paths []string) // no paths mean all files
	now  func() time.Time

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu           sync.Mutex // guards the rest
	pending      map[string]bool
	allFiles     bool
	done         chan struct{} // closed after the pending files were read
	running      bool
	closed       bool
	nextFullScan time.Time // the earliest time of the next full scan

	seed      maphash.Seed
	seenCalls [2]map[uint64]bool // hashes of tool calls; the newer map first
}

func newCodeRefresh(read func(context.Context, []string), now func() time.Time) *codeRefresh {
	r := &codeRefresh{read: read, now: now, pending: map[string]bool{}, seed: maphash.MakeSeed()}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// request asks for files to be read. The returned channel is closed after they were read or could
// not be read. No paths mean all files; then request returns nil if a full scan is pending or not
// yet allowed.
func (r *codeRefresh) request(paths ...string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	if r.closed {
		close(done)
		return done
	}
	if len(paths) == 0 {
		if r.allFiles || r.now().Before(r.nextFullScan) {
			return nil
		}
		r.allFiles = true
	}
	for _, p := range paths {
		r.pending[p] = true
	}
	if r.done == nil {
		r.done = done
	}
	done = r.done
	if !r.running {
		r.running = true
		r.work.Go(r.run)
	}
	return done
}

// run reads pending files until none are left.
func (r *codeRefresh) run() {
	for {
		r.mu.Lock()
		paths, all, done := slices.Collect(maps.Keys(r.pending)), r.allFiles, r.done
		clear(r.pending)
		r.allFiles, r.done = false, nil
		if done == nil || r.closed {
			r.running = false
			r.mu.Unlock()
			if done != nil {
				close(done)
			}
			return
		}
		r.mu.Unlock()
		_ = caught.Run(func() error { r.readBatch(paths, all); return nil }) // a later edit is read by the next call
		close(done)
	}
}

// readBatch reads the given files, and all files if all is set.
func (r *codeRefresh) readBatch(paths []string, all bool) {
	if len(paths) > 0 {
		r.read(r.ctx, paths)
	}
	if !all {
		return
	}
	start := r.now()
	r.read(r.ctx, nil)
	r.noteFullScan(start)
}

// noteFullScan records that all files were examined between start and now.
func (r *codeRefresh) noteFullScan(start time.Time) {
	end := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextFullScan = end.Add(rescanFactor * end.Sub(start))
}

// close stops the reading and waits until it has stopped. Later requests are ignored.
func (r *codeRefresh) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
}

// isNewCall reports whether a tool call of a conversation is seen for the first time.
func (r *codeRefresh) isNewCall(conversation string, c *ken.ToolCall, result *ken.Message) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{conversation, c.ID, c.Name, c.Arguments, result.Text} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	key := h.Sum64()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seenCalls[0][key] || r.seenCalls[1][key] {
		return false
	}
	if r.seenCalls[0] == nil || len(r.seenCalls[0]) >= maxSeenCalls {
		r.seenCalls[0], r.seenCalls[1] = map[uint64]bool{}, r.seenCalls[0]
	}
	r.seenCalls[0][key] = true
	return true
}

// editedFiles returns the files that tool calls of the turn's conversation were meant to change.
// Each call counts once. Without a session each call counts every time, because the calls of
// different conversations can't be told apart.
func (l *Layer) editedFiles(t *ken.Turn) []string {
	msgs := t.Messages[max(0, len(t.Messages)-editWindow):]
	fresh := func(c *ken.ToolCall, result *ken.Message) bool {
		return l.code.refresh.isNewCall(t.Owner+"\x00"+t.Session, c, result)
	}
	if t.Session == "" {
		fresh = nil
	}
	return finding.Touched(l.o.Root, msgs, l.tools, fresh)
}
