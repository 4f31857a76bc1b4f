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

// How often a holder looks whether a snapshot is due, and after how many records it is.
const (
	snapshotLook  = 5 * time.Second
	snapshotAfter = 2000
	// snapshotWait bounds the sending of one.
	snapshotWait = 10 * time.Minute
)

// tenure is a holder's right to write an owner's log.
type tenure struct {
	n      *Node
	owner  string
	dir    string
	comes  string // the ID of the move by which the owner must have come; "" for any
	moves  bool   // it reads what a move has left, and will replace it
	serves bool   // the store will be opened
	era    uint64 // of the node: see Node.valid
	lease  commitlog.Lease
	writer *commitlog.Writer
	life   context.Context // of its appends
	end    context.CancelFunc
	lost   atomic.Bool
	fenced chan struct{} // closed when lost
}

// begin takes an owner's lease and brings the folder up to date. No node that held the owner
// before can write from then on.
func (n *Node) begin(ctx context.Context, lock *bolt.Lock, owner, dir, token, comes string) (*tenure, error) {
	t := &tenure{n: n, owner: owner, dir: dir, comes: comes, serves: true, era: n.currentEra(), fenced: make(chan struct{})}
	err := t.stillAway(ctx, lock)
	if err != nil {
		return nil, err
	}
	if t.lease, err = n.take(ctx, owner, token); err != nil {
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

// maxFollow is after how many writes of a holder that does not know that it is none any more
// a new one gives up.
const maxFollow = 100

// follow brings a folder up to the end of the log, and fences the log there.
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
		if err = cmp.Or(err, standing.Away(t.owner)); err != nil {
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
	return &ken.Error{Code: ken.CodeHeld, Msg: fmt.Sprintf("another node goes on writing for owner %q", t.owner), Try: "Try again."}
}

// stillAway refuses an owner who is elsewhere as far as the folder knows, and the log as well. It
// does so without the lease: many who ask would take it from each other all the time.
func (t *tenure) stillAway(ctx context.Context, lock *bolt.Lock) error {
	standing, err := lock.Standing()
	if err != nil || standing.Away(t.owner) == nil {
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
	return standing.Away(t.owner)
}

// leaveOld clears a folder whose store has moved to this very log, and keeps a file that is no
// copy beside it. Another store that is elsewhere is refused: it must not become the beginning
// of a log.
func (t *tenure) leaveOld(ctx context.Context, lock *bolt.Lock) error {
	standing, err := lock.Standing()
	if err != nil || standing.Away(t.owner) == nil {
		return err
	}
	at, _, err := lock.Mark()
	if err != nil || at.Position > 0 && standing.Moved.ID == "" {
		return err // what comes by this log may be here by now
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
	case is: // the log says what became of it
		return nil
	}
	return standing.Away(t.owner)
}

// lose ends the right.
func (t *tenure) lose() {
	if t.lost.CompareAndSwap(false, true) {
		close(t.fenced)
	}
}

// discard removes a file that can't be read, if it is a copy. Otherwise it returns why it
// can't be read.
func discard(dir string, cause error) error {
	is, _, err := isCopy(dir)
	if err != nil || !is {
		return cause
	}
	return bolt.Discard(dir)
}

// reload makes a folder anew, if it is a copy.
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

// load brings a folder to the end of the log, whose mark it returns. own reports whether the
// folder's store has become the beginning of the log.
func (t *tenure) load(ctx context.Context, lock *bolt.Lock) (end commitlog.Mark, own bool, err error) {
	log := t.n.o.Log
	at, used, err := lock.Mark()
	if err = cmp.Or(err, t.readable(lock)); err != nil {
		return end, false, err
	}
	last, err := log.Last(ctx, t.owner)
	if err != nil {
		return end, false, err
	}
	snapshot, r, err := log.Snapshot(ctx, t.owner)
	if err != nil {
		return end, false, err
	}
	restored := false
	if r != nil {
		if snapshot > at.Position && (!used || at.Position > 0) {
			err, restored = lock.Restore(r, t.serves), true
		}
		if err = errors.Join(err, r.Close()); err != nil { // before the log is read: it takes a connection
			return end, false, err
		}
	}
	switch {
	case restored:
		if at, _, err = lock.Mark(); err != nil {
			return end, false, err
		}
	case used && at.Position <= commitlog.Adopted.Position && last == 0 && snapshot == 0: // or it was cut short
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
	if errors.Is(err, commitlog.ErrBase) { // a move is at work
		err = &bolt.AwayError{Owner: t.owner, Standing: bolt.Standing{Arrival: bolt.Arrival{Place: "another place"}}}
	}
	if errors.Is(err, commitlog.ErrLater) {
		err = t.later(err)
	}
	return end, false, cmp.Or(err, t.readable(lock))
}

// readable refuses a file of a later layout.
func (t *tenure) readable(lock *bolt.Lock) error {
	layout, err := lock.Layout()
	if err == nil && layout > bolt.Layout {
		err = t.later(fmt.Errorf("the store has layout %d, and this version reads %d", layout, bolt.Layout))
	}
	return err
}

// later is why a node leaves an owner alone that a later version has written to. It has appended
// nothing: another node serves the owner.
func (t *tenure) later(cause error) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "version", Msg: fmt.Sprintf("owner %q was written to by a later version of ken", t.owner), Err: cause,
		Try: "Start this node with the version of the other nodes: see ken doctor."}
}

// errLess means that a log is shorter than its copy: the engine has lost records, or a server that
// has just started does not have all of them yet.
var errLess = errors.New("the log is shorter")

func (t *tenure) otherLog(cause error) error {
	return &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("the engine has less of owner %q than this node's folder, or another log", t.owner), Err: cause,
		Try: "See whether it is the right engine, and whether it has lost records. If what it has is right, move the owner's folder away."}
}

// adopt makes the store of a folder the beginning of a log.
func (t *tenure) adopt(ctx context.Context, lock *bolt.Lock) error {
	if err := lock.SetMark(bolt.LogMark(commitlog.Adopted)); err != nil {
		return err
	}
	_, err := commitlog.PutCopy(ctx, t.n.o.Log, t.owner, t.dir, lock.Snapshot)
	return err
}

// Bounds of what is applied in one transaction.
const (
	applyRecords = 1000
	applyBytes   = 8 << 20
)

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

// Append implements bolt.Replica. What fails may have been written: it is repeated under its
// name by whoever holds the owner next.
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

// Rewritten implements bolt.Replica. It goes on when who asked for it has gone.
func (t *tenure) Rewritten(_ context.Context, snapshot func(func(uint64, io.WriterTo) error) error) error {
	ctx, cancel := context.WithTimeout(t.life, snapshotWait)
	defer cancel()
	return t.writer.Rewritten(ctx, snapshot)
}

// valid reports whether the holder still has the right to answer.
func (t *tenure) valid() bool { return !t.lost.Load() && t.n.valid(t.era) }

// watch calls ended when the right is lost, and makes snapshots until ctx ends.
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
				t.n.o.Logger.Debug("the engine does not hear this node: the owner is left", "owner", t.owner)
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
