package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	lease  commitlog.Lease
	writer *commitlog.Writer
	life   context.Context // of its appends
	end    context.CancelFunc
	lost   atomic.Bool
	fenced chan struct{} // closed when lost
}

// begin takes an owner's lease and brings the folder up to date. No node that held the owner
// before can write from then on.
func (n *Node) begin(ctx context.Context, lock *bolt.Lock, owner, dir, token string) (*tenure, error) {
	lease, err := n.take(ctx, owner, token)
	if err != nil {
		return nil, err
	}
	t := &tenure{n: n, owner: owner, lease: lease, fenced: make(chan struct{})}
	t.life, t.end = context.WithCancel(context.Background())
	if err := t.follow(ctx, lock, dir); err != nil {
		t.end()
		n.giveBack(owner, lease)
		return nil, err
	}
	lock.Replicate(t)
	return t, nil
}

// maxFollow is after how many writes of a holder that does not know that it is none any more
// a new one gives up.
const maxFollow = 100

// follow brings a folder up to the end of the log, and fences the log there.
func (t *tenure) follow(ctx context.Context, lock *bolt.Lock, dir string) error {
	log := t.n.o.Log
	if err := commitlog.RemoveCopies(dir); err != nil {
		return err
	}
	for range maxFollow {
		last, err := log.Last(ctx, t.owner)
		if err != nil {
			return err
		}
		own, err := t.load(ctx, lock, last)
		if err != nil {
			return err
		}
		if !own {
			if err := t.leaveUnsynced(lock, dir); err != nil {
				return err
			}
		}
		t.writer = commitlog.NewWriter(t.life, log, t.owner, last, dir, func(error) {
			if t.lost.CompareAndSwap(false, true) {
				close(t.fenced)
			}
		})
		err = t.writer.Fence(ctx)
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

// leaveUnsynced lets the store's commits do without the disk, once the engine has all that
// the file has.
func (t *tenure) leaveUnsynced(lock *bolt.Lock, dir string) error {
	can, err := leaveUnsynced(dir)
	if err != nil || !can {
		return err
	}
	lock.LeaveUnsynced()
	return nil
}

// discard removes a file that can't be read, if the engine has what it was a copy of.
// Otherwise it returns why it can't be read.
func (n *Node) discard(ctx context.Context, owner, dir string, cause error) error {
	last, err := n.o.Log.Last(ctx, owner)
	if err != nil {
		return err
	}
	if last == 0 {
		return cause
	}
	n.o.Logger.Warn("a copy of an owner's store is damaged and is made again", "owner", owner, "cause", cause)
	return bolt.Discard(dir)
}

// reload makes a folder anew, up to the end of the log.
func (t *tenure) reload(ctx context.Context, lock *bolt.Lock) error {
	if err := lock.Clear(); err != nil {
		return err
	}
	last, err := t.n.o.Log.Last(ctx, t.owner)
	if err != nil {
		return err
	}
	_, err = t.load(ctx, lock, last)
	return err
}

// load brings a folder to a position of the log. own reports whether the folder's store has
// become the beginning of the log.
func (t *tenure) load(ctx context.Context, lock *bolt.Lock, last uint64) (own bool, err error) {
	log := t.n.o.Log
	position, used, err := lock.Position()
	if err != nil {
		return false, err
	}
	snapshot, r, err := log.Snapshot(ctx, t.owner)
	if err != nil {
		return false, err
	}
	if r != nil {
		defer r.Close()
	}
	switch {
	case used && position <= 1 && last == 0 && snapshot == 0: // 1: it was cut short
		return true, t.adopt(ctx, lock)
	case used && position == 0:
		return false, &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("the folder of owner %q has a store of its own, and the engine has another one", t.owner),
			Try: "Export the folder's claims without store.url, move the folder away, and import them."}
	case position > max(last, snapshot):
		return false, &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("the engine has less of owner %q than this node's folder: record %d, not %d", t.owner, last, position),
			Try: "See whether it is the right engine. If it was emptied, restore it from a backup."}
	case snapshot > position:
		if err := lock.Restore(r); err != nil {
			return false, err
		}
		if position, _, err = lock.Position(); err != nil {
			return false, err
		}
	}
	return false, apply(lock, commitlog.Transactions(position, log.Read(ctx, t.owner, position)))
}

// adopt makes the store of a folder the beginning of a log: a snapshot at position 1, which
// is before every record that follows.
func (t *tenure) adopt(ctx context.Context, lock *bolt.Lock) error {
	if err := lock.SetPosition(1); err != nil {
		return err
	}
	return lock.Snapshot(func(position uint64, file io.WriterTo) error {
		r, w := io.Pipe()
		go func() {
			_, err := file.WriteTo(w)
			_ = w.CloseWithError(err)
		}()
		err := t.n.o.Log.PutSnapshot(ctx, t.owner, position, r)
		return errors.Join(err, r.Close())
	})
}

// Bounds of what is applied in one transaction.
const (
	applyRecords = 1000
	applyBytes   = 8 << 20
)

func apply(lock *bolt.Lock, records func(func(commitlog.Record, error) bool)) error {
	var some []bolt.Record
	size := 0
	flush := func() error {
		err := lock.Apply(some)
		some, size = some[:0], 0
		return err
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		some = append(some, bolt.Record{Position: r.Position, Changes: r.Data})
		if size += len(r.Data); len(some) >= applyRecords || size >= applyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Append implements bolt.Replica. What fails may have been written: it is repeated under its
// name by whoever holds the owner next.
func (t *tenure) Append(changes []byte) (uint64, error) {
	at, err := t.writer.Append(changes)
	if err != nil {
		return 0, &remote.LostError{Sent: true, Err: err}
	}
	return at, nil
}

// Rewritten implements bolt.Replica.
func (t *tenure) Rewritten(ctx context.Context, snapshot func(func(uint64, io.WriterTo) error) error) error {
	return t.writer.Rewritten(ctx, snapshot)
}

// valid reports whether the holder still has the right to answer.
func (t *tenure) valid() bool { return !t.lost.Load() && t.n.valid() }

// watch calls ended when the right is lost, and makes snapshots until ctx ends.
func (t *tenure) watch(ctx context.Context, s *bolt.Store, ended func()) {
	look := time.NewTicker(commitlog.Every / 2)
	defer look.Stop()
	snapshots := time.NewTicker(snapshotLook)
	defer snapshots.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.fenced:
			ended()
			return
		case <-look.C:
			if !t.valid() {
				ended()
				return
			}
		case <-snapshots.C:
			if t.writer.Tail() >= snapshotAfter {
				t.snapshot(ctx, s)
			}
		}
	}
}

func (t *tenure) snapshot(ctx context.Context, s *bolt.Store) {
	ctx, cancel := context.WithTimeout(ctx, snapshotWait)
	defer cancel()
	if err := t.writer.Rewritten(ctx, s.Snapshot); err != nil && ctx.Err() == nil {
		t.n.o.Logger.Warn("the log of an owner grows: no snapshot could be made", "owner", t.owner, "cause", err)
	}
}
