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

// Mark is a record of an owner's log. ID is a random number, so that a record of another log
// at the same position is told apart. The zero Mark is before the first record.
type Mark struct{ Position, ID uint64 }

// Adopted is the mark of a store that was there before its log.
var Adopted = Mark{Position: 1}

// A record begins with a head: a byte that says which part of a transaction follows and of which
// format it is, the mark of the record before it, and its own ID. Who reads sees that none is missing and that all are
// of one log. What is larger than a record goes in several.
const (
	partFirst byte = 1 << iota
	partLast
	// partBase says that what follows stands on the snapshot at this record, and not on the records
	// before it: nobody comes past it without that snapshot.
	partBase

	headSize = 1 + 3*8

	formatShift = 4
)

// Format is the version of what is in a record. A node reads records up to its own format, and
// refuses an owner whose log has later ones: it would make another store of them.
type Format byte

// Current is the format that this program writes. A change to what is in a record, or to what
// bolt.Lock.Apply does with it, needs the next one.
const Current Format = 0

// Writer appends the transactions of one owner's store behind a mark that it keeps. Once
// an append fails it is lost and says so: the log may have what the store lacks. It is safe
// for concurrent use.
type Writer struct {
	ctx   context.Context // ends when nobody waits for an append any more
	log   Log
	owner string
	dir   string
	lost  func(error)
	form  Format

	rewriting sync.Mutex // held while a snapshot is made: one that began later is of a later file

	mu    sync.Mutex // guards the rest
	after Mark
	tail  int   // records since the last snapshot
	err   error // why it is lost
}

// NewWriter returns a writer that appends behind a mark. dir is a folder for a copy of the
// store while a snapshot is sent. lost is called once, when an append has failed; it must not
// call the writer. At ctx's end, an append that the engine does not answer ends, too.
func NewWriter(ctx context.Context, log Log, owner string, after Mark, dir string, form Format, lost func(error)) *Writer {
	return &Writer{ctx: ctx, log: log, owner: owner, after: after, dir: dir, form: form, lost: lost}
}

// Fence appends an empty record, so that nobody who wrote before can do so again.
func (w *Writer) Fence() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.append(partFirst|partLast, nil)
	return err
}

// Base appends a record for a snapshot that is made at it, of whatever content. Who has read the
// records before it needs the snapshot to go on.
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

// append appends one record. Who waits for it longer than Valid is served by another node by
// then. w.mu is held.
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

// Tail is how many records follow the last snapshot that this writer has made.
func (w *Writer) Tail() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail
}

// Rewritten keeps a snapshot and erases the records that it stands for.
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
		return fmt.Errorf("erase what the snapshot stands for: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail -= tail
	return nil
}

// snapshotCopy names copies of the store that are sent as snapshots.
const snapshotCopy = "snapshot-*"

// PutCopy sends a snapshot, and returns its position. The file is copied to a folder first: as
// long as it is read, it can't grow.
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

// RemoveCopies removes copies that a process which was killed has left in a folder.
func RemoveCopies(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, snapshotCopy))
	for _, file := range left {
		err = errors.Join(err, os.RemoveAll(file))
	}
	return err
}

// Transaction is what a store changed at once. One without changes is a fence.
type Transaction struct {
	Mark
	Changes []byte
}

// ErrBase is that a record stands on a snapshot that is not there yet.
var ErrBase = errors.New("the log goes on from a snapshot that is not there yet")

// ErrLater is that a record is of a later format than the reader's.
var ErrLater = errors.New("a record is of a later version of ken")

// ErrOtherLog is that a mark is not of the log that the engine has.
var ErrOtherLog = errors.New("the engine has another log of this owner")

// Transactions reads the transactions behind a mark, and sets end to the mark of the last
// record, be it of a whole transaction or not. What was appended in part, by a node that ended
// meanwhile, is left out. past reads on where a snapshot is missing, for who will make another
// one. Errors: ErrOtherLog; ErrLater; ErrBase; one that wraps ErrUnreachable for a record that is
// missing, because a server that is behind has given an older snapshot, or the log went on
// meanwhile; those of the log.
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

// Has reports whether a log has all of a copy that has read it up to a mark: the record of the
// mark, the one behind it, or a later snapshot. Errors: those of the log.
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

// follows checks that a record is the next one behind end, and moves end to it. own reports
// that it is the record of after itself.
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
