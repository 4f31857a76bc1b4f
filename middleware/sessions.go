package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// ownerSessions is what the layer keeps for the sessions of one owner.
type ownerSessions struct {
	journal   *session.Journal
	queue     *jobs.Queue
	receipts  *receipt.Book
	harvester *harvest.Harvester
	model     *model.Client // that harvests and files; nil for rules alone

	maintained bool      // this process has sessions in the journal, or was asked to look after it
	due        time.Time // when the sessions are to be checked; zero if nothing was open or waiting at the last check
}

// sessionsOf returns the sessions of an owner, made on first use.
func (l *Layer) sessionsOf(owner string) *ownerSessions {
	if owner == "" {
		owner = l.cfg.Knowledge.Owner
	}
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	if d := l.sessions[owner]; d != nil {
		return d
	}
	process := briefProcess
	if !l.o.Brief {
		l.announceProcess()
		process = l.process
	}
	t := ownerStore{l, owner}
	d := &ownerSessions{
		journal: session.NewJournal(t, session.Options{Process: process, Alive: l.isAlive, Now: l.now, MaxMessageBytes: l.cfg.Session.MessageBytes,
			Annotate: finding.Observe(l.Operator().RootOf(owner), l.tools), Log: l.o.Log}),
		queue: jobs.NewQueue(t, jobs.Options{Process: l.process, Alive: l.isAlive, Now: l.now, Log: l.o.Log}),
	}
	d.receipts = receipt.NewBook(t, l.receiptOptions())
	d.model = l.auxiliaryModel(t)
	d.harvester = l.newHarvester(t, d)
	l.sessions[owner] = d
	return d
}

// maintainSessions has the background check an owner's sessions from now on, the first time in
// the next round.
func (l *Layer) maintainSessions(owner string) { l.checkAt(l.sessionsOf(owner), l.now()) }

// checkAt has the background check an owner's sessions at a time, or earlier.
func (l *Layer) checkAt(d *ownerSessions, due time.Time) {
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	d.maintained = true
	if !due.IsZero() && (d.due.IsZero() || due.Before(d.due)) {
		d.due = due
	}
}

// noteSession is maintainSessions for an owner whose store is open, and in which something was
// said just now: no check is due before the session may be idle. When it is the first session of
// the owner that this process sees, it looks for what others have left.
func (l *Layer) noteSession(ctx context.Context, owner string) {
	d := l.sessionsOf(owner)
	l.sessionsMu.Lock()
	known := d.maintained
	l.sessionsMu.Unlock()
	due := l.now().Add(l.cfg.Session.Idle)
	if !known {
		if next, err := l.nextCheck(ctx, d); err != nil || !next.IsZero() {
			due = next
		}
	}
	l.checkAt(d, due)
}

