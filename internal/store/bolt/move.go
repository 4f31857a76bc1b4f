package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
)

// A store that moves to another place records this in its own file, so that every reader of the
// file sees it: in its folder, or in the log that the file is a copy of. The source file has
// kMoved from its last transaction on. The destination file has kArrival, which is not Done until
// the file holds all the data.
var (
	kMoved   = []byte("moved")   // JSON of an engine.Move
	kArrival = []byte("arrival") // JSON of an Arrival
)

// Arrival describes a move whose destination is this file.
type Arrival struct {
	ID    string `json:"id"`
	Place string `json:"place"` // where the store came from
	Done  bool   `json:"done,omitempty"`
	// Before holds the IDs of earlier moves, latest first.
	Before []string `json:"before,omitempty"`
}

// Holds reports whether the data that left with move id is in this store.
func (a Arrival) Holds(id string) bool {
	return a.Done && id != "" && (a.ID == id || slices.Contains(a.Before, id))
}

// maxBefore is the maximum number of earlier moves that are remembered.
const maxBefore = 64

// Next returns the Arrival for moving this store on to another place.
func (a Arrival) Next(id, from string) Arrival {
	next := Arrival{ID: id, Place: from}
	if a.ID != "" {
		next.Before = append([]string{a.ID}, a.Before[:min(len(a.Before), maxBefore-1)]...)
	}
	return next
}

// Standing says whether a file is an owner's active store, the remains of a store that moved
// away, or the incomplete destination of a move.
type Standing struct {
	Used    bool // the file contains a store
	Moved   engine.Move
	Arrival Arrival
}

// CheckUsable returns an error that says why the store can't be used; nil if it can.
func (s Standing) CheckUsable(owner string) error {
	if s.Moved.ID == "" && (s.Arrival.ID == "" || s.Arrival.Done) {
		return nil
	}
	return &AwayError{owner, s}
}

// AwayError is the error for an owner's store that is in another place.
type AwayError struct {
	Owner string
	Standing
}

// Error implements error.
func (e *AwayError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error as a ken.Error.
func (e *AwayError) Unwrap() error {
	if e.Moved.ID == "" {
		return &ken.Error{Code: ken.CodeUnavailable, Field: "store.url", Msg: fmt.Sprintf("owner %q is being moved here from %s", e.Owner, e.Arrival.Place),
			Try: "Try again when ken migrate has ended. If it was stopped, run it again: it continues."}
	}
	return &ken.Error{Code: ken.CodeRefused, Field: "store.url", Msg: fmt.Sprintf("owner %q was moved to %s", e.Owner, e.Moved.Place),
		Try: "Use " + e.Moved.Place + ", as store.url or for a folder as knowledge.db_path, and start Ken again."}
}

func standingOf(tx *bbolt.Tx) (s Standing, err error) {
	meta := tx.Bucket(bMeta)
	if meta == nil {
		return s, nil
	}
	s.Used = meta.Get(kLayout) != nil
	for key, to := range map[string]any{string(kMoved): &s.Moved, string(kArrival): &s.Arrival} {
		if v := meta.Get([]byte(key)); v != nil {
			if err := json.Unmarshal(v, to); err != nil {
				return s, damaged("read where the store has moved", err)
			}
		}
	}
	return s, nil
}

// Standing returns the standing of the file, see the type Standing.
func (l *Lock) Standing() (st Standing, err error) {
	err = read(l.db, func(tx *bbolt.Tx) (err error) { st, err = standingOf(tx); return err })
	return st, err
}

// Layout returns the layout number of the file: 0 for an empty file, more than the constant
// Layout for a file of a later version.
func (l *Lock) Layout() (n int, err error) {
	err = read(l.db, func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(bMeta); meta != nil {
			for _, b := range meta.Get(kLayout) {
				n = n<<8 | int(b)
			}
		}
		return nil
	})
	return n, err
}

// Events returns the number of the last event in the store's log.
func (l *Lock) Events() (seq uint64, err error) {
	err = read(l.db, func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bEvents); b != nil {
			if k, _ := b.Cursor().Last(); len(k) == 8 {
				seq = binary.BigEndian.Uint64(k)
			}
		}
		return nil
	})
	return seq, err
}

// checkNotMoved returns an error if the store is in another place.
func (s *Store) checkNotMoved(tx *bbolt.Tx) error {
	st, err := standingOf(tx)
	if err != nil {
		return err
	}
	return st.CheckUsable(s.o.Owner)
}

// MayMove returns an error if the store can't be moved to another place. Errors: ken.ErrRefused
// when a different move brought it here than the one that m names.
func (s *Store) MayMove(m engine.Move) error {
	return s.view(func(tx *bbolt.Tx) error { return checkMove(tx, m) })
}

func checkMove(tx *bbolt.Tx, m engine.Move) error {
	st, err := standingOf(tx)
	if err == nil && st.Arrival.ID != m.Arrived {
		err = &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: "the store was moved by another process meanwhile", Try: "Run ken migrate again."}
	}
	return err
}

// Move records, as the store's last transaction, that the store is in another place from now on.
func (s *Store) Move(ctx context.Context, m engine.Move) error {
	v, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.submit(ctx, &request{done: make(chan error, 1), solo: func() error {
		return s.update(func(tx *writeTx) error {
			if err := checkMove(tx.Tx, m); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Put(kMoved, v)
		})
	}})
}

// Arrives returns the changes that make a file the destination of a move, whatever it was before.
func Arrives(a Arrival) ([]byte, error) {
	v, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	tx := &writeTx{noting: true}
	tx.note(changeCreate, bMeta)
	tx.note(changePut, bMeta, kArrival, v)
	tx.note(changeDelete, bMeta, kMoved)
	return tx.changes, nil
}

