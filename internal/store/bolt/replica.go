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

// Replica stores the changes of a store in a log elsewhere. The store's file is then a copy of
// that log: it may be deleted, and is built again from the log. It must be safe for concurrent
// use.
type Replica interface {
	// Append makes the changes of a transaction durable after the previous ones, and returns
	// their position in the log. It is called before the file shows the changes. After an error
	// the store writes nothing more, because it is unknown whether the log has them.
	Append(changes []byte) (LogMark, error)
	// Failed is called when the file may lack changes that the log has. It returns the error for
	// the callers of those writes.
	Failed(err error) error
	// Synced is called when all changes are on the disk, before the lock is released.
	Synced() error
	// Rewritten is called when the file no longer contains any forgotten text, so that the log
	// can also remove it. snapshot is Store.Snapshot.
	Rewritten(ctx context.Context, snapshot func(func(position uint64, file io.WriterTo) error) error) error
}

// LogMark is the place of a transaction in the log of a Replica: a position, and a number that
// distinguishes it from a transaction of another log.
type LogMark struct{ Position, ID uint64 }

// kPosition is the key of the LogMark of the last transaction, 16 bytes.
var kPosition = []byte("position")

func (m LogMark) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, m.Position), m.ID)
}

// The changes of a transaction, in the order in which they are made. A change is a byte for its
// kind, then a bucket's name, a key and a value, each preceded by its length.
const (
	changePut byte = iota + 1
	changeDelete
	changeCreate // of a bucket
	changeDrop   // of a bucket
)

// writeTx is a transaction that records its changes for a Replica.
type writeTx struct {
	*bbolt.Tx
	noting   bool
	changes  []byte
	appended bool // the changes are in the log
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

// Bucket returns a bucket that records its changes.
func (tx *writeTx) Bucket(name []byte) writeBucket {
	return writeBucket{bucketToWrite(tx.Tx, name), name, tx}
}

// appendFill is the share of a page that is filled before the next page begins, in buckets whose
// keys only grow. With bbolt's default of half, each page would stay half empty.
const appendFill = 0.9

// bucketToWrite returns a bucket with the fill share that suits its keys; nil if it does not
// exist.
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

// CreateBucketIfNotExists creates a bucket if it does not exist.
func (tx *writeTx) CreateBucketIfNotExists(name []byte) error {
	if tx.Tx.Bucket(name) != nil {
		return nil
	}
	tx.note(changeCreate, name)
	_, err := tx.Tx.CreateBucket(name)
	return err
}

// EmptyBucket deletes all keys of a bucket.
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

// replicate sends the changes of a transaction to the replica, and stores their LogMark in the
// file. If it fails, the store stops writing.
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

// stopWriting makes all later writes fail: the log may be ahead of the file.
func (s *Store) stopWriting(cause error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.broken = cause
	}
}

// rewritten notifies the replica that the file was rewritten.
func (s *Store) rewritten(ctx context.Context) error {
	if s.o.Replica == nil {
		return nil
	}
	return s.o.Replica.Rewritten(ctx, s.Snapshot)
}

// Snapshot runs fn with the store's current file followed by its keyword index, and the position
// of its last transaction in the log of its Replica; 0 without one. Writers continue meanwhile,
// as long as the file need not grow.
func (s *Store) Snapshot(fn func(position uint64, file io.WriterTo) error) (err error) {
	dir, fault := s.copyIndex() // before the file, so that the index is not ahead of the file
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

// Mark returns the LogMark up to which the file contains the log; the zero value if it contains
// nothing. used reports whether the file contains a store, whether of a log or not.
func (l *Lock) Mark() (at LogMark, used bool, err error) {
	err = read(l.db, func(tx *bbolt.Tx) error {
		at, used = logMarkOf(tx), tx.Bucket(bMeta) != nil
		return nil
	})
	return at, used, err
}

// Snapshot is Store.Snapshot for a store that is not open yet.
func (l *Lock) Snapshot(fn func(position uint64, file io.WriterTo) error) error {
	dir := filepath.Join(l.dir, indexDir)
	if _, err := os.Stat(dir); err != nil {
		dir = ""
	}
	return read(l.db, func(tx *bbolt.Tx) error { return fn(logMarkOf(tx).Position, indexedFile{tx, dir}) })
}

// Replicate sets the replica for the next store that is opened with this lock.
func (l *Lock) Replicate(r Replica) { l.o.Replica = r }

// LeaveUnsynced turns off fsync for commits until the store is closed: the file is only a copy.
func (l *Lock) LeaveUnsynced() { l.db.NoSync = true }

// Record holds the changes of one transaction and its place in the log.
type Record struct {
	LogMark
	Changes []byte // may be empty
}

// Apply applies records of the log to the file, in one transaction. They must follow the file's
// position. Errors: ErrCorrupt for changes that can't be read.
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

// SetMark stores the LogMark up to which the file contains the log.
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

// restoredFile exists while the file came from a snapshot and the vectors next to it may still
// include those of texts that were forgotten meanwhile.
const restoredFile = "restored"

// eraseRestored erases those vectors and removes restoredFile.
func (s *Store) eraseRestored() error {
	path := filepath.Join(s.dir, restoredFile)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(s.eraseVectors(), removed(path))
}

// Restore replaces the file with a snapshot, and keeps the lock. With index, it also takes the
// keyword index from the snapshot. Other files in the folder, such as the vectors, are brought up
// to date when the store is opened.
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
		if err = durable.WriteFile(filepath.Join(l.dir, restoredFile), nil, 0o600); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore snapshot: %w", err), os.Remove(tmp))
	}
	if err := l.use(db, tmp, path); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	if _, none := os.Stat(words); none == nil {
		return os.Rename(words, filepath.Join(l.dir, indexDir))
	}
	return nil
}

// Detach makes a copy of a log an independent store, so that a new log can start from it. No
// process may have it open.
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

// Discard removes the file and the index of a store that no process has open.
func Discard(dir string) error {
	return errors.Join(removed(filepath.Join(dir, dbFile)), os.RemoveAll(filepath.Join(dir, indexDir)))
}

// Clear removes the store's data from the folder, and keeps the lock.
func (l *Lock) Clear() error {
	path := filepath.Join(l.dir, dbFile)
	tmp := path + ".restore"
	db, err := newDB(tmp, l.o)
	if err != nil {
		return fmt.Errorf("clear store: %w", err)
	}
	if err := l.use(db, tmp, path); err != nil {
		return fmt.Errorf("clear store: %w", err)
	}
	return os.RemoveAll(filepath.Join(l.dir, vectorDir))
}

// use puts a file, which has the name tmp, into the place of the store's, and removes the index of the old one.
func (l *Lock) use(db *bbolt.DB, tmp, path string) (err error) {
	old := l.db
	if l.db, err = takeOver(old, db, tmp, path, l.o); err != nil {
		return err
	}
	return errors.Join(old.Close(), os.RemoveAll(filepath.Join(l.dir, indexDir)))
}

// replicated reports whether the file is a copy of a log.
func (s *Store) replicated() bool {
	if s.o.Replica != nil {
		return true
	}
	at := LogMark{}
	_ = s.viewUnreported(func(tx *bbolt.Tx) error { // a file that can't be read is salvaged
		at = logMarkOf(tx)
		return nil
	})
	return at.Position != 0
}

// errReplicated is the error of repairs of a store with a Replica.
var errReplicated = &ken.Error{Code: ken.CodeRefused, Msg: "the store's file is a copy of a log that is kept elsewhere",
	Try: "Delete the owner's folder; the file is made again from the log."}
