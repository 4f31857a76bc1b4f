package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/alive"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// A move of an owner has four steps. At most one place accepts writes at any time, even if a
// process is killed.
//
//  1. The new place records that the owner is being moved there. It does not serve the owner until
//     the move is complete.
//  2. The new place gets a copy of the store, and then the changes since. The old place still
//     serves the owner.
//  3. The holder records in the old place that the owner has moved. This is the last transaction
//     there, so all acknowledged writes precede it.
//  4. The new place gets the remaining changes, and then a record that the move is complete.
//
// The changes that the new place lacks are always computed as the difference between two files.
// So an interrupted move is continued by running it again.

// Place is the destination of a move: an engine, or a folder.
type Place struct {
	Name string        // the URL of the engine, or the path of the folder
	Log  commitlog.Log // nil for a folder
	Dir  string        // the folder that contains the owners' folders; used if Log is nil
}

// States of a move.
const (
	MoveWaits = "waits" // the move has not begun
	MoveBegun = "begun" // an earlier run was interrupted
	MoveDone  = "done"  // the owner is in the new place
)

// Moved is the result of a move.
type Moved struct {
	Owner  string
	State  string        // MoveWaits, MoveBegun or MoveDone: after the move, or as found by a dry run
	Bytes  int64         // the size of the store's file in the old place
	Pause  time.Duration // how long the owner could not be used; 0 if this run did not move it
	Events uint64        // the number of the owner's events, the same in both places; 0 if this run did not move it
}

const (
	// rounds is the maximum number of times that the new place is brought up to date before the
	// owner leaves the old one. A round with at most fewChanges bytes of changes is the last.
	rounds     = 4
	fewChanges = 64 << 10
	// lockWait is the timeout for a folder that another process has locked for a short time.
	lockWait = 10 * time.Second
)

// mover moves one owner.
type mover struct {
	w      *Owners
	owner  string
	to     Place
	from   string // the name of the old place
	work   string // a folder for copies
	copies int

	old         *bolt.Lock // a copy of the store in the old place
	oldStanding bolt.Standing
	size        int64
	there       *destination
}

// Move moves an owner to another place while it is in use. from is the name of the place where the
// owner is now. A dry run reports the state and changes nothing. An interrupted move is continued
// by calling Move again. Errors: ken.ErrExists if the new place has another store of that owner;
// ken.ErrHeld while another process moves the owner.
func (w *Owners) Move(ctx context.Context, owner, from string, to Place, dry bool) (r Moved, err error) {
	r.Owner = owner
	m := &mover{w: w, owner: owner, from: from, to: to}
	var remove func() error
	if m.work, remove, err = alive.Folder(WorkDir(w.dir)); err != nil {
		return r, err
	}
	defer func() {
		if m.old != nil {
			err = errors.Join(err, m.old.Release())
		}
		if m.there != nil {
			err = errors.Join(err, m.there.close())
		}
		err = errors.Join(err, remove())
	}()
	if err := m.copyOld(ctx); err != nil {
		return r, err
	}
	r.Bytes = m.size
	if m.there, err = openDestination(ctx, to, owner, filepath.Join(m.work, "there"), dry); err != nil {
		return r, err
	}
	arrival, state, err := m.compare()
	if r.State = state; err != nil || dry || state == MoveDone {
		return r, err
	}
	if err := m.there.begin(arrival); err != nil {
		return r, err
	}
	if m.oldStanding.Moved.ID == "" {
		if err := m.follow(ctx, arrival); err != nil {
			return r, err
		}
	}
	begun := time.Now()
	if err := m.leave(ctx, arrival); err != nil {
		return r, err
	}
	if err := m.copyOld(ctx); err != nil {
		return r, err
	}
	if m.oldStanding.Moved.ID == "" {
		return r, &ken.Error{Code: ken.CodeInternal, Msg: fmt.Sprintf("owner %q has not left %s", owner, from), Try: "Run it again."}
	}
	if err := m.there.complete(ctx, m.old, arrival); err != nil {
		return r, err
	}
	r.State, r.Pause = MoveDone, time.Since(begun)
	if r.Events, err = m.old.Events(); err != nil {
		return r, err
	}
	return r, m.there.tidy(ctx)
}

