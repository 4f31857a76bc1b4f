package middleware

import (
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
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// rememberedTurns bounds the blocks kept for later requests: some megabytes.
const rememberedTurns = 4096

// Layer is an open knowledge layer. It is safe for concurrent use by any number
// of conversations. Close it when done.
type Layer struct {
	o     Options
	cfg   config.Config
	now   func() time.Time
	newID func() string

	owners             *shared.Owners
	holderChanged      chan struct{} // told when this process comes to hold the configured owner's folder
	storeErr           error         // why there is no store; turns go on without
	embedder           *embed.Guard
	backgroundEmbedder embed.Embedder    // the same model, with retries, for work that nobody waits for
	vectorCause        string            // why there is no vector leg, when there is none
	retrieval          retriever.Options // before calibration
	calibrations       calibrations
	countTokens        func(string) int
	playbooks          *retriever.PlaybookCache
	renderCache        *budgeter.Cache
	handler            Handler
	blocks             *blockCache
	cleanCache         cleanCache
	composing          atomic.Int64 // turns that compose a block; see enter
	overdue            atomic.Int64 // turns that compose a block which nobody waits for; see inTime
	promptCache        *promptCacheCounter
	threads            *threads
	openings           openings
	statements         statements
	mergeModels        mergeModels
	responseTasks      taskGroup
	activeTurns        activeTurns
	taintMemory        taintMemory
	learners           learners
	judgements         judgedTurns
	counts             counts
	lateResults        lateResults
	sessionFocus       *sessionFocus
	filing             filing
	code               code
	events             *telemetry.Log

	// recovery says where a turn's session stands, for a conversation that lost it;
	// nil knows nothing. See checkpoint.
	findCheckpoint func(ctx context.Context, t *ken.Turn) (text string, at time.Time, ok bool)
	// carried names the entities that a session was about before this process saw it,
	// strongest first, such as those of its checkpoint; nil knows none. See carries.
	findStoredFocus func(ctx context.Context, t *ken.Turn) ([]string, error)

	process            string              // names this process in journals and leases
	announcement       *alive.Announcement // guarded by desksMu; nil until there is a desk
	tools              finding.Tools
	recorder           *recorder
	wake               chan struct{} // wakes keepTending
	recoveries         recoveredConversations
	conversationStarts conversationStarts
	sessionsMu         sync.Mutex // guards desks
	sessions           map[string]*ownerSessions

	stop    context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
}

// Open opens the layer of the project in o.Root. Errors: a configuration that
// can't be used, always; a store that can't be opened, when o.Strict is set.
// ctx bounds opening only.
func Open(ctx context.Context, o Options) (*Layer, error) {
	o = o.withDefaults()
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find project: %w", err)
	}
	o.Root = root
	cfg, stateErr, err := configuration(o)
	if err != nil {
		return nil, err
	}
	l := &Layer{o: o, cfg: cfg, now: o.Now, newID: o.NewID, blocks: newBlockCache(rememberedTurns), promptCache: newPromptCacheCounter(), threads: newThreads(), sessionFocus: newSessionFocus(),
		process: o.NewID(), wake: make(chan struct{}, 1), sessions: map[string]*ownerSessions{}}
	l.recorder = newRecorder(l.writeRecords, func() {
		l.o.Log.Warn("turns come faster than they can be journaled; some are left out", "waiting", maxWaiting)
	}, func(f func()) { l.running.Go(f) })
	if l.tools, err = finding.Parse(cfg.Harvest.Tools); err != nil {
		return nil, fmt.Errorf("harvest.tools: %w", err)
	}
	if err := l.openEmbedder(); err != nil {
		return nil, err
	}
	if o.CountTokens || cfg.Budget.Tokens > 0 {
		if l.countTokens, err = tokens.Counter(string(cfg.Budget.Encoding)); err != nil {
			return nil, errors.Join(fmt.Errorf("load tokenizer: %w", err), l.embedder.Close())
		}
	}
	l.findCheckpoint, l.findStoredFocus = l.recoverSession, l.checkpointFocus
	l.cfg.Knowledge.DecayDays = max(l.lifecyclePolicy().ConfidenceDecayDays, 0) // lifecycle.yaml may say so
	l.retrieval = retrievalOptions(&l.cfg)
	l.playbooks, l.renderCache = retriever.NewPlaybookCache(), budgeter.NewCache()
	l.handler = chain(l.stages(&l.cfg))
	l.openFiling()
	l.openStatements()
	l.openCode(ctx)
	l.holderChanged = make(chan struct{}, 1)
	l.owners = shared.NewOwners(cfg.State(root), 0, shared.Options{Log: o.Log, OnHold: l.onHold,
		Store: bolt.Options{Embedder: l.backgroundEmbedder, Progress: o.Progress, Now: o.Now, Assign: assign}})
	if cfg.Middleware.Events {
		l.events = telemetry.Open(config.InProject(root, cfg.Telemetry.Events))
	}
	if err := l.openStore(ctx, stateErr); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !o.Foreground && l.storeErr == nil {
		l.start()
	}
	return l, nil
}

