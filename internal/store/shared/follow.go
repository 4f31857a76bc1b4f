package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/remote"
)

// A holder checks every snapshotLook whether to make a snapshot of an owner's store. It makes one
// when the log has at least snapshotAfter records since the last snapshot.
const (
	snapshotLook  = 5 * time.Second
	snapshotAfter = 2000
	// snapshotWait is the timeout for sending a snapshot.
	snapshotWait = 10 * time.Minute
)

// tenure is a holder's right to write an owner's log.
type tenure struct {
	n      *Node
	owner  string
	dir    string
	comes  string // the ID of a move that must have brought the owner to this engine; "" if none is required
	moves  bool   // for a move, which replaces the log: load reads past a missing snapshot
	serves bool   // the store will be opened
	era    uint64 // the era of the node in which the lease was taken: see Node.valid
	lease  commitlog.Lease
	writer *commitlog.Writer
	life   context.Context // ends the writer's appends
	end    context.CancelFunc
	lost   atomic.Bool
	fenced chan struct{} // closed when lost becomes true
}

// begin takes an owner's lease and brings the folder up to date with the log. When it returns, no
// earlier holder of the owner can write to the log any more. token and lease are those of take; comes
// is tenure.comes. Errors: those of take; one that wraps a bolt.AwayError for an owner in another
// place.
func (n *Node) begin(ctx context.Context, lock *bolt.Lock, owner, dir, token, comes string, lease commitlog.Lease) (*tenure, error) {
	t := &tenure{n: n, owner: owner, dir: dir, comes: comes, serves: true, era: n.currentEra(), fenced: make(chan struct{})}
	if !n.valid(t.era) { // the tenure would end at once
		if err := n.beatOnce(ctx); err != nil {
			return nil, err
		}
	}
	err := t.stillAway(ctx, lock)
	if err != nil {
		return nil, err
	}
	if t.lease, err = n.take(ctx, owner, token, lease); err != nil {
		return nil, err
	}
	t.life, t.end = context.WithCancel(context.Background())
	if err := t.follow(ctx, lock); err != nil {
		t.end()
		n.giveBack(owner, t.lease)
		return nil, err
	}
	lock.Replicate(t)
	return t, nil
}

// maxFollow is how often a new holder tries to fence the log. An attempt fails when the previous
// holder, which has not noticed its replacement yet, writes at the same time.
const maxFollow = 100

// follow brings a folder up to the end of the log, and fences the log there: earlier holders can't
// append any more.
func (t *tenure) follow(ctx context.Context, lock *bolt.Lock) error {
	if err := commitlog.RemoveCopies(t.dir); err != nil {
		return err
	}
	if _, torn, err := isCopy(t.dir); err != nil {
		return err
	} else if torn {
		if err := lock.Clear(); err != nil {
			return err
		}
	}
	if err := t.leaveOld(ctx, lock); err != nil {
		return err
	}
	for range maxFollow {
		end, own, err := t.load(ctx, lock)
		if err != nil {
			return err
		}
		standing, err := lock.Standing()
		if err = cmp.Or(err, standing.CheckUsable(t.owner)); err != nil {
			return err
		}
		if t.comes != "" && !standing.Arrival.Holds(t.comes) {
			return &ken.Error{Code: ken.CodeRefused, Field: "store.next", Msg: fmt.Sprintf("owner %q has moved, and not to this engine", t.owner), Try: "Set store.next to what ken migrate --to named."}
		}
		if !own {
			may, err := leaveUnsynced(t.dir)
			if err != nil {
				return err
			}
			if may {
				lock.LeaveUnsynced()
			}
		}
		t.writer = commitlog.NewWriter(t.life, t.n.o.Log, t.owner, end, t.dir, t.n.format(), func(err error) {
			t.n.o.Logger.Debug("a write did not come to the log: the owner is left", "owner", t.owner, "cause", err)
			t.lose()
		})
		err = t.writer.Fence()
		if err == nil {
			return nil
		}
		if !errors.Is(err, commitlog.ErrFenced) {
			return err
		}
		t.lost.Store(false)
		t.fenced = make(chan struct{})
	}
	return &ken.Error{Code: ken.CodeHeld, Msg: fmt.Sprintf("another node keeps writing for owner %q", t.owner), Try: "Try again."}
}

// stillAway returns an error that wraps a bolt.AwayError if the folder says that the owner is in
// another place, and the log confirms it. It does not take the lease: otherwise processes that ask
// for such an owner would keep taking the lease from each other.
func (t *tenure) stillAway(ctx context.Context, lock *bolt.Lock) error {
	standing, err := lock.Standing()
	if err != nil || standing.CheckUsable(t.owner) == nil {
		return err
	}
	at, _, err := lock.Mark()
	if err != nil || at.Position == 0 {
		return err
	}
	if _, _, err := t.load(ctx, lock); err != nil {
		return nil //nolint:nilerr // it is a copy of another log: see leaveOld
	}
	if standing, err = lock.Standing(); err != nil {
		return err
	}
	return standing.CheckUsable(t.owner)
}

