package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"unsafe"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/store"
)

// maxReported is the maximum number of different faults that are logged and counted.
const maxReported = 1000

// health holds the known faults of a store. It is safe for concurrent use.
type health struct {
	mu      sync.Mutex // guards the rest
	broken  error      // a page of the file is invalid: writing has stopped
	damaged map[string]bool
	first   error // first error that was added to damaged
	disk    error // error of the last write
	lagging error // why the index is behind the durable state
}

// Faults implements store.Engine.
func (s *Store) Faults(context.Context) (out []store.Fault, err error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != nil {
		name := store.FaultDamaged
		if s.o.readOnly {
			name = store.FaultReadOnly
		}
		out = append(out, store.Fault{Name: name, Cause: h.broken.Error()})
	}
	if h.first != nil {
		out = append(out, store.Fault{Name: store.FaultDamaged, Cause: fmt.Sprintf("%d values can't be read; the first: %v", len(h.damaged), h.first)})
	}
	if h.lagging != nil {
		out = append(out, store.Fault{Name: store.FaultIndex, Cause: h.lagging.Error()})
	}
	if h.disk != nil {
		out = append(out, store.Fault{Name: store.FaultDisk, Cause: h.disk.Error()})
	}
	return out, nil
}

// noteDamage records a value that can't be read, and logs it the first time.
func (s *Store) noteDamage(err error) {
	h := &s.health
	h.mu.Lock()
	known := h.damaged[err.Error()] || len(h.damaged) >= maxReported
	if !known {
		if h.damaged == nil {
			h.damaged = map[string]bool{}
		}
		h.damaged[err.Error()] = true
		if h.first == nil {
			h.first = err
		}
	}
	h.mu.Unlock()
	if !known {
		s.o.Log.Error("a value of the store is damaged and left out", "store", s.dir, "error", err, "try", ken.Hint(err))
	}
}

// noteWrite records the result of a write.
func (s *Store) noteWrite(err error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.disk = err
	}
}

// writable returns the reason why the store can't be written; nil if it can.
func (s *Store) writable() error {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// notePageFault records that a page of the file is invalid, and returns an error that says
// so.
func (s *Store) notePageFault(p any) error {
	err := damaged("a page of "+dbFile+" can't be read", fmt.Errorf("%v", p))
	h := &s.health
	h.mu.Lock()
	first := h.broken == nil
	if first {
		h.broken = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is damaged, and nothing is written to it", Err: err, Try: err.Try}
	}
	h.mu.Unlock()
	if first {
		s.o.Log.Error("a page of the store is damaged: turns continue, writes are refused", "store", s.dir, "error", err, "try", err.Try)
	}
	return err
}

// protect runs fn. If fn panics because a page of the file is invalid or missing, protect
// returns an error. Any other panic is passed on.
func (s *Store) protect(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !isFileFault(p) {
				panic(p)
			}
			err = s.notePageFault(p)
		}
	}()
	return fn()
}

// protectFaults runs fn so that reading a missing part of the mapped file panics instead
// of ending the process.
func (s *Store) protectFaults(fn func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return fn()
}

