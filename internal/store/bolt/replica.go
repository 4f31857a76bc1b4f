package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// Replica keeps the changes of a store in a log elsewhere. The store's file is a copy of
// that log then: it may be deleted, and is made again from there. It is safe for
// concurrent use.
type Replica interface {
	// Append makes the changes of a transaction durable behind those before, and returns where
	// they stand. It is called before the file shows them. After an error the store writes
	// nothing more: nobody knows whether the log has them.
	Append(changes []byte) (LogMark, error)
	// Failed is called when the file may lack what the log has, and returns the error for those
	// whose writes they are.
	Failed(err error) error
	// Synced is called when the file is on the disk as it is, before the lock is let go.
	Synced() error
	// Rewritten is called when the file holds no word any more of what was forgotten, so
	// that the log lets go of it as well. snapshot is Store.Snapshot.
	Rewritten(ctx context.Context, snapshot func(func(position uint64, file io.WriterTo) error) error) error
}

// LogMark is where a transaction stands in the log of a Replica: a position, and a number that
// tells it from a transaction of another log.
type LogMark struct{ Position, ID uint64 }

// kPosition is the LogMark of the last transaction, 16.
var kPosition = []byte("position")

func (m LogMark) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, m.Position), m.ID)
}

// What a transaction does to the file, in the order in which it does it. A change is a byte
// that says what it is, then a bucket's name, a key and a value, each with its length before
// it.
const (
	changePut byte = iota + 1
	changeDelete
	changeCreate // of a bucket
	changeDrop   // of a bucket
)

// writeTx is a transaction that notes what it changes, for a Replica.
type writeTx struct {
	*bbolt.Tx
	noting   bool
	changes  []byte
	appended bool // to the log
}

func (tx *writeTx) note(kind byte, parts ...[]byte) {
	if !tx.noting {
		return
	}
	tx.changes = append(tx.changes, kind)
	for _, p := range parts {
		tx.changes = binary.AppendUvarint(tx.changes, uint64(len(p)))
		tx.changes = append(tx.changes, p...)
	}
}

// Bucket returns a bucket whose changes are noted.
func (tx *writeTx) Bucket(name []byte) writeBucket {
	return writeBucket{bucketToWrite(tx.Tx, name), name, tx}
}

// appendFill is how full a page becomes before the next one begins, where keys only grow. With
// bbolt's half, each page there would stay half empty for ever.
const appendFill = 0.9

// bucketToWrite returns a bucket whose pages are filled as its keys come; nil for none.
func bucketToWrite(tx *bbolt.Tx, name []byte) *bbolt.Bucket {
	b := tx.Bucket(name)
	if b != nil {
		switch string(name) {
		case string(bEvents), string(bClaims), string(bRows), string(bTrail):
			b.FillPercent = appendFill
		}
	}
	return b
}

// CreateBucketIfNotExists makes a bucket where there is none.
func (tx *writeTx) CreateBucketIfNotExists(name []byte) error {
	if tx.Tx.Bucket(name) != nil {
		return nil
	}
	tx.note(changeCreate, name)
	_, err := tx.Tx.CreateBucket(name)
	return err
}

// EmptyBucket removes all that a bucket holds.
func (tx *writeTx) EmptyBucket(name []byte) error {
	tx.note(changeDrop, name)
	tx.note(changeCreate, name)
	if err := tx.Tx.DeleteBucket(name); err != nil {
		return err
	}
	_, err := tx.Tx.CreateBucket(name)
	return err
}

// writeBucket is a bucket of a writeTx.
type writeBucket struct {
	*bbolt.Bucket
	name []byte
	tx   *writeTx
}

// Put sets a value.
func (b writeBucket) Put(key, value []byte) error {
	b.tx.note(changePut, b.name, key, value)
	return b.Bucket.Put(key, value)
}

// Delete removes a value.
func (b writeBucket) Delete(key []byte) error {
	b.tx.note(changeDelete, b.name, key)
	return b.Bucket.Delete(key)
}

