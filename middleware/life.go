package middleware

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

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

// vanish takes the announcement back.
func (l *Layer) vanish() error {
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
func (l *Layer) othersHarvests(ctx context.Context, d *desk, sess string) (waited bool, err error) {
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
func (l *Layer) atWork(ctx context.Context, d *desk, sess string) ([]jobs.Job, error) {
	running, err := d.queue.List(ctx, jobs.Running)
	if errors.Is(err, ken.ErrCorrupt) { // a job that can't be read is not run
		err = nil
	}
	return slices.DeleteFunc(running, func(j jobs.Job) bool {
		return j.Kind != session.JobHarvest || j.Process == l.process || !l.lives(j.Process) || j.Lease.Before(l.now()) ||
			sess != "" && sessionOf(&j) != sess
	}), err
}
