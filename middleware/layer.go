package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/embed/guard"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/retriever/rerank"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// rememberedTurns is the maximum number of blocks that are kept in memory for later requests.
// injection.memory_mb limits their size.
const rememberedTurns = 4096

// Layer is an open knowledge layer. It is safe for concurrent use by any number of
// conversations. Call Close when done.
//
// A chat loop needs Transport, or Assemble and Answered. A program that reads or writes knowledge
// itself calls Remember and Recall. The other methods are for programs that manage sessions and
// claims. Operator has the methods of Ken's own programs.
type Layer struct {
	distrusts atomic.Bool // see operator.DistrustUser
	o         Options
	cfg       config.Config
	now       func() time.Time
	newID     func() string

	owners             *shared.Owners
	node               *shared.Node  // nil if the owners share no engine (store.url is not set)
	next               *shared.Node  // of store.next; nil for none
	holderChanged      chan struct{} // receives a value when this process becomes the holder of the configured owner's folder
	storeErr           error         // why there is no store; turns then run without knowledge
	engineDown         bool          // whether an engine was not reached at the start: then the start does not wait for the store
	engineErr          error         // why this process is no node of store.url; no store can be opened then, because one in the folder alone would be another one
	embedder           *guard.Guard
	reranker           *rerank.Client // nil without one
	backgroundEmbedder embed.Embedder // the same model, with retries, for background work
	vectorCause        string         // why there is no vector search; "" if there is one
	standbys           standbys
	retrieval          retriever.Options // before calibration
	calibrations       calibrations
	countTokens        func(string) int
	playbooks          *retriever.PlaybookCache
	renderCache        *budgeter.Cache
	handler            Handler
	blocks             blockCache
	cleanCache         cleanCache
	slack              time.Duration                  // turnSlack; longer in tests, whose results must not depend on the load of the machine
	composing          atomic.Int64                   // number of turns that compose a block now; see beginComposing
	overdue            atomic.Int64                   // number of turns that still compose after their deadline; see runWithin
	lastRequests       lru.Map[sessionKey, []segment] // the last request of each conversation, for countCached
	threads            threads
	openings           openings
	statements         statements
	mergeModels        lru.Map[string, bool] // models whose server refused two user messages in a row
	responseTasks      taskGroup
	activeTurns        activeTurns
	taintMemory        taintMemory
	learners           learners
	judgements         judgedTurns
	counts             counts
	lateResults        lru.Map[sessionKey, <-chan store.Result] // vector searches that a session's last turn did not wait for
	sessionFocus       lru.Map[sessionKey, []string]            // the entities that sessions were about, strongest first; immutable
	filing             filing
	samplers           samplers
	code               code
	firstIndex         *firstIndex
	events             *telemetry.Log

	// findCheckpoint returns the checkpoint of a turn's session, for a conversation that lost its
	// past. If it is nil, there are no checkpoints. See checkpointItem.
	findCheckpoint func(ctx context.Context, t *ken.Turn) (text string, at time.Time, ok bool)
	// findStoredFocus returns the entities that a session was about before this process saw it,
	// strongest first. If it is nil, none are found. See carriedFocus.
	findStoredFocus func(ctx context.Context, t *ken.Turn) ([]string, error)

	process            string              // identifies this process in journals and leases
	announcement       *alive.Announcement // guarded by sessionsMu; nil until the first session
	tools              finding.Tools
	recorder           *recorder
	recording          context.Context // of the recorder's writes
	stopRecording      context.CancelFunc
	wake               chan struct{} // wakes runSessionChecks
	recoveries         lru.Map[conversationStart, recovery]
	conversationStarts lru.Map[conversationStart, time.Time] // by conversation that uses the name of a harvested session without its messages
	sessionsMu         sync.Mutex                            // guards sessions
	sessions           map[string]*ownerSessions

	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
}