// replicate sends the changes of a transaction to the replica, and notes in the file where
// they stand. Once that fails, nothing is written any more.
func (s *Store) replicate(tx *writeTx) error {
	if s.o.Replica == nil || len(tx.changes) == 0 {
		return nil
	}
	at, err := s.o.Replica.Append(tx.changes)
	if err != nil {
		s.stopWriting(err)
		return err
	}
	tx.appended = true
	return tx.Tx.Bucket(bMeta).Put(kPosition, at.encode())
}

// stopWriting ends all writing: the log may be further than the file.
func (s *Store) stopWriting(cause error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.broken = cause
	}
}

// rewritten tells the replica that the file was rewritten.
func (s *Store) rewritten(ctx context.Context) error {
	if s.o.Replica == nil {
		return nil
	}
	return s.o.Replica.Rewritten(ctx, s.Snapshot)
}

// Snapshot runs fn with the store's file as it is now, its keyword index behind it, and the
// position of its last transaction in the log of its Replica; 0 without one. Writers go on
// meanwhile, as long as the file need not grow.
func (s *Store) Snapshot(fn func(position uint64, file io.WriterTo) error) (err error) {
	dir, fault := s.copyIndex() // before the file, so that it is not ahead of that
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole := dir
	if fault != nil {
		s.o.Log.Warn("a snapshot lacks the keyword index", "store", s.dir, "error", fault)
		whole = ""
	}
	return s.view(func(tx *bbolt.Tx) error { return fn(logMarkOf(tx).Position, indexedFile{tx, whole}) })
}

func logMarkOf(tx *bbolt.Tx) LogMark {
	meta := tx.Bucket(bMeta)
	if meta == nil {
		return LogMark{}
	}
	if v := meta.Get(kPosition); len(v) == 16 {
		return LogMark{binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])}
	}
	return LogMark{}
}

// Mark returns up to where the file has the log of a Replica; the zero value for nothing of it.
// used reports whether there is a store in the file, be it of a log or not.
func (l *Lock) Mark() (at LogMark, used bool, err error) {
	err = read(l.db, func(tx *bbolt.Tx) error {
		at, used = logMarkOf(tx), tx.Bucket(bMeta) != nil
		return nil
	})
	return at, used, err
}

// Snapshot is that of the store, which is not open yet.
func (l *Lock) Snapshot(fn func(position uint64, file io.WriterTo) error) error {
	dir := filepath.Join(l.dir, indexDir)
	if _, err := os.Stat(dir); err != nil {
		dir = ""
	}
	return read(l.db, func(tx *bbolt.Tx) error { return fn(logMarkOf(tx).Position, indexedFile{tx, dir}) })
}

// Replicate has the store that is opened next send its changes to a replica.
func (l *Lock) Replicate(r Replica) { l.o.Replica = r }

// LeaveUnsynced has commits not wait for the disk any more, until the store is closed: the
// file is a copy.
func (l *Lock) LeaveUnsynced() { l.db.NoSync = true }

// Record is the changes of one transaction, and where they stand in the log.
type Record struct {
	LogMark
	Changes []byte // none: it only says that it was there
}

// Apply brings records of the log to the file, in one transaction. They follow the position
// of the file. Errors: ErrCorrupt for changes that can't be read.
func (l *Lock) Apply(records []Record) error {
	if len(records) == 0 {
		return nil
	}
	return write(l.db, func(tx *bbolt.Tx) error {
		for _, r := range records {
			if err := apply(tx, r.Changes); err != nil {
				return damaged(fmt.Sprintf("apply record %d of the log", r.Position), err)
			}
		}
		meta, err := tx.CreateBucketIfNotExists(bMeta)
		if err != nil {
			return err
		}
		return meta.Put(kPosition, records[len(records)-1].encode())
	})
}

// SetMark notes up to where the file has the log: a store that had none gets one.
func (l *Lock) SetMark(at LogMark) error { return l.Apply([]Record{{LogMark: at}}) }

var errChanges = errors.New("the changes are cut off, or not of this program")