// maintainedOwners lists the owners that this process looks after and for which want is true. The
// caller opens their stores, so it should be few at a time.
func (l *Layer) maintainedOwners(want func(*ownerSessions) bool) (owners []string) {
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	for owner, d := range l.sessions {
		if d.maintained && want(d) {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners
}

// Journal returns the journal of an owner's sessions, "" for the configured owner. It keeps
// them until they were harvested.
func (l operator) Journal(owner string) *session.Journal { return l.sessionsOf(owner).journal }

// Jobs returns the queue of an owner's jobs, "" for the configured owner. The layer runs them.
func (l operator) Jobs(owner string) *jobs.Queue { return l.sessionsOf(owner).queue }

// Session returns the handle of a turn's session. What a program learns, recalls, verifies and
// disputes through it carries the session, the branch and the actor, and is written to the
// session's event log first. Messages that a Transport or a Wrapped forwards need no
// Session.Add.
func (l *Layer) Session(t ken.Turn) *session.Session {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if l.keepsMessages(&t) {
		l.maintainSessions(t.Owner) // a session that gets messages by Session.Add ends with the layer
	}
	return l.newHandle(t.Owner, sessionAbout(&t), t.Incognito)
}

// sessionHandle returns the handle of a session that is journaled.
func (l *Layer) sessionHandle(owner string, a session.About) *session.Session {
	return l.newHandle(owner, a, false)
}

// newHandle returns the handle of a session. Actions through an incognito handle are done and
// written to the event log, but messages are not journaled.
func (l *Layer) newHandle(owner string, a session.About, incognito bool) *session.Session {
	st := ownerStore{l, owner}
	o := session.HandleOptions{About: a, Store: st, Now: l.now, Log: l.o.Log,
		Actor: ken.Actor{Type: "agent", ID: a.Agent},
		Rejected: func(ctx context.Context, act session.Action, text string, err error) {
			r := rejection(act, err)
			if !incognito {
				r.Text = text
			}
			if err := attention.Reject(ctx, st, r); err != nil {
				l.o.Log.Warn("note a refused write", "cause", err)
			}
		}}
	if l.keepsMessages(&ken.Turn{Session: a.ID, Incognito: incognito}) {
		o.Journal = l.Operator().Journal(owner)
	}
	if l.events != nil {
		o.Logger = func(_ context.Context, act session.Action) error { return l.events.Write(a.ID, act) }
	}
	return session.New(o)
}

// End ends a session for the reason given, once what was said is in the journal. The session is
// then harvested: at once in the background, or with the next call of Harvest if the layer has
// no background. The receipts of a session that is Deleted are deleted at once. A session that
// is not open is no error.
func (l *Layer) End(ctx context.Context, owner, id string, why session.Reason) error {
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	l.judgeSession(ctx, owner, id, why == session.Deleted)
	ended, err := l.Operator().Journal(owner).End(ctx, id, why)
	if errors.Is(err, ken.ErrNotFound) {
		err = nil
	}
	if ended {
		l.maintainSessions(owner)
		l.wakeSessionChecks()
	}
	if why == session.Deleted && err == nil {
		_, err = l.Operator().Receipts(owner).ForgetSession(ctx, id)
	}
	return err
}

// ForgetSession deletes what the journal holds of a session, including what was said just now,
// and the receipts of its turns, so that nothing more is learned from it. What was learned
// before stays. A session that does not exist is no error.
func (l operator) ForgetSession(ctx context.Context, owner, id string) error {
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	l.judgeSession(ctx, owner, id, true)
	d := l.sessionsOf(owner)
	resume, err := d.harvester.Pause(ctx) // a harvest that has read the session would go on
	if err != nil {
		return fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer resume()
	if _, err := l.waitForOtherHarvests(ctx, d, id); err != nil {
		return err
	}
	if err := d.journal.Forget(ctx, id); err != nil && !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	_, err = d.receipts.ForgetSession(ctx, id)
	return err
}

// Harvest brings the owner's sessions to their end, in this goroutine:
//
//  1. The recorder writes what was said to the journal.
//  2. Sessions that are idle, or were left by a process that died, end. Each end queues a job.
//  3. The queue runs the jobs that are due: the harvester drafts claims, drops echoes of what
//     was injected, consolidates the rest with what is known, and writes it.
//  4. New claims are filed under the entities that they are about.
//  5. Messages and receipts that were kept long enough are deleted, as lifecycle.yaml says.
//
// The error is of the queue itself, never of a job. Every process may call Harvest, also at
// the same time: a job is leased to one of them.
func (l *Layer) Harvest(ctx context.Context, owner string) (jobs.Report, error) {
	d := l.sessionsOf(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return jobs.Report{}, err
	}
	if _, err := d.journal.EndIdle(ctx, l.cfg.Session.Idle); err != nil {
		return jobs.Report{}, err
	}
	if d.model != nil && l.filesClaims() {
		if err := (ownerStore{l, l.ownerOrDefault(owner)}).use(ctx, func(s store.Engine) error { return l.classifier(s, d).Begin(ctx) }); err != nil {
			return jobs.Report{}, err
		}
	}
	report, err := l.runJobs(ctx, d)
	if err != nil {
		return report, err
	}
	if err := l.fileAfterHarvest(ctx, owner, &report); err != nil {
		return report, err
	}
	if _, err := d.journal.Sweep(ctx, l.lifecyclePolicy().JournalGrace()); err != nil {
		return report, err
	}
	_, err = d.receipts.Prune(ctx)
	return report, err
}

// runJobs runs the jobs of the queue that are due, unless middleware.harvest is off.
func (l *Layer) runJobs(ctx context.Context, d *ownerSessions) (jobs.Report, error) {
	if !l.cfg.Middleware.Harvest {
		return jobs.Report{}, nil
	}
	report, err := d.queue.Drain(ctx, l.jobHandlers(d))
	l.counts.addHarvest(&report)
	return report, errors.Join(err, markFailed(ctx, d, report.Jobs))
}

// markFailed marks the sessions whose jobs were given up. Their messages stay, and ken jobs
// retry can still harvest them.
func markFailed(ctx context.Context, d *ownerSessions, ran []jobs.Job) error {
	var errs []error
	for i := range ran {
		j := &ran[i]
		id := jobSession(j)
		if j.State != jobs.Dead || id == "" {
			continue
		}
		if err := d.journal.Failed(ctx, id, j.Error); err != nil && !errors.Is(err, ken.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// jobSession returns the session that a job is about; "" for none.
func jobSession(j *jobs.Job) string {
	var p session.HarvestJob
	if j.Kind != session.JobHarvest || json.Unmarshal(j.Payload, &p) != nil {
		return ""
	}
	return p.Session
}

// jobHandlers returns the handlers of jobs by kind.
func (l *Layer) jobHandlers(d *ownerSessions) map[string]jobs.Handler {
	return map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, j jobs.Job, progress func(string, int, int)) (string, error) {
		return d.harvester.Handle(ctx, j, func(stage string, done, total int) {
			progress(stage, done, total)
			l.o.Progress(stage, done, total)
		})
	}}
}

// sessionCheckEvery is how often the background looks for idle sessions and for jobs that are
// due. It opens only the stores of owners who have some by then: see nextCheck. Owners with
// nothing to do are checked once every idleCheckFactor rounds, for messages to delete.
const (
	sessionCheckEvery = 30 * time.Second
	idleCheckFactor   = 120
)

// runSessionChecks checks the owners' sessions until ctx ends, first those that other processes
// left.
func (l *Layer) runSessionChecks(ctx context.Context) {
	l.sweepDeadProcesses()
	for _, owner := range l.ownersOnDisk() {
		l.maintainSessions(owner)
	}
	tick := time.NewTicker(sessionCheckEvery)
	defer tick.Stop()
	for n := 0; ; {
		now, all := l.now(), n%idleCheckFactor == 0
		due := func(d *ownerSessions) bool { return all || !d.due.IsZero() && !d.due.After(now) }
		for _, owner := range l.maintainedOwners(due) {
			if ctx.Err() != nil {
				return
			}
			l.checkSessions(ctx, owner)
		}
		select {
		case <-tick.C:
			n++
		case <-l.wake:
			if n%idleCheckFactor == 0 { // the round for idle owners is done
				n++
			}
		case <-ctx.Done():
			return
		}
	}
}

// checkSessions checks one owner's sessions once.
func (l *Layer) checkSessions(ctx context.Context, owner string) {
	d := l.sessionsOf(owner)
	l.sessionsMu.Lock()
	d.due = time.Time{} // a message that comes during the check sets it
	l.sessionsMu.Unlock()
	if err := caught.Run(func() error { return l.finishForgetting(ctx, owner) }); err != nil && ctx.Err() == nil {
		l.o.Log.Warn("erase what was forgotten", "owner", owner, "cause", err, "try", ken.Hint(err))
	}
	err := caught.Run(func() error {
		_, err := l.Harvest(ctx, owner)
		return err
	})
	next := l.now()
	if err == nil {
		next, err = l.nextCheck(ctx, d)
	}
	l.checkAt(d, next)
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("harvest sessions", "owner", owner, "cause", err, "try", ken.Hint(err))
	}
}

// nextCheck returns when an owner's sessions are to be checked: when the first open session may
// be idle, and at once if there is a job to run, or a session that a dead process left. It is
// zero if there is nothing, and never for the configured owner, whose jobs any process may add.
func (l *Layer) nextCheck(ctx context.Context, d *ownerSessions) (next time.Time, err error) {
	now := l.now()
	if d == l.sessionsOf("") {
		return now, nil
	}
	left, err := d.queue.List(ctx, jobs.Queued, jobs.Running)
	if err != nil || len(left) > 0 {
		return now, err
	}
	list, err := d.journal.List(ctx)
	if err != nil {
		return now, err
	}
	for i := range list {
		s, at := &list[i], now
		switch {
		case s.State == session.Open && l.isAlive(s.Process):
			at = s.Active.Add(l.cfg.Session.Idle)
		case s.State != session.Open && s.State != session.Ended:
			continue
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, nil
}

// ownersOnDisk lists the owners whose stores are on disk. An earlier process may have left
// sessions there.
func (l *Layer) ownersOnDisk() (owners []string) {
	owners, err := bolt.List(l.cfg.State(l.o.Root))
	if err != nil {
		l.o.Log.Warn("look for owners", "cause", err)
	}
	return owners
}

// wakeSessionChecks starts a round of checks now.
func (l *Layer) wakeSessionChecks() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// briefProcess names all processes with Options.Brief in journals. Their conversations go on
// without them, so it counts as alive: such a session ends when it is idle.
const briefProcess = "hooks"

// leaveSessions is what Close does about this process's sessions.
func (l *Layer) leaveSessions() error {
	if l.o.Brief {
		return l.learnStatements()
	}
	return l.endSessions()
}

// closeHarvestLimit bounds what Close spends on harvesting. Rules are done by then; the rest
// stays in the queue for the next start.
const closeHarvestLimit = 3 * time.Second

// endSessions ends this process's sessions and harvests what is quick, including jobs that
// waited.
func (l *Layer) endSessions() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeHarvestLimit)
	defer cancel()
	var errs []error
	for _, owner := range l.maintainedOwners(func(d *ownerSessions) bool { return !d.due.IsZero() }) {
		if ctx.Err() != nil { // the next start does it
			break
		}
		_, err := l.Operator().Journal(owner).EndAll(ctx, session.Shutdown)
		if err == nil && l.cfg.Middleware.Harvest {
			_, err = l.Harvest(ctx, owner)
		}
		if err != nil && ctx.Err() == nil {
			errs = append(errs, err)
		}
	}
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	for _, d := range l.sessions {
		if d.model != nil {
			errs = append(errs, d.model.Close())
		}
	}
	return errors.Join(errs...)
}

// HarvestAgain harvests a session once more, found by its id or a unique part of it. It returns
// ErrNotFound if the session's messages are gone.
func (l operator) HarvestAgain(ctx context.Context, owner, id string) (session.Outcome, error) {
	d := l.sessionsOf(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return session.Outcome{}, err
	}
	info, err := d.journal.Find(ctx, id)
	if err != nil {
		return session.Outcome{}, err
	}
	if _, err := d.journal.End(ctx, info.ID, session.Closed); err != nil {
		return session.Outcome{}, err
	}
	return d.harvester.Reharvest(ctx, info.ID, l.o.Progress)
}

// processesDir lies beside the owners' folders, whose names never begin with a dot.
const processesDir = ".processes"

func (l *Layer) processesPath() string {
	return filepath.Join(l.cfg.State(l.o.Root), processesDir)
}

// announceProcess lets other processes know that this one lives, before anything carries its
// name. The caller holds l.sessionsMu.
func (l *Layer) announceProcess() {
	if l.announcement != nil || l.storeErr != nil {
		return
	}
	name := l.process
	for n := 2; l.announcement == nil; n++ {
		a, err := alive.Announce(l.processesPath(), l.process)
		switch {
		case err == nil:
			l.announcement = a
		case errors.Is(err, ken.ErrExists) && n < 100: // Options.NewID gave another process the same name
			l.process = name + "." + strconv.Itoa(n)
		default:
			l.o.Log.Warn("other processes may take this one's sessions for left behind", "cause", err)
			return
		}
	}
}

// isAlive reports whether a process that keeps sessions in this folder lives.
func (l *Layer) isAlive(process string) bool {
	if process == l.process || process == briefProcess || alive.Is(l.processesPath(), process) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeWait)
	defer cancel()
	for _, n := range []*shared.Node{l.node, l.next} {
		if n != nil && n.Lives(ctx, process) {
			return true
		}
	}
	return false
}

// withdrawProcess removes the announcement of this process.
func (l *Layer) withdrawProcess() error {
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	if l.announcement == nil {
		return nil
	}
	return l.announcement.Close()
}

// sweepDeadProcesses deletes the announcements of dead processes.
func (l *Layer) sweepDeadProcesses() {
	if _, err := alive.Sweep(l.processesPath(), time.Now()); err != nil {
		l.o.Log.Warn("sweep up after processes that are gone", "cause", err)
	}
}

// otherCheckEvery is how often to look whether another process has finished.
const otherCheckEvery = 100 * time.Millisecond

// waitForOtherHarvests waits until the harvests end that other living processes run now, of one
// session or of all. They use what they have read already. It reports whether there were any.
func (l *Layer) waitForOtherHarvests(ctx context.Context, d *ownerSessions, sess string) (waited bool, err error) {
	running, err := l.otherHarvests(ctx, d, sess)
	for err == nil && len(running) > 0 {
		waited = true
		select {
		case <-time.After(otherCheckEvery):
		case <-ctx.Done():
			return waited, ctx.Err()
		}
		var now []jobs.Job
		now, err = l.otherHarvests(ctx, d, sess)
		running = slices.DeleteFunc(running, func(j jobs.Job) bool {
			return !slices.ContainsFunc(now, func(o jobs.Job) bool { return o.ID == j.ID && o.Run == j.Run })
		})
	}
	return waited, err
}

// otherHarvests lists the harvests that other living processes run.
func (l *Layer) otherHarvests(ctx context.Context, d *ownerSessions, sess string) ([]jobs.Job, error) {
	running, err := d.queue.List(ctx, jobs.Running)
	if errors.Is(err, ken.ErrCorrupt) { // a job that can't be read is not run
		err = nil
	}
	return slices.DeleteFunc(running, func(j jobs.Job) bool {
		return j.Kind != session.JobHarvest || j.Process == l.process || !l.isAlive(j.Process) || j.Lease.Before(l.now()) ||
			sess != "" && jobSession(&j) != sess
	}), err
}