// copyOld copies the current state of the store in the old place to m.work, and sets m.old,
// m.oldStanding and m.size.
func (m *mover) copyOld(ctx context.Context) (err error) {
	if m.old != nil {
		err = m.old.Release()
		m.old = nil
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(m.work, "old")
	if m.w.o.Node == nil { // a copy of a log is updated in place
		m.copies++
		dir += fmt.Sprint(m.copies)
		if err := errors.Join(os.RemoveAll(filepath.Join(m.work, fmt.Sprint("old", m.copies-1))), os.MkdirAll(dir, 0o700)); err != nil {
			return err
		}
	}
	err = m.w.copyTo(ctx, m.owner, dir)
	for end := time.Now().Add(lockWait); errors.Is(err, commitlog.ErrUnreachable) && time.Now().Before(end); { // the log may have been truncated meanwhile
		select {
		case <-time.After(nodePause):
		case <-ctx.Done():
			return ctx.Err()
		}
		err = m.w.copyTo(ctx, m.owner, dir)
	}
	var away *bolt.AwayError
	if errors.As(err, &away) && m.w.o.Node == nil { // the owner has left: no process changes the file
		err = m.copyFolder(dir)
	}
	if err != nil {
		return err
	}
	if m.old, err = bolt.Acquire(dir, bolt.Options{Owner: m.owner}); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(dir, "ken.db")); err == nil {
		m.size = info.Size()
	}
	if m.oldStanding, err = m.old.Standing(); err == nil && away != nil && m.oldStanding.Moved.ID == "" {
		return away // the copied store is not the one that has left
	}
	return err
}

// copyFolder copies a store whose owner has left the old place, which is a folder, to dir.
func (m *mover) copyFolder(dir string) error {
	from, err := bolt.Acquire(filepath.Join(m.w.dir, bolt.FolderName(m.owner)), bolt.Options{Owner: m.owner, LockTimeout: lockWait})
	if err != nil {
		return err
	}
	to, err := bolt.Acquire(dir, bolt.Options{Owner: m.owner})
	if err == nil {
		err = errors.Join(to.Replace(from, nil, bolt.LogMark{}), to.Release())
	}
	return errors.Join(err, from.Release())
}

// compare determines the state of the move, and the Arrival to record in the new place. The Arrival
// has the ID of an interrupted move, or a new one. Errors: ken.ErrExists if the new place has
// another store of the owner; a bolt.AwayError if the owner is in a third place.
func (m *mover) compare() (a bolt.Arrival, state string, err error) {
	old, there := m.oldStanding, m.there.standing
	a = old.Arrival.Next(uuid.NewString(), m.from)
	refused := func(msg, try string) (bolt.Arrival, string, error) {
		return a, MoveWaits, &ken.Error{Code: ken.CodeExists, Field: "owner", Msg: msg, Try: try}
	}
	left, comes := old.Moved.ID != "", there.Arrival.ID != "" && there.Moved.ID == ""
	switch {
	case old.Moved.ID == "" && old.CheckUsable(m.owner) != nil:
		return a, MoveWaits, old.CheckUsable(m.owner)
	case left && comes && there.Arrival.ID == old.Moved.ID && there.Arrival.Done:
		return a, MoveDone, nil
	case left && old.Moved.Place != m.to.Name && there.Arrival.ID != old.Moved.ID:
		return a, MoveWaits, old.CheckUsable(m.owner)
	case left:
		a.ID = old.Moved.ID
		if !comes || there.Arrival.Done {
			return refused(fmt.Sprintf("owner %q has left %s, and %s is not what it left for", m.owner, m.from, m.to.Name), "See whether --to names the place of the last run, and whether it has lost anything.")
		}
		return a, MoveBegun, nil
	case comes && !there.Arrival.Done:
		if there.Arrival.Place != m.from {
			return refused(fmt.Sprintf("owner %q is being moved to %s from %s", m.owner, m.to.Name, there.Arrival.Place), "End that move first, from there.")
		}
		a.ID = there.Arrival.ID
		return a, MoveBegun, nil
	case there.Moved.ID != "" && old.Arrival.Holds(there.Moved.ID): // the owner moves back to a place that it left earlier
		return a, MoveWaits, nil
	case there.Used && !m.there.stale:
		return refused(fmt.Sprintf("%s has an owner %q already", m.to.Name, m.owner), "Export one of the two and import it into the other. Nothing was changed.")
	}
	return a, MoveWaits, nil
}