func apply(tx *bbolt.Tx, b []byte) error {
	part := func() []byte {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			b = nil
			return nil
		}
		p := b[size : size+int(n) : size+int(n)]
		b = b[size+int(n):]
		if p == nil {
			p = []byte{}
		}
		return p
	}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		name := part()
		if len(name) == 0 {
			return errChanges
		}
		var err error
		switch kind {
		case changeCreate:
			_, err = tx.CreateBucketIfNotExists(name)
		case changeDrop:
			err = tx.DeleteBucket(name)
		case changePut, changeDelete:
			bucket, key := bucketToWrite(tx, name), part()
			if bucket == nil || len(key) == 0 {
				return errChanges
			}
			if kind == changeDelete {
				err = bucket.Delete(key)
				break
			}
			value := part()
			if value == nil {
				return errChanges
			}
			err = bucket.Put(key, value)
		default:
			return errChanges
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restoredFile is there when the file came from a snapshot and the vectors beside it may still be
// of texts that were forgotten meanwhile.
const restoredFile = "restored"

// eraseRestored erases those vectors.
func (s *Store) eraseRestored() error {
	path := filepath.Join(s.dir, restoredFile)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(s.eraseVectors(), removed(path))
}

// Restore puts a snapshot into the place of the file, and keeps the lock. With index it takes the
// keyword index from it as well. What lies beside the file otherwise, such as the vectors, follows
// when the store is opened.
func (l *Lock) Restore(r io.Reader, index bool) error {
	path := filepath.Join(l.dir, dbFile)
	tmp, words := path+".restore", ""
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	if index {
		words = filepath.Join(l.dir, indexDir+".restore")
		err = os.RemoveAll(words)
	}
	if err == nil {
		_, err = io.Copy(f, r)
	}
	if err == nil {
		err = splitSnapshot(f, words)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		err = errors.Join(fmt.Errorf("restore snapshot: %w", err), os.Remove(tmp))
		if index { // what there is of it takes room
			err = errors.Join(err, os.RemoveAll(words))
		}
		return err
	}
	db, err := openDB(tmp, l.o)
	if err == nil {
		err = durable.WriteFile(filepath.Join(l.dir, restoredFile), nil)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore snapshot: %w", err), os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("restore snapshot: %w", err), db.Close(), os.Remove(tmp))
	}
	old := l.db
	db.NoSync = old.NoSync
	l.db = db
	err = errors.Join(old.Close(), os.RemoveAll(filepath.Join(l.dir, indexDir)))
	if _, none := os.Stat(words); err == nil && none == nil {
		err = os.Rename(words, filepath.Join(l.dir, indexDir))
	}
	return err
}

// Detach makes a copy of a log a store of its own, which nobody has open: another log may
// begin with it.
func Detach(dir string, o Options) error {
	l, err := Acquire(dir, o)
	if err != nil {
		return err
	}
	err = write(l.db, func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(bMeta); meta != nil {
			return meta.Delete(kPosition)
		}
		return nil
	})
	return errors.Join(err, l.Release())
}

// Discard removes the file of a store and its index, which nobody has open.
func Discard(dir string) error {
	return errors.Join(removed(filepath.Join(dir, dbFile)), os.RemoveAll(filepath.Join(dir, indexDir)))
}

// Clear removes what the folder holds of a store, and keeps the lock.
func (l *Lock) Clear() error {
	path := filepath.Join(l.dir, dbFile)
	tmp := path + ".restore"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear store: %w", err)
	}
	db, err := openDB(tmp, l.o)
	if err != nil {
		return fmt.Errorf("clear store: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("clear store: %w", err), db.Close(), os.Remove(tmp))
	}
	old := l.db
	db.NoSync = old.NoSync
	l.db = db
	return errors.Join(old.Close(), os.RemoveAll(filepath.Join(l.dir, indexDir)), os.RemoveAll(filepath.Join(l.dir, vectorDir)))
}

// replicated reports whether the file is a copy of a log.
func (s *Store) replicated() bool {
	if s.o.Replica != nil {
		return true
	}
	at := LogMark{}
	_ = s.viewUnreported(func(tx *bbolt.Tx) error { // one that can't be read is salvaged
		at = logMarkOf(tx)
		return nil
	})
	return at.Position != 0
}

// errReplicated is what repairs say of a store with a Replica.
var errReplicated = &ken.Error{Code: ken.CodeRefused, Msg: "the store's file is a copy of a log that is kept elsewhere",
	Try: "Delete the owner's folder; the file is made again from the log."}
