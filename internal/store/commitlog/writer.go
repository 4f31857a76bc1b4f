package commitlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// Mark identifies a record of an owner's log. ID is a random number, which differs from that of
// a record at the same position of another log. The zero Mark is before the first record.
type Mark struct{ Position, ID uint64 }

// Adopted is the mark of a store that existed before its log. The first record of the log follows
// this mark.
var Adopted = Mark{Position: 1}

// A record begins with a header of headSize bytes. Its first byte has the part flags in the low four
// bits and the Format in the high four. The position and the ID of the record before it follow, then
// its own ID, each as 8 bytes in big-endian order. By them a reader detects a missing record, or one
// of another log. A transaction that is larger than a record is split into several.
const (
	partFirst byte = 1 << iota // the first record of a transaction
	partLast                   // the last record of a transaction
	// partBase marks a record after which the log continues from the snapshot at this record's position,
	// not from the records before it. A reader can't read past it without that snapshot.
	partBase

	headSize = 1 + 3*8

	formatShift = 4
)

// Format is the version of the content of records. A node reads records of its own format and of
// earlier ones. It refuses an owner whose log has later ones, because it could misread them.
type Format byte

// Current is the format that this program writes. Increment it with every change to the content
// of records, or to what bolt.Lock.Apply does with it.
const Current Format = 0

// Writer appends the transactions of one owner's store to its log. After an append has failed,
// every later one returns the same error, because the log may have a record that the store
// lacks. Writer is safe for concurrent use.
type Writer struct {
	ctx   context.Context // of all appends
	log   Log
	owner string
	dir   string      // for copies of the store
	lost  func(error) // called with the error of the first failed append
	form  Format      // of the records that are written

	rewriting sync.Mutex // held by Rewritten, so that later snapshots have later positions

	mu    sync.Mutex // guards the rest
	after Mark       // of the last record
	tail  int        // number of records since the last snapshot
	err   error      // of the append that failed; nil for none
}

// NewWriter returns a writer that appends after the mark after. dir is a folder for copies of the
// store while a snapshot is sent. form is the format of the records. lost is called once, with
// the error of the first append that fails; it must not call the writer. Appends end with ctx.
func NewWriter(ctx context.Context, log Log, owner string, after Mark, dir string, form Format, lost func(error)) *Writer {
	return &Writer{ctx: ctx, log: log, owner: owner, after: after, dir: dir, form: form, lost: lost}
}

// Fence appends an empty record. Every other writer of the log then fails with ErrFenced.
func (w *Writer) Fence() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.append(partFirst|partLast, nil)
	return err
}

// Base appends an empty record and returns its mark. The caller then stores a snapshot at the
// record's position, of any content. Readers of earlier records need it to read on.
func (w *Writer) Base() (Mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(partFirst|partLast|partBase, nil)
}

// Append appends a transaction, and returns the mark of its last record.
func (w *Writer) Append(changes []byte) (Mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind := partFirst; ; kind = 0 {
		part := changes[:min(len(changes), MaxRecord-headSize)]
		if changes = changes[len(part):]; len(changes) == 0 {
			return w.append(kind|partLast, part)
		}
		if _, err := w.append(kind, part); err != nil {
			return Mark{}, err
		}
	}
}

// append appends one record. It gives up after Valid, because another node may serve the owner by
// then. The caller holds w.mu.
func (w *Writer) append(kind byte, part []byte) (Mark, error) {
	if w.err != nil {
		return Mark{}, w.err
	}
	ctx, cancel := context.WithTimeout(w.ctx, Valid)
	defer cancel()
	m := Mark{ID: rand.Uint64()}
	data := make([]byte, 0, headSize+len(part))
	data = binary.BigEndian.AppendUint64(append(data, kind|byte(w.form)<<formatShift), w.after.Position)
	data = binary.BigEndian.AppendUint64(data, w.after.ID)
	data = binary.BigEndian.AppendUint64(data, m.ID)
	after := w.after.Position
	if w.after == Adopted {
		after = 0
	}
	var err error
	if m.Position, err = w.log.Append(ctx, w.owner, after, append(data, part...)); err != nil {
		w.err = err
		w.lost(err)
		return Mark{}, err
	}
	w.after = m
	w.tail++
	return m, nil
}

// Tail returns the number of records that this writer has appended since its last snapshot.
func (w *Writer) Tail() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail
}

