package bolt

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"runtime"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// failMetaWrite makes the next write of one of the file's first two pages fail after it
// was done, as a disk may: what is mapped shows it.
func failMetaWrite(db *bbolt.DB) {
	f := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	writeAt := (*func([]byte, int64) (int, error))(f.Addr().UnsafePointer())
	was, size := *writeAt, int64(2*db.Info().PageSize)
	*writeAt = func(b []byte, at int64) (int, error) {
		n, err := was(b, at)
		if err == nil && at < size {
			*writeAt = was
			return n, syscall.EIO
		}
		return n, err
	}
}

// contents is a hash of all that a transaction reads.
func contents(tx *bbolt.Tx) (uint64, error) {
	h := fnv.New64a()
	var walk func(b *bbolt.Bucket) error
	walk = func(b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			fmt.Fprintf(h, "%x=%x\n", k, v)
			if inner := b.Bucket(k); inner != nil {
				return walk(inner)
			}
			return nil
		})
	}
	err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) })
	return h.Sum64(), err
}

// A reader that began before a commit failed late reads what it began with: what is
// written then takes none of its pages.
func TestReadersOutliveACommitThatFailsLate(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	learn := func(i int) error {
		c, err := ken.NewClaim(fmt.Sprintf("Server %d runs in rack %d.", i, i%7), ken.FromUserStatement("s", ""))
		if err == nil {
			_, err = s.WriteClaim(t.Context(), c)
		}
		return err
	}
	for i := range 50 {
		if err := learn(i); err != nil {
			t.Fatal(err)
		}
	}
	wrote := make(chan error, 1)
	err = s.view(func(tx *bbolt.Tx) error {
		before, err := contents(tx)
		if err != nil {
			return err
		}
		failMetaWrite(s.db)
		go func() {
			for i := range 3 {
				if err := learn(50 + i); err != nil {
					wrote <- fmt.Errorf("write %d: %w", i, err)
					return
				}
			}
			wrote <- nil
		}()
		for s.snapshots.TryRLock() && len(wrote) == 0 { // until the writer waits, or has done it all
			s.snapshots.RUnlock()
			runtime.Gosched()
		}
		after, err := contents(tx)
		if err == nil && after != before {
			err = errors.New("it changed")
		}
		return err
	})
	if err != nil {
		t.Errorf("the reader's state: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if n := s.Seq(); n != 53 {
		t.Errorf("%d changes, want 53", n)
	}
}
