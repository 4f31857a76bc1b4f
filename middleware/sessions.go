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
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// ownerSessions is what the layer keeps for an owner's sessions.
type ownerSessions struct {
	journal   *session.Journal
	queue     *jobs.Queue
	receipts  *receipt.Book
	harvester *harvest.Harvester
	close     func() error // of the model's connections

	tended bool // sessions of this process are in the journal, or it was asked to look after it
	quiet  bool // nothing was open or waited when somebody looked last
}

// sessionsOf returns the owner's, made on first use.
func (l *Layer) sessionsOf(owner string) *ownerSessions {
	if owner == "" {
		owner = l.cfg.Knowledge.Owner
	}
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	if d := l.desks[owner]; d != nil {
		return d
	}
	l.announce()
	t := tenant{l, owner}
	d := &ownerSessions{
		journal: session.NewJournal(t, session.Options{Process: l.process, Alive: l.lives, Now: l.now, MaxMessageBytes: l.cfg.Session.MessageBytes,
			Annotate: finding.Observe(l.RootOf(owner), l.tools), Log: l.o.Log}),
		queue: jobs.NewQueue(t, jobs.Options{Process: l.process, Alive: l.lives, Now: l.now, Log: l.o.Log}),
	}
	d.receipts = receipt.NewBook(t, l.receipts())
	d.harvester, d.close = l.harvesterFor(t, d.journal)
	l.desks[owner] = d
	return d
}

// tend has the background look after an owner's sessions from now on.
func (l *Layer) tend(owner string) {
	d := l.sessionsOf(owner)
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	d.tended, d.quiet = true, false
}