// Rewritten stores a snapshot, as PutCopy does, and erases the records that it replaces.
func (w *Writer) Rewritten(ctx context.Context, snapshot func(func(position uint64, file io.WriterTo) error) error) error {
	w.rewriting.Lock()
	defer w.rewriting.Unlock()
	w.mu.Lock()
	tail := w.tail
	w.mu.Unlock()
	at, err := PutCopy(ctx, w.log, w.owner, w.dir, snapshot)
	if err != nil {
		return err
	}
	if err := w.Fence(); err != nil { // a log keeps its last record
		return err
	}
	if err := w.log.Truncate(ctx, w.owner, at); err != nil {
		return fmt.Errorf("delete the records before the snapshot: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail -= tail
	return nil
}

// snapshotCopy is the name pattern of the files that PutCopy creates.
const snapshotCopy = "snapshot-*"

// PutCopy stores a snapshot of an owner's store in log, and returns its position. snapshot must call
// its argument with the position and the store's file. PutCopy copies the file into dir before it
// sends it, because the store's file can't grow while it is read.
func PutCopy(ctx context.Context, log Log, owner, dir string, snapshot func(func(position uint64, file io.WriterTo) error) error) (at uint64, err error) {
	f, err := os.CreateTemp(dir, snapshotCopy)
	if err != nil {
		return 0, fmt.Errorf("keep a snapshot: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	err = snapshot(func(position uint64, file io.WriterTo) error {
		at = position
		_, err := file.WriteTo(f)
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = log.PutSnapshot(ctx, owner, at, f)
	}
	if err != nil {
		return 0, fmt.Errorf("keep a snapshot: %w", err)
	}
	return at, nil
}

// RemoveCopies removes the files of PutCopy that killed processes have left in dir.
func RemoveCopies(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, snapshotCopy))
	for _, file := range left {
		err = errors.Join(err, os.RemoveAll(file))
	}
	return err
}

// Transaction is a set of changes that a store committed at once, with the mark of its last
// record. Those of Fence and Base have no changes.
type Transaction struct {
	Mark
	Changes []byte
}

// ErrBase is returned for a record of Base, if its snapshot was not read before.
var ErrBase = errors.New("the log continues from a snapshot that does not exist yet")

// ErrLater is returned for a record of a later format than the reader's.
var ErrLater = errors.New("a record is of a later version of ken")

// ErrOtherLog is returned for a mark that is not of the log that the engine has.
var ErrOtherLog = errors.New("the engine has another log of this owner")

// Transactions yields the transactions after a mark. It sets *end to the mark of the last record
// that it read, also if that record's transaction is incomplete. It skips incomplete transactions,
// which nodes leave that end in the middle of an append. upTo is the latest format that the caller
// can read. If past is true, a record of Base is read without its snapshot, for a caller that will
// make another snapshot. The sequence ends after an error.
//
// Errors: ErrOtherLog; ErrLater; ErrBase; those of the log; an error that wraps ErrUnreachable for a
// missing record. A record is missing if the caller began with an outdated snapshot, which a server
// that lags has sent, or if the log was truncated meanwhile.
func Transactions(ctx context.Context, log Log, owner string, after Mark, upTo Format, past bool, end *Mark) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		*end = after
		var whole []byte
		open := false
		for r, err := range log.Read(ctx, owner, after.Position-min(1, after.Position)) {
			own := false
			if err == nil {
				own, err = follows(after, end, r)
			}
			if err == nil && Format(r.Data[0]>>formatShift) > upTo {
				err = fmt.Errorf("%w: format %d at position %d", ErrLater, r.Data[0]>>formatShift, r.Position)
			}
			if err == nil && !own && !past && r.Data[0]&partBase != 0 {
				err = ErrBase
			}
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			if own { // the record of the mark itself
				continue
			}
			if kind := r.Data[0]; kind&partFirst != 0 {
				whole, open = nil, true
			}
			if !open {
				yield(Transaction{}, fmt.Errorf("%w: the first part of a transaction is missing at position %d", ErrUnreachable, r.Position))
				return
			}
			whole = append(whole, r.Data[headSize:]...)
			if r.Data[0]&partLast == 0 {
				continue
			}
			open = false
			if !yield(Transaction{*end, whole}, nil) {
				return
			}
		}
	}
}

// Has reports whether a log has all data of a copy that was read from it up to a mark. It has if it
// has the record of the mark, the record after it, or a later snapshot. Errors: those of the log.
func Has(ctx context.Context, log Log, owner string, at Mark) (bool, error) {
	for r, err := range log.Read(ctx, owner, at.Position-min(1, at.Position)) {
		if err == nil {
			end := at
			_, err = follows(at, &end, r)
		}
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, ErrOtherLog):
			return false, nil
		case !errors.Is(err, ErrUnreachable):
			return false, err
		}
		break // it was truncated
	}
	position, r, err := log.Snapshot(ctx, owner)
	if r != nil {
		err = errors.Join(err, r.Close())
	}
	return err == nil && position > at.Position, err
}

// follows checks that r is the next record after *end, and sets *end to its mark. If r is the record
// of the mark after itself, follows returns own as true and doesn't change *end.
func follows(after Mark, end *Mark, r Record) (own bool, err error) {
	if len(r.Data) < headSize {
		return false, fmt.Errorf("record %d is cut off", r.Position)
	}
	before := Mark{binary.BigEndian.Uint64(r.Data[1:]), binary.BigEndian.Uint64(r.Data[9:])}
	m := Mark{r.Position, binary.BigEndian.Uint64(r.Data[17:])}
	switch {
	case m.Position == after.Position && *end == after && after != Adopted:
		if m != after {
			return false, ErrOtherLog
		}
		return true, nil
	case before == *end:
	case before.Position == end.Position:
		return false, ErrOtherLog
	default:
		return false, fmt.Errorf("%w: the record behind position %d is missing, or not there yet", ErrUnreachable, end.Position)
	}
	*end = m
	return false, nil
}
