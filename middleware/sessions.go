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

// ownerSessions holds the journal, the job queue and the harvester of one owner.
type ownerSessions struct {
	journal   *session.Journal
	queue     *jobs.Queue
	receipts  *receipt.Book
	harvester *harvest.Harvester
	model     *model.Client // harvests and files; nil if only rules do that

	maintained bool      // this process has sessions in the journal, or maintainSessions was called
	due        time.Time // time of the next check; zero if nothing was open or waiting at the last check
}

// sessionsOf returns the sessions of an owner, and creates them on first use.
func (l *Layer) sessionsOf(owner string) *ownerSessions {
	owner = l.ownerOrDefault(owner)
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

// maintainSessions makes the background check an owner's sessions from now on, beginning with the
// next round.
func (l *Layer) maintainSessions(owner string) { l.checkAt(l.sessionsOf(owner), l.now()) }

// checkAt makes the background check an owner's sessions at due or earlier.
func (l *Layer) checkAt(d *ownerSessions, due time.Time) {
	l.sessionsMu.Lock()
	defer l.sessionsMu.Unlock()
	d.maintained = true
	if !due.IsZero() && (d.due.IsZero() || due.Before(d.due)) {
		d.due = due
	}
}

// noteSession is maintainSessions for an owner whose store is open and whose session just got a
// message. No check is due before that session may be idle. For the owner's first session in this
// process, it checks at once for sessions that other processes left.
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

// maintainedOwners lists the owners that this process maintains and for which want returns true.
// The caller opens their stores, so there should be few.
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

// Journal returns the journal of an owner's sessions; "" means the configured owner. The journal
// keeps messages until they were harvested.
func (l operator) Journal(owner string) *session.Journal { return l.sessionsOf(owner).journal }

// Jobs returns the queue of an owner's jobs, "" for the configured owner. The layer runs them.
func (l operator) Jobs(owner string) *jobs.Queue { return l.sessionsOf(owner).queue }

// Session returns the handle of a turn's session, as Layer.Session does, with the journal's own types.
func (l operator) Session(t ken.Turn) *session.Session {
	t.Owner = l.ownerOrDefault(t.Owner)
	if l.keepsMessages(&t) {
		l.maintainSessions(t.Owner) // a session that gets messages through Session.Add ends with the layer
	}
	return l.newHandle(t.Owner, l.sessionAbout(&t), t.Incognito)
}

func (l *Layer) sessionHandle(owner string, a session.About) *session.Session {
	return l.newHandle(owner, a, false)
}

// newHandle returns the handle of a session. Through an incognito handle, actions are carried out
// and logged, but messages are not journaled.
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
		o.Logger = func(_ context.Context, act session.Action) error { return l.logEvent(owner, a.ID, act) }
	}
	return session.New(o)
}

// End ends a session after all its messages are in the journal. The session is then harvested: at once
// in the background, or by the next call of Harvest if the layer has no background. A session that is
// not open is no error.
func (l *Layer) End(ctx context.Context, owner, id string) error {
	return l.Operator().End(ctx, owner, id, session.Closed)
}

// End is Layer.End for another reason. If why is Deleted, the session's receipts are deleted at once.
func (l operator) End(ctx context.Context, owner, id string, why session.Reason) error {
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
		offer(l.wake, struct{}{})
	}
	if why == session.Deleted && err == nil {
		_, err = l.Operator().Receipts(owner).ForgetSession(ctx, id)
	}
	return err
}

// ForgetSession deletes a session's messages from the journal, including the last ones, and the
// receipts of its turns. So nothing more is learned from it. What was already learned stays. A
// session that does not exist is no error.
func (l operator) ForgetSession(ctx context.Context, owner, id string) error {
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	l.judgeSession(ctx, owner, id, true)
	d := l.sessionsOf(owner)
	resume, err := d.harvester.Pause(ctx) // a harvest that has read the session would continue
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

// Harvest ends the owner's idle sessions and harvests them, in the caller's goroutine:
//
//  1. The recorder writes the waiting messages to the journal.
//  2. Sessions end that are idle or were left by a dead process. Each end queues a job.
//  3. The queue runs the jobs that are due: the harvester drafts claims, drops those that only
//     repeat injected ones, merges the rest with known claims, and writes the result.
//  4. New claims are filed under the entities that they are about.
//  5. Messages and receipts whose retention time in lifecycle.yaml has passed are deleted.
//
// The error is one of the queue, not of a job. Several processes may call Harvest at the same time:
// each job is leased to one of them.
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

// runJobs runs the jobs that are due, unless middleware.harvest is off.
func (l *Layer) runJobs(ctx context.Context, d *ownerSessions) (jobs.Report, error) {
	if !l.cfg.Middleware.Harvest {
		return jobs.Report{}, nil
	}
	report, err := d.queue.Drain(ctx, l.jobHandlers(d))
	l.counts.done.Add(uint64(report.Done))
	l.counts.retried.Add(uint64(report.Retried))
	l.counts.dead.Add(uint64(report.Dead))
	return report, errors.Join(err, markFailed(ctx, d, report.Jobs))
}

// markFailed marks the sessions whose jobs will not be retried. Their messages stay, and ken jobs
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

// jobSession returns the session of a harvest job; "" for other jobs.
func jobSession(j *jobs.Job) string {
	var p session.HarvestJob
	if j.Kind != session.JobHarvest || json.Unmarshal(j.Payload, &p) != nil {
		return ""
	}
	return p.Session
}

func (l *Layer) jobHandlers(d *ownerSessions) map[string]jobs.Handler {
	return map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, j jobs.Job, progress func(string, int, int)) (string, error) {
		return d.harvester.Handle(ctx, j, func(stage string, done, total int) {
			progress(stage, done, total)
			l.o.Progress(stage, done, total)
		})
	}}
}