// Open opens the layer of the project in o.Root. It returns ErrNotFound if that is not a folder, an
// error for an invalid configuration and, if o.Strict is set, for a store that can't be opened. ctx applies only to opening.
func Open(ctx context.Context, o Options) (*Layer, error) {
	o = o.withDefaults()
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find project: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "root", Msg: root + " is not a folder", Err: err, Try: "Name a folder that exists."}
	}
	o.Root = root
	cfg, stateErr, err := configuration(o)
	if err != nil {
		return nil, err
	}
	l := &Layer{o: o, cfg: cfg, now: o.Now, newID: o.NewID, slack: turnSlack, blocks: blockCache{limit: rememberedTurns, limitBytes: cfg.Injection.Memory << 20},
		process: o.NewID(), wake: make(chan struct{}, 1), sessions: map[string]*ownerSessions{}, firstIndex: newFirstIndex()}
	if o.Foreground || !cfg.Repository.Index {
		l.firstIndex.end()
	}
	l.recording, l.stopRecording = context.WithCancel(context.WithValue(context.Background(), recorderKey{}, true))
	l.recorder = newRecorder(l.writeRecords, func() {
		l.o.Log.Warn("turns come faster than they can be journaled; some are left out", "waiting", maxWaiting)
	}, func(f func()) { l.running.Go(f) })
	if l.tools, err = finding.Parse(cfg.Harvest.Tools); err != nil {
		return nil, fmt.Errorf("harvest.tools: %w", err)
	}
	if err := l.openEmbedder(); err != nil {
		return nil, err
	}
	l.openReranker()
	if o.CountTokens || cfg.Budget.Tokens > 0 {
		if l.countTokens, err = tokens.Counter(cfg.Budget.Encoding); err != nil {
			return nil, errors.Join(fmt.Errorf("load tokenizer: %w", err), l.embedder.Close())
		}
	}
	l.findCheckpoint, l.findStoredFocus = l.recoverSession, l.checkpointFocus
	l.cfg.Knowledge.DecayDays = max(l.lifecyclePolicy().ConfidenceDecayDays, 0) // lifecycle.yaml may set it
	l.retrieval = retrievalOptions(&l.cfg)
	l.playbooks, l.renderCache = retriever.NewPlaybookCache(), budgeter.NewCache()
	l.handler = chain(l.stages(&l.cfg))
	l.openFiling()
	l.openStatements()
	l.openCode(ctx)
	l.holderChanged = make(chan struct{}, 1)
	l.openNode(ctx)
	l.owners = shared.NewOwners(cfg.State(root), cfg.Store.OpenOwners, shared.Options{Log: o.Log, OnHold: l.onStoreHeld, OnPutAway: l.onStoreClosed, OnEvent: l.onEvent(), Node: l.node, Next: l.next, NextName: engines.Address(cfg.Store.Next), Folder: int64(cfg.Store.Folder) << 20,
		Store: bolt.Options{Embedder: l.backgroundEmbedder, Standby: l.standby, Yield: l.yieldToTurns, Progress: o.Progress, Now: o.Now, Assign: assign}})
	if cfg.Middleware.Events {
		l.events = telemetry.Open(config.InProject(root, cfg.Telemetry.Events))
	}
	if err := l.openStore(ctx, cmp.Or(stateErr, l.engineErr)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !o.Foreground && l.storeErr == nil {
		l.start()
	}
	return l, nil
}

// configuration returns the effective configuration and logs which settings of the project's folder
// are ignored. stateErr is set if the state folder must not be used and there is no replacement.
func configuration(o Options) (cfg config.Config, stateErr, err error) {
	var r *config.Resolved
	if o.Config != nil { // set by the program
		if err := o.Config.Validate(); err != nil {
			return cfg, nil, err
		}
		r, stateErr = config.Given(o.Root, *o.Config)
	} else if r, stateErr = config.Resolve(o.Root, ""); r == nil {
		return cfg, nil, stateErr
	}
	if notice := r.Notice(); notice != "" && stateErr == nil {
		o.Log.Warn(notice)
	}
	return r.Config, stateErr, nil
}