// leaveOld handles a folder whose store has moved away. If it moved to this log, leaveOld clears
// the folder; a file that is not a copy of a log is kept as ken.db.moved. If it moved to another
// place and is not a copy, leaveOld returns an error that wraps a bolt.AwayError, so that the store
// does not become the beginning of a log.
func (t *tenure) leaveOld(ctx context.Context, lock *bolt.Lock) error {
	standing, err := lock.Standing()
	if err != nil || standing.CheckUsable(t.owner) == nil {
		return err
	}
	at, _, err := lock.Mark()
	if err != nil || at.Position > 0 && standing.Moved.ID == "" {
		return err // the move to this log may be complete by now: load finds out
	}
	dir, err := os.MkdirTemp(t.dir, "log-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	there, err := bolt.Acquire(dir, bolt.Options{Owner: t.owner})
	if err != nil {
		return err
	}
	_, _, err = t.load(ctx, there)
	now, unread := there.Standing()
	if err = errors.Join(err, unread, there.Release()); err != nil {
		return err
	}
	is, _, err := isCopy(t.dir)
	is = is || at.Position > 0
	switch arrived := now.Arrival.Holds(standing.Moved.ID); {
	case err != nil:
		return err
	case arrived && is:
		return lock.Clear()
	case arrived:
		t.n.o.Logger.Info("an owner's store has moved to the engine; the old file is kept", "owner", t.owner, "file", filepath.Join(t.dir, "ken.db.moved"))
		return lock.SetAside()
	case is: // the log says where the store is now: follow checks it
		return nil
	}
	return standing.CheckUsable(t.owner)
}

// lose ends the right to write. It may be called repeatedly.
func (t *tenure) lose() {
	if t.lost.CompareAndSwap(false, true) {
		close(t.fenced)
	}
}

// discard removes a store that can't be read, if it is a copy of a log. Otherwise it returns
// cause, the reason why the store can't be read.
func discard(dir string, cause error) error {
	is, _, err := isCopy(dir)
	if err != nil || !is {
		return cause
	}
	return bolt.Discard(dir)
}

// reload replaces a damaged store with a new copy, if it is a copy of a log. Otherwise it returns
// cause.
func (t *tenure) reload(ctx context.Context, lock *bolt.Lock, cause error) error {
	if is, _, err := isCopy(t.dir); err != nil || !is {
		return cause
	}
	if err := lock.Clear(); err != nil {
		return err
	}
	_, _, err := t.load(ctx, lock)
	return err
}

// load brings a folder up to the end of the log, and returns the mark of the log's end. own reports
// whether the log was empty, so that the folder's store became the beginning of the log. Errors:
// ken.ErrRefused if the folder and the log do not match, or if a later version wrote to the log; a
// bolt.AwayError while the owner is being moved here.
func (t *tenure) load(ctx context.Context, lock *bolt.Lock) (end commitlog.Mark, own bool, err error) {
	log := t.n.o.Log
	at, used, err := lock.Mark()
	if err = cmp.Or(err, t.readable(lock)); err != nil {
		return end, false, err
	}
	var last uint64
	var lastErr error
	var asked sync.WaitGroup
	asked.Go(func() { last, lastErr = log.Last(ctx, t.owner) })
	snapshot, r, err := log.Snapshot(ctx, t.owner)
	asked.Wait()
	if err == nil && lastErr != nil && r != nil {
		err = r.Close()
	}
	if err = errors.Join(lastErr, err); err != nil {
		return end, false, err
	}
	restored := false
	if r != nil {
		if snapshot > at.Position && (!used || at.Position > 0) {
			err, restored = lock.Restore(r, t.serves), true
		}
		if err = errors.Join(err, r.Close()); err != nil { // an open snapshot uses a connection that reading the log may need
			return end, false, err
		}
	}
	switch {
	case restored:
		if at, _, err = lock.Mark(); err != nil {
			return end, false, err
		}
	case used && at.Position <= commitlog.Adopted.Position && last == 0 && snapshot == 0: // Adopted.Position: an earlier adopt was interrupted
		return commitlog.Adopted, true, t.adopt(ctx, lock)
	case used && at.Position == 0:
		return end, false, &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("the folder of owner %q has a store of its own, and the engine has another one", t.owner),
			Try: "Export the folder's claims without store.url, move the folder away, and import them."}
	case at.Position > max(last, snapshot):
		return end, false, t.otherLog(fmt.Errorf("%w: it ends at record %d, and the folder at %d", errLess, last, at.Position))
	}
	err = apply(lock, commitlog.Transactions(ctx, log, t.owner, commitlog.Mark(at), t.n.format(), t.moves, &end))
	if errors.Is(err, commitlog.ErrOtherLog) {
		err = t.otherLog(err)
	}
	if errors.Is(err, commitlog.ErrBase) { // the owner is being moved here
		err = &bolt.AwayError{Owner: t.owner, Standing: bolt.Standing{Arrival: bolt.Arrival{Place: "another place"}}}
	}
	if errors.Is(err, commitlog.ErrLater) {
		err = t.later(err)
	}
	return end, false, cmp.Or(err, t.readable(lock))
}