// sessionCheckEvery is how often the background looks for idle sessions and due jobs. It opens only
// the stores of owners who have some by then: see nextCheck. Owners with nothing to do are checked
// once in idleCheckFactor rounds, for messages to delete.
const (
	sessionCheckEvery = 30 * time.Second
	idleCheckFactor   = 120
)

// runSessionChecks checks the owners' sessions until ctx ends. It begins with sessions that other
// processes left.
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
			if n%idleCheckFactor == 0 { // the check of idle owners is done
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
	d.due = time.Time{} // a message that arrives during the check sets it
	l.sessionsMu.Unlock()
	l.quietly(ctx, "erase what was forgotten", func() error { return l.finishForgetting(ctx, owner) }, "owner", owner)
	err := caught.Run(func() error {
		_, err := l.Harvest(ctx, owner)
		return err
	})
	next := l.now()
	if err == nil {
		next, err = l.nextCheck(ctx, d)
	}
	l.checkAt(d, next)
	l.warn(ctx, "harvest sessions", err, "owner", owner)
}

// nextCheck returns when an owner's sessions must be checked next. That is when the first open
// session may be idle, and at once if a job can run or a dead process left a session. It is zero if
// there is nothing to do, but never for the configured owner, whose jobs any process may add.
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

// ownersOnDisk lists the owners whose stores are on disk. Earlier processes may have left sessions
// there.
func (l *Layer) ownersOnDisk() (owners []string) {
	owners, err := bolt.List(l.cfg.State(l.o.Root))
	if err != nil {
		l.o.Log.Warn("look for owners", "cause", err)
	}
	return owners
}

// briefProcess is the name of all processes with Options.Brief in journals. Their conversations
// continue without them, so it counts as alive, and such a session ends when it is idle.
const briefProcess = "hooks"

// leaveSessions ends this process's sessions; in a Brief layer it only learns statements. Close
// calls it.
func (l *Layer) leaveSessions() error {
	if l.o.Brief {
		return l.learnStatements()
	}
	return l.endSessions()
}

// closeHarvestLimit is how long Close harvests. Harvesting by rules is done by then; the rest stays
// in the queue for the next start.
const closeHarvestLimit = 3 * time.Second

// endSessions ends this process's sessions and runs the jobs that closeHarvestLimit allows,
// including earlier ones.
func (l *Layer) endSessions() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeHarvestLimit)
	defer cancel()
	var errs []error
	for _, owner := range l.maintainedOwners(func(d *ownerSessions) bool { return !d.due.IsZero() }) {
		if ctx.Err() != nil { // the next start continues
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

// HarvestAgain harvests a session again. id is the session's id or a unique part of it. It returns
// ErrNotFound if the session's messages no longer exist.
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

// processesDir is the folder of announcements, beside the owners' folders, whose names never begin
// with a dot.
const processesDir = ".processes"

func (l *Layer) processesPath() string {
	return filepath.Join(l.cfg.State(l.o.Root), processesDir)
}

// announceProcess announces to other processes that this one is alive. It must be called before the
// process's name is written anywhere. The caller holds l.sessionsMu.
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
		case errors.Is(err, ken.ErrExists) && n < 100: // Options.NewID returned the name of another process
			l.process = name + "." + strconv.Itoa(n)
		default:
			l.o.Log.Warn("other processes may treat this one's sessions as abandoned", "cause", err)
			return
		}
	}
}

// isAlive reports whether a process that keeps sessions in this folder is alive.
func (l *Layer) isAlive(process string) bool {
	if process == l.process || process == briefProcess || alive.Is(l.processesPath(), process) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeWait)
	defer cancel()
	return slices.ContainsFunc([]*shared.Node{l.node, l.next}, func(n *shared.Node) bool { return n != nil && n.Lives(ctx, process) })
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
		l.o.Log.Warn("remove the announcements of dead processes", "cause", err)
	}
}

// otherCheckEvery is how often to check whether another process has finished.
const otherCheckEvery = 100 * time.Millisecond

// waitForOtherHarvests waits for the harvests that other living processes are running, of one
// session or, for "", of all. They continue with what they have read. It reports whether there were
// any.
func (l *Layer) waitForOtherHarvests(ctx context.Context, d *ownerSessions, sess string) (waited bool, err error) {
	running, err := l.otherHarvests(ctx, d, sess)
	for err == nil && len(running) > 0 {
		waited = true
		if err := pause(ctx, otherCheckEvery); err != nil {
			return waited, err
		}
		var now []jobs.Job
		now, err = l.otherHarvests(ctx, d, sess)
		running = slices.DeleteFunc(running, func(j jobs.Job) bool {
			return !slices.ContainsFunc(now, func(o jobs.Job) bool { return o.ID == j.ID && o.Run == j.Run })
		})
	}
	return waited, err
}

// otherHarvests lists the harvests that other living processes are running.
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