// follow brings the new place up to date while the old one still serves the owner.
func (m *mover) follow(ctx context.Context, a bolt.Arrival) error {
	for range rounds {
		size, err := m.there.equal(ctx, m.old, a)
		if err != nil || size <= fewChanges {
			return err
		}
		if err := m.copyOld(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leave makes the holder record that the owner has moved, and give up the store. It does nothing if
// the owner has left already.
func (m *mover) leave(ctx context.Context, a bolt.Arrival) error {
	if m.oldStanding.Moved.ID != "" {
		return nil
	}
	s, release, err := m.w.Get(ctx, m.owner)
	if err == nil {
		err = s.(*proxyEngine).move(ctx, engine.Move{ID: a.ID, Place: m.to.Name, Arrived: m.oldStanding.Arrival.ID})
		release()
	}
	if away, ok := errors.AsType[*bolt.AwayError](err); ok && away.Moved.ID == a.ID {
		return nil
	}
	if err == nil {
		err = &ken.Error{Code: ken.CodeInternal, Msg: "the store was moved and is there still", Try: "Run it again."}
	}
	return err
}

// move makes the holder give up the store for another place. It repeats the call until a holder
// refuses the store, so it returns a bolt.AwayError on success.
func (e *proxyEngine) move(ctx context.Context, m engine.Move) error {
	return e.read(ctx, func(s store.Engine) error {
		if c, away := s.(*remote.Client); away {
			return cmp.Or(c.Move(ctx, m), errLeft)
		}
		r := e.s.role.Load()
		switch {
		case r == nil || r.store != s: // the role was lost meanwhile
			return errLeft
		case r.host == nil:
			return &ken.Error{Code: ken.CodeRefused, Field: "knowledge.db_path", Msg: e.s.dir + " can't be written, so no owner can leave it", Try: "Make the folder writable."}
		}
		return cmp.Or(r.host.move(ctx, m), errLeft)
	})
}

// errLeft makes read look for the holder again, after the store has left.
var errLeft error = &remote.LostError{Sent: true, Err: errors.New("the store has left for another place")}

// destination is an owner's store in the new place while the move is not complete.
type destination struct {
	place    Place
	owner    string
	lock     *bolt.Lock // of the owner's folder, or of a local copy of the log
	standing bolt.Standing
	stale    bool               // the folder's file is an old copy of a log, which may be deleted
	tenure   *tenure            // for reading the log; nil for a folder
	writer   *commitlog.Writer  // nil for a folder, and before begin
	at       commitlog.Mark     // the last record of the log
	replaced bool               // this run has replaced the content with the old place's file
	end      context.CancelFunc // cancels the writer's appends
}

// openDestination opens the owner's store in the new place. dir is a folder for a copy of the log,
// used if to is an engine. A dry run creates no folder in to.Dir.
func openDestination(ctx context.Context, to Place, owner, dir string, dry bool) (d *destination, err error) {
	d = &destination{place: to, owner: owner, end: func() {}}
	if to.Log == nil {
		dir = filepath.Join(to.Dir, bolt.FolderName(owner))
		if _, err := os.Stat(filepath.Join(dir, "ken.db")); dry && errors.Is(err, os.ErrNotExist) {
			return d, nil
		}
	}
	if d.lock, err = bolt.Acquire(dir, bolt.Options{Owner: owner}); err != nil {
		return nil, err
	}
	if to.Log == nil {
		d.stale, _, err = isCopy(dir)
	} else {
		d.lock.LeaveUnsynced() // the data is in the log
		d.tenure = &tenure{n: &Node{o: NodeOptions{Log: to.Log}}, owner: owner, dir: dir, moves: true}
		d.at, _, err = d.tenure.load(ctx, d.lock)
	}
	if err == nil {
		d.standing, err = d.lock.Standing()
	}
	if d.stale {
		d.standing = bolt.Standing{}
	}
	if err != nil {
		return nil, errors.Join(err, d.lock.Release())
	}
	return d, nil
}

func (d *destination) close() error {
	d.end()
	if d.lock == nil {
		return nil
	}
	return d.lock.Release()
}

// begin records that the owner is being moved here. From then on no other process can move the
// owner here. In an engine its appends fail after this record; a folder is locked.
func (d *destination) begin(a bolt.Arrival) error {
	if d.tenure == nil {
		if d.stale {
			if err := errors.Join(d.lock.Clear(), forgetCopy(filepath.Join(d.place.Dir, bolt.FolderName(d.owner)))); err != nil {
				return err
			}
			d.stale = false
		}
		return d.note(a)
	}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	d.writer = commitlog.NewWriter(ctx, d.place.Log, d.owner, d.at, d.tenure.dir, commitlog.Current, func(error) {})
	return d.note(a)
}

// note records an Arrival here.
func (d *destination) note(a bolt.Arrival) error {
	changes, err := bolt.Arrives(a)
	if err != nil {
		return err
	}
	return d.change(changes)
}

// change applies changes to the file, after appending them to the log if there is one.
func (d *destination) change(changes []byte) error {
	if d.writer == nil {
		return d.lock.Change(changes)
	}
	at, err := d.writer.Append(changes)
	if err != nil {
		return d.moved(err)
	}
	d.at = at
	return d.lock.Apply([]bolt.Record{{LogMark: bolt.LogMark(at), Changes: changes}})
}

// moved converts the error of an append: a fenced log means that another process moves the owner.
func (d *destination) moved(err error) error {
	if errors.Is(err, commitlog.ErrFenced) {
		return d.another(err)
	}
	return err
}

func (d *destination) another(cause error) error {
	return &ken.Error{Code: ken.CodeHeld, Field: "owner", Msg: fmt.Sprintf("another process moves owner %q to %s", d.owner, d.place.Name), Err: cause, Try: "Let that one end."}
}

// equal makes the store here equal to the file old, and returns the size of the changes in bytes.
// The first call replaces the whole file, so that no previous content remains. So does a call with
// more than bolt.MaxDifference bytes of changes. Both return bolt.MaxDifference.
func (d *destination) equal(ctx context.Context, old *bolt.Lock, a bolt.Arrival) (size int64, err error) {
	changes, few := []byte(nil), false
	if d.replaced {
		changes, few, err = d.lock.Difference(old)
	}
	switch {
	case err != nil:
		return 0, err
	case !few:
		d.replaced = true
		return bolt.MaxDifference, d.replace(ctx, old, a)
	case len(changes) == 0:
		return 0, nil
	}
	if err := d.change(changes); err != nil {
		return 0, err
	}
	return int64(len(changes)), d.check(old)
}

// complete applies the remaining changes, and records that the move is complete.
func (d *destination) complete(ctx context.Context, old *bolt.Lock, a bolt.Arrival) error {
	if d.writer == nil { // one transaction for both
		a.Done = true
		return d.replace(ctx, old, a)
	}
	if _, err := d.equal(ctx, old, a); err != nil {
		return err
	}
	a.Done = true
	return d.note(a)
}

// tidy replaces the log's records with a snapshot of the moved store. Otherwise the records could
// contain claims that were forgotten during the move.
func (d *destination) tidy(ctx context.Context) error {
	if d.writer == nil {
		return nil
	}
	if _, err := commitlog.PutCopy(ctx, d.place.Log, d.owner, d.tenure.dir, d.lock.Snapshot); err != nil {
		return err
	}
	return d.place.Log.Truncate(ctx, d.owner, d.at.Position)
}

// replace replaces the store here with the file old. For a log it sends a snapshot, reads it back,
// and truncates the log before it.
func (d *destination) replace(ctx context.Context, old *bolt.Lock, a bolt.Arrival) error {
	changes, err := bolt.Arrives(a)
	if err != nil {
		return err
	}
	if d.writer != nil { // nodes that have read the previous log must not continue from there
		if d.at, err = d.writer.Base(); err != nil {
			return d.moved(err)
		}
	}
	if err := d.lock.Replace(old, changes, bolt.LogMark(d.at)); err != nil {
		return err
	}
	if d.writer == nil {
		return d.check(old)
	}
	if err := d.tidy(ctx); err != nil {
		return err
	}
	if err := d.lock.Clear(); err != nil {
		return err
	}
	end, _, err := d.tenure.load(ctx, d.lock)
	if err == nil && end != d.at {
		err = d.another(nil)
	}
	if err != nil {
		return err
	}
	return d.check(old)
}

// check returns an error if the store here differs from the file old in any value.
func (d *destination) check(old *bolt.Lock) error {
	changes, few, err := d.lock.Difference(old)
	if err == nil && (len(changes) > 0 || !few) {
		err = &ken.Error{Code: ken.CodeInternal, Field: "owner", Msg: fmt.Sprintf("what %s has of owner %q is not what was copied", d.place.Name, d.owner), Try: "Report it. The owner is where it was, or is nowhere until the move is done."}
	}
	return err
}