// readable returns an error if a later version of ken wrote the file, in a layout that is unknown here.
func (t *tenure) readable(lock *bolt.Lock) error {
	layout, err := lock.Layout()
	if err == nil && layout > bolt.Layout {
		err = t.later(fmt.Errorf("the store has layout %d, and this version reads %d", layout, bolt.Layout))
	}
	return err
}

// later returns the error for an owner that a later version of ken has written to. The node has
// appended nothing to the log, so another node can serve the owner.
func (t *tenure) later(cause error) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "version", Msg: fmt.Sprintf("owner %q was written to by a later version of ken", t.owner), Err: cause,
		Try: "Start this node with the version of the other nodes: see ken doctor."}
}

// errLess means that a log is shorter than its copy: the engine has lost records, or a server that
// has just started does not have all of them yet.
var errLess = errors.New("the log is shorter")

// otherLog returns the error for a folder that is not a copy of an earlier state of the log.
func (t *tenure) otherLog(cause error) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("the engine has less of owner %q than this node's folder, or another log", t.owner), Err: cause,
		Try: "See whether it is the right engine, and whether it has lost records. If what it has is right, move the owner's folder away."}
}

// adopt makes the store of a folder the beginning of an empty log, by sending it as a snapshot.
func (t *tenure) adopt(ctx context.Context, lock *bolt.Lock) error {
	if err := lock.SetMark(bolt.LogMark(commitlog.Adopted)); err != nil {
		return err
	}
	_, err := commitlog.PutCopy(ctx, t.n.o.Log, t.owner, t.dir, lock.Snapshot)
	return err
}

// Limits of the log records that apply writes in one bbolt transaction. The first limit that is
// reached counts.
const (
	applyRecords = 1000
	applyBytes   = 8 << 20
)

// apply writes the log's transactions to the file, many of them in one bbolt transaction.
func apply(lock *bolt.Lock, all iter.Seq2[commitlog.Transaction, error]) error {
	var some []bolt.Record
	size := 0
	flush := func() error {
		err := lock.Apply(some)
		some, size = some[:0], 0
		return err
	}
	for tx, err := range all {
		if err != nil {
			return err
		}
		some = append(some, bolt.Record{LogMark: bolt.LogMark(tx.Mark), Changes: tx.Changes})
		if size += len(tx.Changes); len(some) >= applyRecords || size >= applyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Append implements bolt.Replica. After an error the changes may be in the log. The error is a
// remote.LostError, so the caller repeats the write with the same ID at the owner's next holder.
func (t *tenure) Append(changes []byte) (bolt.LogMark, error) {
	at, err := t.writer.Append(changes)
	if err != nil {
		return bolt.LogMark{}, &remote.LostError{Sent: true, Err: err}
	}
	return bolt.LogMark(at), nil
}

// Failed implements bolt.Replica.
func (t *tenure) Failed(err error) error {
	t.n.noteFull(err)
	t.lose()
	return &remote.LostError{Sent: true, Err: err}
}

// Synced implements bolt.Replica.
func (t *tenure) Synced() error { return synced(t.dir) }

// Rewritten implements bolt.Replica. It ignores its context, so that the snapshot is completed even
// if the caller has gone.
func (t *tenure) Rewritten(_ context.Context, snapshot func(func(uint64, io.WriterTo) error) error) error {
	ctx, cancel := context.WithTimeout(t.life, snapshotWait)
	defer cancel()
	return t.writer.Rewritten(ctx, snapshot)
}

// valid reports whether the holder still has the right to answer. It is false once the right is
// lost, or if other nodes may have considered this node dead.
func (t *tenure) valid() bool { return !t.lost.Load() && t.n.valid(t.era) }

// watch makes snapshots of s until ctx ends or the right is lost. When the right is lost, it calls
// ended and returns.
func (t *tenure) watch(ctx context.Context, s *bolt.Store, ended func()) {
	look := time.NewTicker(commitlog.Every / 2)
	defer look.Stop()
	snapshots := time.NewTicker(snapshotLook)
	defer snapshots.Stop()
	var making sync.WaitGroup
	defer making.Wait()
	var busy atomic.Bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.fenced:
			ended()
			return
		case <-look.C:
			if !t.valid() {
				t.n.o.Logger.Debug("the engine can't be reached: this node gives the owner up", "owner", t.owner)
				t.lose()
				ended()
				return
			}
		case <-snapshots.C:
			if t.writer.Tail() >= snapshotAfter && busy.CompareAndSwap(false, true) {
				making.Go(func() {
					defer busy.Store(false)
					t.snapshot(ctx, s)
				})
			}
		}
	}
}

func (t *tenure) snapshot(ctx context.Context, s *bolt.Store) {
	if err := t.Rewritten(ctx, s.Snapshot); err != nil && t.valid() {
		t.n.o.Logger.Warn("the log of an owner grows: no snapshot could be made", "owner", t.owner, "cause", err)
	}
}