// openStore opens the configured owner's store at once, so that the first turn need not wait for it
// and errors show at the start.
func (l *Layer) openStore(ctx context.Context, stateErr error) error {
	if !l.cfg.Middleware.Knowledge {
		return nil
	}
	err, release := stateErr, func() {}
	if err == nil {
		if err := l.cfg.MakeState(l.o.Root); err != nil {
			l.o.Log.Warn("mark the state folder as made by this user", "cause", err, "try", ken.Hint(err))
		}
		if !l.engineDown {
			_, release, err = l.Store(ctx, "")
		}
	}
	if err == nil {
		release()
		if err := l.hideState(); err != nil {
			l.o.Log.Warn("keep the state out of version control", "cause", err)
		}
		if l.o.Foreground && !l.o.Brief { // otherwise the background does this
			if err := l.finishForgetting(ctx, ""); err != nil {
				l.o.Log.Warn("erase what was forgotten", "cause", err, "try", ken.Hint(err))
			}
		}
		return nil
	}
	if l.o.Strict || ctx.Err() != nil {
		return err
	}
	if !remote.IsHung(err) && !errors.Is(err, commitlog.ErrUnreachable) { // otherwise the next turn tries again
		l.storeErr = err
	}
	l.o.Log.Error("the layer works without knowledge", "cause", err, "try", ken.Hint(err))
	return nil
}