// configuration is what is in force. What of the project's folder does not count is told;
// a state that does not, and has nothing in its place, is stateErr.
func configuration(o Options) (cfg config.Config, stateErr, err error) {
	var r *config.Resolved
	if o.Config != nil { // the program's own
		if err := o.Config.Validate(); err != nil {
			return cfg, nil, err
		}
		r, stateErr = config.Given(o.Root, *o.Config)
	} else if r, stateErr = config.Resolve(o.Root, ""); r == nil {
		return cfg, nil, stateErr
	}
	if said := r.Notice(); said != "" && stateErr == nil {
		o.Log.Warn(said)
	}
	return r.Config, stateErr, nil
}

// openStore opens the configured owner's store at once, so that the first turn
// doesn't wait for it and a fault shows at the start.
func (l *Layer) openStore(ctx context.Context, stateErr error) error {
	if !l.cfg.Middleware.Knowledge {
		return nil
	}
	err, release := stateErr, func() {}
	if err == nil {
		if err := l.cfg.MakeState(l.o.Root); err != nil {
			l.o.Log.Warn("the state will not be known again", "cause", err, "try", ken.Hint(err))
		}
		_, release, err = l.Store(ctx, "")
	}
	if err == nil {
		release()
		if err := l.hideState(); err != nil {
			l.o.Log.Warn("keep the state out of version control", "cause", err)
		}
		if l.o.Foreground { // else the background does
			if err := l.finishForgetting(ctx, ""); err != nil {
				l.o.Log.Warn("erase what was forgotten", "cause", err, "try", ken.Hint(err))
			}
		}
		return nil
	}
	if l.o.Strict || ctx.Err() != nil {
		return err
	}
	if !remote.IsHung(err) { // else the next turn asks again
		l.storeErr = err
	}
	l.o.Log.Error("the layer works without knowledge", "cause", err, "try", ken.Hint(err))
	return nil
}

// hideState keeps the state folder out of version control, if it is in the
// project: what it holds is private to this machine.
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

// Store opens an owner's store, "" for the configured one, for programs that
// write claims or look at them. Call release when done with it.
func (l *Layer) Store(ctx context.Context, owner string) (s store.Engine, release func(), err error) {
	if owner == "" {
		owner = l.cfg.Knowledge.Owner
	}
	return l.owners.Get(ctx, owner)
}

func (l *Layer) openProjections(ctx context.Context, owner string) (store.Projections, func(), error) {
	if l.storeErr != nil {
		return nil, nil, l.storeErr
	}
	return l.Store(ctx, owner)
}

// Config is the configuration in force.
func (l *Layer) Config() config.Config { return l.cfg }

// Retrieval is how the configured owner's turns search, legs apart: for programs
// that search by themselves. The second result says why there is no vector leg; ""
// when there is.
func (l *Layer) Retrieval() (retriever.Options, string) { return l.RetrievalOf("") }

// RetrievalOf is Retrieval for an owner, as calibrated for its store.
func (l *Layer) RetrievalOf(owner string) (retriever.Options, string) { return l.searchOptions(owner) }

// Root is the project's folder.
func (l *Layer) Root() string { return l.o.Root }

// RootOf is Root for the owner whose files the project's are, the configured one, also
// named "". For others it is "": to compare evidence with files for them would tell what
// is there.
func (l *Layer) RootOf(owner string) string {
	if owner != "" && owner != l.cfg.Knowledge.Owner {
		return ""
	}
	return l.o.Root
}

// Embedder is the embedder of the turn path, behind its breaker.
func (l *Layer) Embedder() *embed.Guard { return l.embedder }

// start indexes and embeds in the background until Close.
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
			_ = l.embedder.Probe(ctx) // so that the breaker knows before the first turn does
		}
		l.maintainStore(ctx)
	}))
}

// catchPanics is f for a goroutine of its own, where a panic would end the process: it reads
// what others wrote, and one text must not cost all turns. The log hears of it, and that
// turnsMu is over until the next start.
func (l *Layer) catchPanics(what string, f func()) func() {
	return func() {
		if err := caught.Run(func() error { f(); return nil }); err != nil {
			l.o.Log.Error(what+" panicked and has ended", "cause", err, "stack", caught.Stack(err))
		}
	}
}

// onHold hears which folders this process has come to hold.
func (l *Layer) onHold(owner string) {
	if owner != l.cfg.Knowledge.Owner {
		return
	}
	select {
	case l.holderChanged <- struct{}{}:
	default:
	}
}

