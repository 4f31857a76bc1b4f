package bolt

import (
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

func TestLocksOfBbolt(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "a.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = write(db, func(*bbolt.Tx) error {
		if lock[sync.Mutex](db, "rwlock").TryLock() {
			t.Error("a writer does not hold the lock for writers")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = read(db, func(*bbolt.Tx) error {
		if lock[sync.RWMutex](db, "mmaplock").TryLock() {
			t.Error("a reader does not keep the file mapped")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if meta := lock[sync.Mutex](db, "metalock"); !meta.TryLock() {
		t.Error("the lock of the start of the file is held")
	} else {
		meta.Unlock()
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