// isFileFault reports whether a panic comes from the file: a fault while reading mapped memory,
// or any panic inside bbolt. It must be called by the deferred function that recovered.
func isFileFault(p any) bool {
	if _, fault := p.(interface{ Addr() uintptr }); fault {
		return true
	}
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	raised := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			raised = true
		case raised && !strings.HasPrefix(f.Function, "runtime."):
			return strings.HasPrefix(f.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// view runs fn in a read transaction.
func (s *Store) view(fn func(*bbolt.Tx) error) error {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	return closedOr(s.protect(func() error { return s.read(fn) }))
}

// update runs fn in a transaction of its own. The caller ensures that the file is not
// swapped meanwhile.
func (s *Store) update(fn func(*writeTx) error) error {
	if err := s.writable(); err != nil {
		return err
	}
	s.updMu.Lock()
	defer s.updMu.Unlock()
	done := func() {}
	defer func() { done() }()
	committing, appended := false, false
	err := closedOr(s.protect(func() error {
		return write(s.db, func(tx *bbolt.Tx) error {
			if err := s.makeDurable(); err != nil {
				return err
			}
			if err := s.checkNotMoved(tx); err != nil {
				return err
			}
			changing := &writeTx{Tx: tx, noting: s.o.Replica != nil}
			if err := fn(changing); err != nil {
				return err
			}
			err := s.replicate(changing)
			if appended = changing.appended; err != nil {
				return err
			}
			done = s.committing()
			if s.beforeCommit != nil {
				s.beforeCommit()
			}
			committing = true
			return nil
		})
	}))
	if err == nil && s.lateError != nil {
		err = s.lateError()
	}
	if err != nil && committing {
		s.secured = false
	}
	if err != nil && appended { // the log has changes that the file may lack
		err = s.o.Replica.Failed(err)
		s.stopWriting(err)
	}
	return err
}

// makeDurable syncs the state that the file shows. A commit that failed late, or a
// previous process that was killed, may leave a state that can be read but is not yet on
// the disk. Data built on it would be lost with it, or would overwrite the state that a
// power cut falls back to. The two meta pages at the start of the file select the state;
// the pages they point to were synced before the meta pages were written. makeDurable
// writes the meta pages again as they are mapped, because that is the state that bbolt
// continues from, and because a failed write or sync may have dropped them. It also syncs
// the folder, since the file may have been renamed just now.
//
// When a commit failed late, bbolt counts the pages of the state before it as free, even
// while a transaction still reads them. So makeDurable waits until those transactions have
// ended; later ones read the new state. The caller holds updMu and bbolt's writer lock.
func (s *Store) makeDurable() error {
	if s.secured {
		return nil
	}
	if err := durable.Dir(s.dir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, dbFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info := s.db.Info()
	pages := unsafe.Slice(*(**byte)(unsafe.Pointer(&info.Data)), 2*info.PageSize)
	if _, err := f.WriteAt(bytes.Clone(pages), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	s.snapshots.Lock()
	//lint:ignore SA2001 it is waited for, not held
	s.snapshots.Unlock()
	s.secured = true
	return nil
}

// syncRename makes the rename of a file that replaced the store's file durable. If that
// fails, nothing is written until it succeeds. The caller ensures that nobody else writes
// meanwhile.
func (s *Store) syncRename() error {
	s.updMu.Lock()
	defer s.updMu.Unlock()
	s.secured = false
	return s.makeDurable()
}

// commitVisible reports whether the file shows a commit although it failed. If so, it
// makes the commit durable, and the commit counts as successful. If it also returns an
// error, the commit may be lost again, unless a later one makes it durable.
func (s *Store) commitVisible(commit uint64) (is bool, err error) {
	err = s.protect(func() error {
		return s.read(func(tx *bbolt.Tx) error {
			v := tx.Bucket(bMeta).Get(kCommit)
			is = len(v) == 8 && binary.BigEndian.Uint64(v) == commit
			return nil
		})
	})
	if err != nil || !is {
		return is, err
	}
	return true, s.update(func(*writeTx) error { return nil })
}

func closedOr(err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return errClosed
	}
	return err
}

// A value of the buckets claims, rows, classes, keys, about, docs and shelf ends with a
// checksum and a mark. The checksum is CRC-32C over the bucket's name, the key and the
// value, so a value in the wrong place is also detected. bbolt itself only checks its two
// meta pages.
//
// Programs before layout 3 wrote values without a checksum. A file that such a program
// created may contain some until it is rebuilt. In any other file, a value without a
// checksum is damaged.
const (
	sumMark = "\x00\xfe"
	sumSize = crc32.Size + len(sumMark)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// seal returns a copy of value with its checksum appended.
func seal(bucket, key, value []byte) []byte {
	return sealOwn(bucket, key, append(make([]byte, 0, len(value)+sumSize), value...))
}

// sealOwn is like seal, but may append to value in place.
func sealOwn(bucket, key, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(value, sumOf(bucket, key, value)), sumMark...)
}

// unseal verifies the checksum that seal appended and returns the value, which shares
// memory with v. It returns nil for nil.
func (s *Store) unseal(bucket, key, v []byte) ([]byte, error) {
	n := len(v) - sumSize
	switch {
	case v == nil:
		return nil, nil
	case n >= 0 && string(v[n+crc32.Size:]) == sumMark:
	case s.sealed:
		return nil, errSum
	default:
		return v, nil
	}
	if binary.BigEndian.Uint32(v[n:]) != sumOf(bucket, key, v[:n]) {
		return nil, errSum
	}
	return v[:n:n], nil
}

var errSum = errors.New("the checksum does not match, or is missing")

// get reads a value of a bucket. It returns nil if there is none.
func (s *Store) get(tx *bbolt.Tx, bucket, key []byte) ([]byte, error) {
	v, err := s.unseal(bucket, key, tx.Bucket(bucket).Get(key))
	if err != nil {
		return nil, damaged(fmt.Sprintf("read %s %x", bucket, key), err)
	}
	return v, nil
}

// claimAt reads a record. It returns nil if there is none. Errors: ErrCorrupt.
func (s *Store) claimAt(tx *bbolt.Tx, ref store.Ref) (*ken.Claim, error) {
	return s.decodeClaim(ref, tx.Bucket(bClaims).Get(key32(ref)))
}

func (s *Store) decodeClaim(ref store.Ref, v []byte) (*ken.Claim, error) {
	v, err := s.unseal(bClaims, key32(ref), v)
	if v == nil && err == nil {
		return nil, nil
	}
	var c ken.Claim
	if err == nil {
		err = json.Unmarshal(v, &c)
	}
	if err != nil {
		return nil, damaged(fmt.Sprintf("read record %d", ref), err)
	}
	return &c, nil
}

// absent returns the error for a record of which no claim is stored: ken.ErrCorrupt if it has a row, and
// else ken.ErrNotFound, because it was removed.
func (s *Store) absent(tx *bbolt.Tx, ref store.Ref) error {
	var r row
	if v, err := s.get(tx, bRows, key32(ref)); err == nil && r.decode(v) == nil && !r.gone() {
		return damaged(fmt.Sprintf("read record %d", ref), errors.New("it is missing"))
	}
	return &ken.Error{Code: ken.CodeNotFound, Msg: "no such record"}
}

// damaged returns the error for stored data that can't be read.
func damaged(what string, cause error) *ken.Error {
	return &ken.Error{Code: ken.CodeCorrupt, Msg: what, Err: cause,
		Try: "Run ken check to see what is damaged, and ken check --repair to repair it from the log."}
}