// maintainStore looks after the configured owner's store until ctx ends, from when this
// process holds it: of all that work on it, one does. It keeps the store open, so
// that it has a holder who does.
func (l *Layer) maintainStore(ctx context.Context) {
	s, release, err := l.Store(ctx, "")
	for remote.IsHung(err) {
		select {
		case <-time.After(time.Second):
			s, release, err = l.Store(ctx, "")
		case <-ctx.Done():
			return
		}
	}
	if err != nil {
		return // Open told why
	}
	defer release()
	for !l.owners.Holds(l.cfg.Knowledge.Owner) {
		select {
		case <-l.holderChanged:
		case <-ctx.Done():
			return
		}
	}
	var beside sync.WaitGroup
	defer beside.Wait() // before the store is released
	if l.filesClaims() {
		beside.Go(l.catchPanics("filing claims", func() { l.runFiling(ctx, s) }))
	}
	l.refreshQuietly(ctx)
	l.calibrateQuietly(ctx, "")
	beside.Go(l.catchPanics("following the code", func() { l.refineCode(ctx) }))
	for seq := s.Seq(); ctx.Err() == nil && l.embedNew(ctx, s); seq = s.Seq() {
		if s.Wait(ctx, seq) != nil {
			return
		}
	}
}

// keepUp embeds what was written, where that is not done during the write, and
// measures how far the embedder is to be trusted when that is due. While the gateway
// is down it tries again as often as the breaker's probes do. It reports whether to
// go on.
func (l *Layer) embedNew(ctx context.Context, s store.Engine) bool {
	for l.vectorCause == "" && !l.embedder.Local() {
		_, err := s.EmbedMissing(ctx)
		if err == nil {
			l.calibrateQuietly(ctx, "")
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		l.o.Log.Warn("embed new claims", "cause", err, "try", ken.Hint(err))
		select {
		case <-time.After(l.cfg.Breaker.Open):
		case <-ctx.Done():
			return false
		}
	}
	have, total := s.Coverage()
	l.requestCalibration(l.cfg.Knowledge.Owner, have, total)
	return true
}

// refreshQuietly is Refresh of the configured owner's store where nobody waits for it.
func (l *Layer) refreshQuietly(ctx context.Context) {
	err := caught.Run(func() error {
		_, err := l.Refresh(ctx, "")
		return err
	})
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("refresh knowledge", "cause", err, "try", ken.Hint(err))
	}
}

// Refresh brings the repository's content up to date in an owner's store, and
// embeds what has no vector yet. It changes only what changed on disk.
func (l *Layer) Refresh(ctx context.Context, owner string) (repository.Report, error) {
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
		if report, err = repository.Index(ctx, l.o.Root, s, l.indexing()); err != nil {
			return report, fmt.Errorf("index repository: %w", err)
		}
	}
	if have, total := s.Coverage(); have == total || l.vectorCause != "" {
		return report, nil
	}
	if l.o.Foreground && !l.embedder.Local() { // somebody waits: hear at once of a gateway that is down
		if err := l.embedder.Probe(ctx); err != nil {
			return report, fmt.Errorf("embed: %w", err)
		}
	}
	if _, err = s.EmbedMissing(ctx); err != nil {
		return report, fmt.Errorf("embed: %w", err)
	}
	return report, nil
}

// readOnly reports a store in a folder that can't be written: what was indexed before is
// found, and nothing can be added.
func readOnly(ctx context.Context, s store.Engine) bool {
	faults, err := s.Faults(ctx)
	return err == nil && slices.ContainsFunc(faults, func(f store.Fault) bool { return f.Name == store.FaultReadOnly })
}

// Close stops background work, ends the sessions that are open, harvests for some
// seconds at most, leaves the rest to the next start, and closes the stores. Turns
// that are under way go on without knowledge.
func (l *Layer) Close() error {
	var err error
	l.closing.Do(func() {
		if l.stop != nil {
			l.stop()
		}
		l.responseTasks.close()
		l.recorder.close()
		l.running.Wait()
		l.judgeAll()
		errs := []error{l.endSessions(), l.closeFiling(), l.closeCode(), l.owners.Close(), l.embedder.Close(), l.withdrawProcess()}
		if l.events != nil {
			errs = append(errs, l.events.Close())
		}
		err = errors.Join(errs...)
	})
	return err
}

// Counts is what a layer did behind the turns' backs since it was opened.
type Counts struct {
	Written uint64 // records of turns and answers that were handed to the journals and the receipts
	Lost    uint64 // records that were left out, because they came too fast
	Waiting int    // records that are still to be written

	Harvested uint64 // jobs that were done
	Retried   uint64 // runs of jobs that failed and are due again
	Dead      uint64 // jobs that were given up on
}

// counts are those that have no place of their own.
type counts struct{ done, retried, dead atomic.Uint64 }

// addHarvest counts a run of the queue.
func (c *counts) addHarvest(r *jobs.Report) {
	c.done.Add(uint64(r.Done))
	c.retried.Add(uint64(r.Retried))
	c.dead.Add(uint64(r.Dead))
}

// Counts returns what was done so far.
func (l *Layer) Counts() Counts {
	c := Counts{Harvested: l.counts.done.Load(), Retried: l.counts.retried.Load(), Dead: l.counts.dead.Load()}
	r := l.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Lost, c.Waiting = r.dropped, r.waiting
	c.Written = r.accepted - uint64(max(r.waiting, 0))
	return c
}