// hideState keeps a state folder inside the project out of version control, because its content is
// private to this machine.
func (l *Layer) hideState() error {
	dir := l.cfg.State(l.o.Root)
	if !strings.HasPrefix(dir, l.o.Root+string(filepath.Separator)) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hide state folder: %w", err)
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// Store opens an owner's store, for programs that read or write claims. An empty owner means
// the configured one. Call release when done. It returns ErrInvalid for the name of a new owner that could
// not be written in a header or a configuration, or that is the name of a file of Ken's.
func (l *Layer) Store(ctx context.Context, owner string) (s store.Engine, release func(), err error) {
	owner = l.ownerOrDefault(owner)
	if !l.mayOpen(owner) {
		return nil, nil, &ken.Error{Code: ken.CodeInvalid, Field: "owner", Msg: fmt.Sprintf("%.140q can't be the name of a new owner", owner), Try: "Use " + access.OwnerForm + "."}
	}
	if l.engineErr != nil {
		return nil, nil, l.engineErr
	}
	return l.owners.Get(ctx, owner)
}

// mayOpen reports whether an owner's store may be opened: an owner of that name may be new, or has a store. Whether an
// engine has one is not known here.
func (l *Layer) mayOpen(owner string) bool {
	reserved := bolt.Reserved(owner)
	return !reserved && (access.ValidOwner(owner) || l.cfg.Store.URL != "") || bolt.HasStore(l.ownerDir(owner))
}

// storeWhenRecorded is Store after all turns so far were recorded.
func (l *Layer) storeWhenRecorded(ctx context.Context, owner string) (store.Engine, func(), error) {
	if err := l.recorder.flush(ctx); err != nil {
		return nil, nil, err
	}
	return l.Store(ctx, owner)
}

// openProjections opens an owner's store for a turn.
func (l *Layer) openProjections(ctx context.Context, owner string) (store.Projections, func(), error) {
	if l.storeErr != nil {
		return nil, nil, l.storeErr
	}
	return l.Store(ctx, owner)
}

// Config returns the configuration in force.
func (l *Layer) Config() config.Config { return l.cfg }

// Retrieval returns the search options of the configured owner's turns, without the sources. It is
// for programs that run searches of their own. The second result is the reason why there is no
// vector search; "" if there is one.
func (l operator) Retrieval() (retriever.Options, string) { return l.RetrievalOf("") }

// RetrievalOf is Retrieval for an owner, with the calibration of that owner's store.
func (l operator) RetrievalOf(owner string) (retriever.Options, string) {
	return l.searchOptions(owner)
}

// Root returns the project's folder.
func (l *Layer) Root() string { return l.o.Root }

// RootOf returns Root for the owner of the project's files, which is the configured owner; "" means
// that owner too. For other owners it returns "": if their evidence were compared with the files,
// they could find out what the files contain.
func (l operator) RootOf(owner string) string {
	if owner != "" && owner != l.cfg.Knowledge.Owner {
		return ""
	}
	return l.o.Root
}

// Embedder returns the embedder that turns use. It has a circuit breaker.
func (l operator) Embedder() *guard.Guard { return l.embedder }

// start starts the background work, which runs until Close.
func (l *Layer) start() {
	ctx, stop := context.WithCancel(inBackground(context.Background()))
	l.stop = stop
	l.calibrations.due = make(chan string, 16)
	l.running.Go(func() { l.runCalibrations(ctx) })
	l.running.Go(l.catchPanics("reading the code", func() { l.followCode(ctx) }))
	if l.cfg.Middleware.Knowledge {
		l.maintainSessions("")
		l.running.Go(func() { l.runSessionChecks(ctx) })
		l.running.Go(func() { l.runFilingOthers(ctx) })
		l.running.Go(func() { l.runStatements(ctx) })
	}
	l.running.Go(l.catchPanics("looking after the store", func() {
		if l.vectorCause == "" && !l.embedder.Local() {
			_ = l.embedder.Probe(ctx) // so that the breaker has a result before the first turn
		}
		l.maintainStore(ctx)
	}))
}

// catchPanics wraps f so that a panic is logged and ends only f. In a goroutine of its own, a panic
// would end the process. Background work reads texts of others, and one bad text must not stop all
// turns.
func (l *Layer) catchPanics(what string, f func()) func() {
	return func() { l.guarded(what+" panicked and has ended", f) }
}

// onStoreHeld is called when this process becomes the holder of an owner's store.
func (l *Layer) onStoreHeld(owner string) {
	if owner == l.cfg.Knowledge.Owner {
		offer(l.holderChanged, struct{}{})
	}
}

// onStoreClosed is called after this process has closed an owner's store. It drops the owner's cached
// state, which is read again when needed.
func (l *Layer) onStoreClosed(owner string) {
	l.learners.drop(owner)
	l.sessionsMu.Lock()
	d := l.sessions[owner]
	l.sessionsMu.Unlock()
	if d != nil {
		d.journal.Release()
	}
}

// maintainStore indexes, embeds, files and calibrates the configured owner's store until ctx ends.
// It starts when this process becomes the holder of the store, so only one process does this. It
// keeps the store open, so that the store has a holder.
func (l *Layer) maintainStore(ctx context.Context) {
	defer l.firstIndex.end()
	s, release, err := l.Store(ctx, "")
	for remote.IsHung(err) {
		if pause(ctx, time.Second) != nil {
			return
		}
		s, release, err = l.Store(ctx, "")
	}
	if err != nil {
		return // Open has logged the reason
	}
	defer release()
	for !l.owners.Holds(l.cfg.Knowledge.Owner) {
		select {
		case <-l.holderChanged:
		case <-ctx.Done():
			return
		}
	}
	var tasks sync.WaitGroup
	defer tasks.Wait() // before the store is released
	if l.filesClaims() {
		tasks.Go(l.catchPanics("filing claims", func() { l.runFiling(ctx, s) }))
	}
	l.refreshQuietly(ctx)
	l.calibrateQuietly(ctx, "")
	tasks.Go(l.catchPanics("following the code", func() { l.refineCode(ctx) }))
	for seq := s.Seq(); ctx.Err() == nil && l.embedNew(ctx, s); seq = s.Seq() {
		if s.Wait(ctx, seq) != nil {
			return
		}
	}
}

// embedNew embeds new claims, unless they are embedded when they are written, and requests a
// calibration that is due. While the embedding service is down, it retries as often as the circuit
// breaker probes. It returns false when ctx ends.
func (l *Layer) embedNew(ctx context.Context, s store.Engine) bool {
	for l.vectorCause == "" && !embed.IsInline(l.embedder) {
		_, err := s.EmbedMissing(ctx)
		if err == nil {
			l.calibrateQuietly(ctx, "")
			return true
		}
		if l.warn(ctx, "embed new claims", err); pause(ctx, l.cfg.Breaker.Open) != nil {
			return false
		}
	}
	have, total := s.Coverage()
	l.requestCalibration(l.cfg.Knowledge.Owner, have, total)
	return true
}

// refreshQuietly refreshes the configured owner's store in the background, and logs errors.
func (l *Layer) refreshQuietly(ctx context.Context) {
	l.quietly(ctx, "refresh knowledge", func() error {
		_, err := l.Refresh(ctx, "")
		return err
	})
}

// Refresh indexes changed files of the repository in an owner's store, and embeds records that have
// no vector yet. With Options.Foreground it also reads the code, which a turn has no time for.
func (l *Layer) Refresh(ctx context.Context, owner string) (repository.Report, error) {
	var reading sync.WaitGroup
	if l.o.Foreground && l.code.base != nil && l.readsProject(l.ownerOrDefault(owner)) {
		reading.Go(func() {
			_, err := l.Operator().ReadCode(ctx)
			l.warn(ctx, "read the code", err)
		})
	}
	defer reading.Wait()
	return l.refresh(ctx, owner)
}

func (l *Layer) refresh(ctx context.Context, owner string) (repository.Report, error) {
	var report repository.Report
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return report, err
	}
	defer release()
	if readOnly(ctx, s) {
		return report, nil
	}
	if l.cfg.Repository.Index {
		report, err = repository.Index(ctx, l.o.Root, s, l.indexing())
		l.firstIndex.end()
		if err != nil {
			return report, fmt.Errorf("index repository: %w", err)
		}
	}
	if have, total := s.Coverage(); have == total || l.vectorCause != "" {
		return report, nil
	}
	if l.o.Foreground && !l.embedder.Local() { // a person waits: report a service that is down at once
		if err := l.embedder.Probe(ctx); err != nil {
			return report, fmt.Errorf("embed: %w", err)
		}
	}
	if _, err = s.EmbedMissing(ctx); err != nil {
		return report, fmt.Errorf("embed: %w", err)
	}
	return report, nil
}