// tended lists the owners to look after, those with nothing to do only if quiet is
// set: to look after one is to open its store.
func (l *Layer) tended(quiet bool) (owners []string) {
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	for owner, d := range l.desks {
		if d.tended && (quiet || !d.quiet) {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners
}

// Journal is where an owner's sessions are kept until they were harvested, "" for
// the configured owner's.
func (l *Layer) Journal(owner string) *session.Journal { return l.sessionsOf(owner).journal }

// Jobs is the queue of an owner's jobs, "" for the configured owner's. The layer
// runs them; a program may look at them.
func (l *Layer) Jobs(owner string) *jobs.Queue { return l.sessionsOf(owner).queue }

// Session is the handle of a turn's session: what a program learns, recalls,
// verifies and disputes through it carries the session, the branch and the actor,
// and is told to the session's event log before it is done. Only what a Transport
// or a Wrapped passes on needs no Session.Add.
func (l *Layer) Session(t ken.Turn) *session.Session {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if l.journals(&t) {
		l.tend(t.Owner) // what Session.Add keeps ends with the layer
	}
	return l.handleOf(t.Owner, about(&t), t.Incognito)
}

func (l *Layer) handle(owner string, a session.About) *session.Session {
	return l.handleOf(owner, a, false)
}

// handleOf is the handle of a session. What a program does through one that is
// incognito is done and told to the event log, but what is said is not journaled.
func (l *Layer) handleOf(owner string, a session.About, incognito bool) *session.Session {
	st := tenant{l, owner}
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
	if l.journals(&ken.Turn{Session: a.ID, Incognito: incognito}) {
		o.Journal = l.Journal(owner)
	}
	if l.events != nil {
		o.Logger = func(_ context.Context, act session.Action) error { return l.events.Write(a.ID, act) }
	}
	return session.New(o)
}

// End ends a session for the reason given and lets it be harvested: at once in
// the background, or with the next call of Harvest where the layer has none. It
// waits until what was said is in the journal. The receipts of one that is Deleted
// go at once. A session that is not open is no error.
func (l *Layer) End(ctx context.Context, owner, id string, why session.Reason) error {
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	l.judgeSession(ctx, owner, id, why == session.Deleted)
	ended, err := l.Journal(owner).End(ctx, id, why)
	if errors.Is(err, ken.ErrNotFound) {
		err = nil
	}
	if ended {
		l.tend(owner)
		l.wakeTending()
	}
	if why == session.Deleted && err == nil {
		_, err = l.Receipts(owner).ForgetSession(ctx, id)
	}
	return err
}

// ForgetSession deletes what the journal holds of a session, what was just said in it
// included, and the receipts of its turns, so that nothing more is learned from it.
// What was learned before stays. A session that is not there is no error.
func (l *Layer) ForgetSession(ctx context.Context, owner, id string) error {
	if err := l.recorder.flush(ctx); err != nil {
		return err
	}
	l.judgeSession(ctx, owner, id, true)
	d := l.sessionsOf(owner)
	let, err := d.harvester.Hold(ctx) // a harvest that has read it would go on
	if err != nil {
		return fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer let()
	if _, err := l.othersHarvests(ctx, d, id); err != nil {
		return err
	}
	if err := d.journal.Forget(ctx, id); err != nil && !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	_, err = d.receipts.ForgetSession(ctx, id)
	return err
}

// Harvest ends the sessions that are idle or were left by a process that is gone,
// and runs every job that is due, in this goroutine. It returns what was done; the
// error is of the queue itself, never of a job. Messages that were harvested long
// enough ago are deleted, as lifecycle.yaml says, and so are receipts.
//
// Every process may call it, also at the same time: a job is leased to one of them.
func (l *Layer) Harvest(ctx context.Context, owner string) (jobs.Report, error) {
	d := l.sessionsOf(owner)
	if err := l.recorder.flush(ctx); err != nil {
		return jobs.Report{}, err
	}
	if _, err := d.journal.EndIdle(ctx, l.cfg.Session.Idle); err != nil {
		return jobs.Report{}, err
	}
	var report jobs.Report
	if l.cfg.Middleware.Harvest {
		var err error
		report, err = d.queue.Drain(ctx, l.handlers(d))
		l.counts.harvested(&report)
		if err := errors.Join(err, giveUp(ctx, d, report.Jobs)); err != nil {
			return report, err
		}
	}
	if err := l.fileTogether(ctx, owner, &report); err != nil {
		return report, err
	}
	if _, err := d.journal.Sweep(ctx, l.policy().JournalGrace()); err != nil {
		return report, err
	}
	_, err := d.receipts.Prune(ctx)
	return report, err
}

// giveUp marks the sessions whose jobs are dead. Their messages stay, and ken jobs
// retry harvests them after all.
func giveUp(ctx context.Context, d *ownerSessions, ran []jobs.Job) error {
	var errs []error
	for i := range ran {
		j := &ran[i]
		id := sessionOf(j)
		if j.State != jobs.Dead || id == "" {
			continue
		}
		if err := d.journal.Failed(ctx, id, j.Error); err != nil && !errors.Is(err, ken.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sessionOf is the session that a job is about; "" for none.
func sessionOf(j *jobs.Job) string {
	var p session.HarvestJob
	if j.Kind != session.JobHarvest || json.Unmarshal(j.Payload, &p) != nil {
		return ""
	}
	return p.Session
}

// handlers is who runs which job.
func (l *Layer) handlers(d *ownerSessions) map[string]jobs.Handler {
	return map[string]jobs.Handler{session.JobHarvest: func(ctx context.Context, j jobs.Job, progress func(string, int, int)) (string, error) {
		return d.harvester.Handle(ctx, j, func(stage string, done, total int) {
			progress(stage, done, total)
			l.o.Progress(stage, done, total)
		})
	}}
}

// tendEvery is how often the background looks for idle sessions and for jobs
// whose time has come; at owners with nothing to do it looks quietEvery times more
// rarely, for the messages whose grace period is over.
const (
	tendEvery  = 30 * time.Second
	quietEvery = 120
)

// keepTending looks after the owners' sessions until ctx ends: first after those
// that other processes left.
func (l *Layer) keepTending(ctx context.Context) {
	l.sweepDead()
	for _, owner := range l.left() {
		l.tend(owner)
	}
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for n := 0; ; {
		for _, owner := range l.tended(n%quietEvery == 0) {
			l.look(ctx, owner)
		}
		select {
		case <-tick.C:
			n++
		case <-l.poked:
			if n%quietEvery == 0 { // the round for the quiet ones was made
				n++
			}
		case <-ctx.Done():
			return
		}
	}
}

// look looks after one owner's sessions once.
func (l *Layer) look(ctx context.Context, owner string) {
	d := l.sessionsOf(owner)
	l.setQuiet(d, true) // unless somebody says something meanwhile
	if err := caught.Run(func() error { return l.finishForgetting(ctx, owner) }); err != nil && ctx.Err() == nil {
		l.o.Log.Warn("erase what was forgotten", "owner", owner, "cause", err, "try", ken.Hint(err))
	}
	err := caught.Run(func() error {
		_, err := l.Harvest(ctx, owner)
		return err
	})
	waits := err != nil
	if err == nil {
		waits, err = l.waits(ctx, d)
	}
	if waits || err != nil {
		l.setQuiet(d, false)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("harvest sessions", "owner", owner, "cause", err, "try", ken.Hint(err))
	}
}

func (l *Layer) setQuiet(d *ownerSessions, quiet bool) {
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	d.quiet = quiet
}

// waits reports whether an owner has an open session, or a job that is to run. The
// configured owner's jobs may be added by anybody at any time.
func (l *Layer) waits(ctx context.Context, d *ownerSessions) (bool, error) {
	if d == l.sessionsOf("") {
		return true, nil
	}
	list, err := d.journal.List(ctx)
	if err != nil || slices.ContainsFunc(list, func(i session.Info) bool { return i.State == session.Open || i.State == session.Ended }) {
		return true, err
	}
	left, err := d.queue.List(ctx, jobs.Queued, jobs.Running)
	return len(left) > 0, err
}

// left lists the owners whose stores are on disk: an earlier process may have died
// with sessions of theirs.
func (l *Layer) left() (owners []string) {
	owners, err := bolt.List(l.cfg.State(l.o.Root))
	if err != nil {
		l.o.Log.Warn("look for owners", "cause", err)
	}
	return owners
}

// wakeTending wakes the background.
func (l *Layer) wakeTending() {
	select {
	case l.poked <- struct{}{}:
	default:
	}
}

// lastHarvest bounds what Close spends on harvesting: rules are done in it, and
// what is not stays in the queue for the next start.
const lastHarvest = 3 * time.Second

// endAll ends this process's sessions and harvests what can be harvested quickly,
// jobs that waited for their turn included.
func (l *Layer) endAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastHarvest)
	defer cancel()
	var errs []error
	for _, owner := range l.tended(false) {
		_, err := l.Journal(owner).EndAll(ctx, session.Shutdown)
		if err == nil && l.cfg.Middleware.Harvest {
			_, err = l.Harvest(ctx, owner)
		}
		if err != nil && ctx.Err() == nil {
			errs = append(errs, err)
		}
	}
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	for _, d := range l.desks {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// HarvestAgain harvests a session once more, found by its id or a unique part of
// it, while its messages are there: ErrNotFound when they are gone.
func (l *Layer) HarvestAgain(ctx context.Context, owner, id string) (session.Outcome, error) {
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
	return d.harvester.Again(ctx, info.ID, l.o.Progress)
}

// processesDir lies beside the owners' folders, of which none begins with a dot.
const processesDir = ".processes"

func (l *Layer) processes() string {
	return filepath.Join(l.cfg.State(l.o.Root), processesDir)
}

// announce has other processes know that this one lives, from before anything bears
// its name. l.desksMu is held.
func (l *Layer) announce() {
	if l.life != nil || l.storeErr != nil {
		return
	}
	name := l.process
	for n := 2; l.life == nil; n++ {
		a, err := alive.Announce(l.processes(), l.process)
		switch {
		case err == nil:
			l.life = a
		case errors.Is(err, ken.ErrExists) && n < 100: // Options.NewID gave somebody else the same
			l.process = name + "." + strconv.Itoa(n)
		default:
			l.o.Log.Warn("other processes may take this one's sessions for left behind", "cause", err)
			return
		}
	}
}

// lives reports whether a process lives that keeps sessions in this folder.
func (l *Layer) lives(process string) bool {
	return process == l.process || alive.Is(l.processes(), process)
}

// removeProcessMark takes the announcement back.
func (l *Layer) removeProcessMark() error {
	l.desksMu.Lock()
	defer l.desksMu.Unlock()
	if l.life == nil {
		return nil
	}
	return l.life.Close()
}

// sweepDead deletes the announcements of processes that are gone.
func (l *Layer) sweepDead() {
	if _, err := alive.Sweep(l.processes(), time.Now()); err != nil {
		l.o.Log.Warn("sweep up after processes that are gone", "cause", err)
	}
}

// otherEvery is how often to look whether another process has finished.
const otherEvery = 100 * time.Millisecond

// othersHarvests waits until the harvests that other living processes are at now
// have ended, those of one session or all: they go on with what they have read. It
// reports whether there were any.
func (l *Layer) othersHarvests(ctx context.Context, d *ownerSessions, sess string) (waited bool, err error) {
	running, err := l.atWork(ctx, d, sess)
	for err == nil && len(running) > 0 {
		waited = true
		select {
		case <-time.After(otherEvery):
		case <-ctx.Done():
			return waited, ctx.Err()
		}
		var now []jobs.Job
		now, err = l.atWork(ctx, d, sess)
		running = slices.DeleteFunc(running, func(j jobs.Job) bool {
			return !slices.ContainsFunc(now, func(o jobs.Job) bool { return o.ID == j.ID && o.Run == j.Run })
		})
	}
	return waited, err
}

// atWork lists the harvests that other living processes are at.
func (l *Layer) atWork(ctx context.Context, d *ownerSessions, sess string) ([]jobs.Job, error) {
	running, err := d.queue.List(ctx, jobs.Running)
	if errors.Is(err, ken.ErrCorrupt) { // a job that can't be read is not run
		err = nil
	}
	return slices.DeleteFunc(running, func(j jobs.Job) bool {
		return j.Kind != session.JobHarvest || j.Process == l.process || !l.lives(j.Process) || j.Lease.Before(l.now()) ||
			sess != "" && sessionOf(&j) != sess
	}), err
}