// Change applies changes to the file of a store that is not in a log.
func (l *Lock) Change(changes []byte) error {
	return write(l.db, func(tx *bbolt.Tx) error {
		if err := apply(tx, changes); err != nil {
			return err
		}
		return tx.Bucket(bMeta).Delete(kPosition)
	})
}

// Replace atomically replaces this file with a copy of another one, with changes and a mark
// applied. The zero mark is for a store that is not in a log.
func (l *Lock) Replace(from *Lock, changes []byte, at LogMark) error {
	path := filepath.Join(l.dir, dbFile)
	tmp := path + ".restore"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("replace store: %w", err)
	}
	err = read(from.db, func(tx *bbolt.Tx) error { _, err := tx.WriteTo(f); return err })
	var db *bbolt.DB
	if err = errors.Join(err, f.Close()); err == nil {
		db, err = openDB(tmp, l.o)
	}
	if err == nil {
		err = write(db, func(tx *bbolt.Tx) error {
			if err := apply(tx, changes); err != nil {
				return err
			}
			if at == (LogMark{}) {
				return tx.Bucket(bMeta).Delete(kPosition)
			}
			return tx.Bucket(bMeta).Put(kPosition, at.encode())
		})
	}
	if err == nil {
		err = db.Sync()
	}
	if err != nil {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		return errors.Join(fmt.Errorf("replace store: %w", err), os.Remove(tmp))
	}
	if err := l.use(db, tmp, path); err != nil {
		return fmt.Errorf("replace store: %w", err)
	}
	return os.RemoveAll(filepath.Join(l.dir, vectorDir))
}

// asideFile is the name of a store's file after the store has left the folder.
const asideFile = dbFile + ".moved"

// FilesOfBefore reports whether a folder has files of stores that were there before, which are the
// user's to delete: one that moved, or one that was damaged.
func FilesOfBefore(dir string) (has bool, err error) {
	for _, file := range []string{asideFile, damagedFile} {
		switch _, err := os.Lstat(filepath.Join(dir, file)); {
		case err == nil:
			return true, nil
		case !errors.Is(err, os.ErrNotExist):
			return false, err
		}
	}
	return false, nil
}

// Aside returns the Standing of the file that SetAside kept; the zero value if there is none.
func (l *Lock) Aside() (st Standing, err error) {
	path := filepath.Join(l.dir, asideFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return st, nil
	}
	o := l.o
	o.readOnly = true
	db, err := openDB(path, o)
	if err != nil {
		return st, err
	}
	err = read(db, func(tx *bbolt.Tx) (err error) { st, err = standingOf(tx); return err })
	return st, errors.Join(err, db.Close())
}

// SetAside keeps the file as ken.db.moved and clears the folder.
func (l *Lock) SetAside() error {
	path, aside := filepath.Join(l.dir, dbFile), filepath.Join(l.dir, asideFile)
	if err := removed(aside); err != nil {
		return err
	}
	if err := os.Link(path, aside); err != nil {
		return fmt.Errorf("set a store aside: %w", err)
	}
	return l.Clear()
}

// MaxDifference is the maximum size of changes that are kept in memory, in bytes.
const MaxDifference = 16 << 20

// Difference returns the changes that turn this file into the other one, except for its position
// in a log and its standing. whole is false when there are more than MaxDifference bytes of
// changes.
func (l *Lock) Difference(other *Lock) (changes []byte, whole bool, err error) {
	out := &writeTx{noting: true}
	err = read(l.db, func(mine *bbolt.Tx) error {
		return read(other.db, func(theirs *bbolt.Tx) error {
			err := mine.ForEach(func(name []byte, _ *bbolt.Bucket) error {
				if theirs.Bucket(name) == nil {
					out.note(changeDrop, name)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return theirs.ForEach(func(name []byte, b *bbolt.Bucket) error {
				if mine.Bucket(name) == nil {
					out.note(changeCreate, name)
				}
				return out.difference(name, mine.Bucket(name), b)
			})
		})
	})
	if errors.Is(err, errMany) {
		return nil, false, nil
	}
	return out.changes, true, err
}

var errMany = errors.New("too many changes")

// difference records the changes that turn bucket mine, nil for an empty one, into theirs.
func (tx *writeTx) difference(name []byte, mine, theirs *bbolt.Bucket) error {
	b := theirs.Cursor()
	key, value := b.First()
	var a *bbolt.Cursor
	var old, was []byte
	if mine != nil {
		a = mine.Cursor()
		old, was = a.First()
	}
	for old != nil || key != nil {
		order := bytes.Compare(old, key)
		switch {
		case key == nil:
			order = -1
		case old == nil:
			order = 1
		}
		own := bytes.Equal(name, bMeta) && order >= 0 && isPlaceKey(key) || bytes.Equal(name, bMeta) && order < 0 && isPlaceKey(old)
		switch {
		case own:
		case order < 0:
			tx.note(changeDelete, name, old)
		case order > 0 || !bytes.Equal(was, value):
			tx.note(changePut, name, key, value)
		}
		if len(tx.changes) > MaxDifference {
			return errMany
		}
		if order <= 0 {
			old, was = a.Next()
		}
		if order >= 0 {
			key, value = b.Next()
		}
	}
	return nil
}

// isPlaceKey reports whether a key of bMeta describes the place of the file rather than its content.
func isPlaceKey(key []byte) bool {
	return bytes.Equal(key, kPosition) || bytes.Equal(key, kMoved) || bytes.Equal(key, kArrival)
}