// readOnly reports whether a store's folder can't be written. Such a store can be searched, but
// nothing can be added.
func readOnly(ctx context.Context, s store.Engine) bool {
	faults, err := s.Faults(ctx)
	return err == nil && slices.ContainsFunc(faults, func(f store.Fault) bool { return f.Name == store.FaultReadOnly })
}

// closeRecordLimit is how long Close waits for the records of turns and answers to be written.
// Records of many owners may wait until their stores are opened.
const closeRecordLimit = 10 * time.Second

// Close stops background work, ends the open sessions, harvests for some seconds at most, and
// closes the stores. The next start harvests the rest. Turns in progress continue without
// knowledge.
func (l *Layer) Close() error {
	var err error
	l.closing.Do(func() {
		if l.stop != nil {
			l.stop()
		}
		l.code.stop()
		l.responseTasks.close()
		l.recorder.close()
		late := time.AfterFunc(closeRecordLimit, l.stopRecording)
		l.running.Wait()
		late.Stop()
		l.stopRecording()
		l.judgeAll()
		if l.reranker != nil {
			l.reranker.Close()
		}
		errs := []error{l.leaveSessions(), l.closeCode(), l.owners.Close(), l.closeNode(), l.embedder.Close(), l.withdrawProcess()}
		if l.events != nil {
			errs = append(errs, l.events.Close())
		}
		err = errors.Join(errs...)
	})
	return err
}

// counts holds the totals of jobs.
type counts struct{ done, retried, dead atomic.Uint64 }

// Counts returns the totals so far.
func (l operator) Counts() inspect.Counts {
	c := inspect.Counts{Harvested: l.counts.done.Load(), Retried: l.counts.retried.Load(), Dead: l.counts.dead.Load()}
	r := l.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Lost, c.Waiting = r.dropped+r.failed, r.waiting
	c.Written = r.accepted - r.failed - uint64(max(r.waiting, 0))
	return c
}

// operator gives access to what the operator of a layer needs: what turns were given and why, what
// is stored, what runs in the background, and how well it works. The command line, the console, the
// REST interface and the gateway use it. Its methods belong to Ken and may
// change with any version.
type operator struct{ *Layer }

// Operator returns the view of Ken's own programs. A program of the user's own cannot rely on it:
// a chat loop needs only the Layer. There is nothing to close.
func (l *Layer) Operator() operator { return operator{l} }
