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

// maxReported bounds the different faults that are logged and counted.
const maxReported = 1000

// health is what is known to be wrong with a store. It is safe for concurrent use.
type health struct {
	mu      sync.Mutex // guards the rest
	broken  error      // a page of the file made no sense: nothing is written any more
	damaged map[string]bool
	first   error // of damaged
	disk    error // of the last write
	lagging error // why the index lacks what is durable
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

// noteDamage notes a value that can't be read, and logs it the first time.
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

// noteWrite notes how a write ended.
func (s *Store) noteWrite(err error) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.disk = err
	}
}

// writable says why nothing can be written.
func (s *Store) writable() error {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

// notePageFault notes that a page of the file makes no sense, and returns the error that says so.
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
		s.o.Log.Error("a page of the store is damaged: turns go on, writes are refused", "store", s.dir, "error", err, "try", err.Try)
	}
	return err
}

// protect runs fn. When a page of the file makes bbolt panic, or is not there at all,
// that is an error; any other panic goes on.
func (s *Store) protect(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !ofFile(p) {
				panic(p)
			}
			err = s.notePageFault(p)
		}
	}()
	return fn()
}

// protectFaults runs fn so that reading what the file does not have panics instead of
// ending the process.
func (s *Store) protectFaults(fn func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return fn()
}

// ofFile tells a panic that comes from the file: a fault in reading what is mapped, or
// anything that bbolt panics with. It is called by the deferred function that recovered.
func ofFile(p any) bool {
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

// update runs fn in a transaction of its own; the caller keeps the file from being
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
			if err := s.here(tx); err != nil {
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
	if err != nil && appended { // the log has what the file may lack
		err = s.o.Replica.Failed(err)
		s.stopWriting(err)
	}
	return err
}

// makeDurable makes durable what the file shows. A commit that failed late, or the process
// that had the file before and was killed, may leave a state that is read and not yet
// on the disk, and what is built on it would be lost with it, or overwrite what a power
// cut falls back to. The two pages at the start of the file say which state it is; what
// they point to was synced before they were written. They are written again as they are
// mapped, which is what bbolt builds on: a write or a sync that failed may have dropped
// them. The name of the file is made durable as well: it may have been renamed to it just
// now.
//
// When a commit failed late, bbolt counts the pages of the state before it as free, even
// while a transaction still reads them. So makeDurable waits until those transactions have
// ended; later ones read the new state. The caller holds updMu and bbolt's lock for writers.
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

// syncRename makes the name durable of a file that was put in the place of the store's.
// Where that fails, nothing is written until it is. Nobody else writes meanwhile.
func (s *Store) syncRename() error {
	s.updMu.Lock()
	defer s.updMu.Unlock()
	s.secured = false
	return s.makeDurable()
}

// commitVisible reports whether the file shows a commit although it failed, and makes it
// durable where it does: then it is done after all. With an error it may be lost again,
// unless a later one makes it durable.
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
// value, so a value that has come to another place does not pass either. bbolt itself
// checks nothing but its two meta pages.
//
// Values of programs before layout 3 have no checksum. A file that such a program has
// made may have some until it is rebuilt; in any other, a value without one is damaged.
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

// seal returns value with its checksum; value keeps its bytes.
func seal(bucket, key, value []byte) []byte {
	return sealOwn(bucket, key, append(make([]byte, 0, len(value)+sumSize), value...))
}

// sealOwn is seal for a value of which nobody uses the memory behind it.
func sealOwn(bucket, key, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(value, sumOf(bucket, key, value)), sumMark...)
}

// unseal checks what seal made and returns the value, which shares its memory. Nil
// stays nil.
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

// get reads a value of a bucket; nil when there is none.
func (s *Store) get(tx *bbolt.Tx, bucket, key []byte) ([]byte, error) {
	v, err := s.unseal(bucket, key, tx.Bucket(bucket).Get(key))
	if err != nil {
		return nil, damaged(fmt.Sprintf("read %s %x", bucket, key), err)
	}
	return v, nil
}

// claimAt reads a record; nil when there is none. Errors: ErrCorrupt.
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

// damaged is the error of something that was written and can't be read.
func damaged(what string, cause error) *ken.Error {
	return &ken.Error{Code: ken.CodeCorrupt, Msg: what, Err: cause,
		Try: "Run ken check to see what is damaged, and ken check --repair to mend it from the log."}
}
