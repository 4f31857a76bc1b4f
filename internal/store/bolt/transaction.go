package bolt

import (
	"reflect"
	"sync"

	"go.etcd.io/bbolt"
)

// read runs fn in a read transaction.
func (s *Store) read(fn func(*bbolt.Tx) error) error {
	s.snapshots.RLock()
	defer s.snapshots.RUnlock()
	return read(s.db, fn)
}

// read is bbolt's View. bbolt keeps its locks where beginning a transaction panics, as it
// does when both pages at the start of the file are gone; without them every later call
// would wait for ever, Close included. They are given back here, so that each call ends
// with the same panic.
func read(db *bbolt.DB, fn func(*bbolt.Tx) error) error {
	began, ended := false, false
	defer func() {
		if !began && !ended {
			lock[sync.RWMutex](db, "mmaplock").RUnlock()
			lock[sync.Mutex](db, "metalock").Unlock()
		}
	}()
	err := db.View(func(tx *bbolt.Tx) error {
		began = true
		return fn(tx)
	})
	ended = true
	return err
}

// write is bbolt's Update, which keeps its lock for writers where beginning or undoing a
// transaction panics: undoing it reads the list of free pages. See read.
func write(db *bbolt.DB, fn func(*bbolt.Tx) error) error {
	var began *bbolt.Tx
	ended := false
	defer func() {
		if !ended && (began == nil || began.DB() != nil) {
			lock[sync.Mutex](db, "rwlock").Unlock()
		}
	}()
	err := db.Update(func(tx *bbolt.Tx) error {
		began = tx
		return fn(tx)
	})
	ended = true
	return err
}

// lock is a lock of bbolt's, by the name of its field. TestLocksOfBbolt fails if another
// version has no such.
func lock[T any](db *bbolt.DB, name string) *T {
	f := reflect.ValueOf(db).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic("bbolt has no lock " + name)
	}
	return (*T)(f.Addr().UnsafePointer())
}
