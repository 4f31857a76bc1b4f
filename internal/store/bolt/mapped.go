package bolt

import (
	"time"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken/internal/mapped"
)

// mostMapped is how many bytes of mapped files the process may have in memory before a
// store gives up those of its own: more than what turns read again and again.
const mostMapped = 160 << 20

// How often that is looked at: while a store is in use, and while all rows of a bucket are
// read.
const (
	releaseEvery = time.Second
	releaseRows  = 1 << 12
)

// releaseMapped keeps the process's memory from growing to the size of the store's files.
func (s *Store) releaseMapped() {
	if mapped.Resident() <= mostMapped {
		return
	}
	if x := s.index.Load(); x != nil {
		x.Release()
	}
	_ = s.view(func(tx *bbolt.Tx) error {
		release(tx)
		return nil
	})
}

// release gives up the pages of the file when there are many. While there is a
// transaction the file stays mapped where it is.
func release(tx *bbolt.Tx) {
	if mapped.Resident() <= mostMapped {
		return
	}
	giveUp(tx)
}

func giveUp(tx *bbolt.Tx) {
	info := tx.DB().Info()
	mapped.Release(unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), tx.Size()))
}
