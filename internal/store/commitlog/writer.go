package commitlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// A record begins with a byte that says which part of a transaction follows, and the position
// that it was appended behind, in eight bytes: who reads sees that none is missing. What is
// larger than a record goes in several.
const (
	partFirst byte = 1 << iota
	partLast

	headSize = 1 + 8
)

// appendWait bounds an append: who waits for it longer is served by another node by then.
const appendWait = Valid

// Writer appends the transactions of one owner's store, behind a position that it keeps. Once
// an append fails it is lost and says so: the log may have what the store lacks. It is safe
// for concurrent use.
type Writer struct {
	ctx   context.Context // ends when nobody waits for an append any more
	log   Log
	owner string
	dir   string
	lost  func(error)

	rewriting sync.Mutex // held while a snapshot is made: one that began later is of a later file

	mu    sync.Mutex // guards the rest
	after uint64
	tail  int   // records since the last snapshot
	err   error // why it is lost
}

// NewWriter returns a writer that appends behind a position. dir is a folder for a copy of
// the store while a snapshot is sent. lost is called once, when an append has failed; it must
// not call the writer. At ctx's end, an append that the engine does not answer ends, too.
func NewWriter(ctx context.Context, log Log, owner string, after uint64, dir string, lost func(error)) *Writer {
	return &Writer{ctx: ctx, log: log, owner: owner, after: after, dir: dir, lost: lost}
}

// Fence appends an empty record, so that nobody who wrote before can do so again.
func (w *Writer) Fence(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.append(ctx, partFirst|partLast, nil)
	return err
}

// Append implements bolt.Replica.
func (w *Writer) Append(changes []byte) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, appendWait)
	defer cancel()
	for kind := partFirst; ; kind = 0 {
		part := changes[:min(len(changes), MaxRecord-headSize)]
		if changes = changes[len(part):]; len(changes) == 0 {
			return w.append(ctx, kind|partLast, part)
		}
		if _, err := w.append(ctx, kind, part); err != nil {
			return 0, err
		}
	}
}

// append appends one record. w.mu is held.
func (w *Writer) append(ctx context.Context, kind byte, part []byte) (uint64, error) {
	if w.err != nil {
		return 0, w.err
	}
	data := make([]byte, 0, headSize+len(part))
	data = binary.BigEndian.AppendUint64(append(data, kind), w.after)
	at, err := w.log.Append(ctx, w.owner, w.after, append(data, part...))
	if err != nil {
		w.err = err
		w.lost(err)
		return 0, err
	}
	w.after = at
	w.tail++
	return at, nil
}

// Tail is how many records follow the last snapshot that this writer has made.
func (w *Writer) Tail() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail
}

// Rewritten implements bolt.Replica: it keeps a snapshot and erases the records that it
// stands for. The file is copied first: as long as it is read, it can't grow.
func (w *Writer) Rewritten(ctx context.Context, snapshot func(func(position uint64, file io.WriterTo) error) error) error {
	w.rewriting.Lock()
	defer w.rewriting.Unlock()
	w.mu.Lock()
	tail := w.tail
	w.mu.Unlock()
	f, err := os.CreateTemp(w.dir, snapshotCopy)
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	at := uint64(0)
	err = snapshot(func(position uint64, file io.WriterTo) error {
		at = position
		_, err := file.WriteTo(f)
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = w.log.PutSnapshot(ctx, w.owner, at, f)
	}
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	if err := w.Fence(ctx); err != nil { // a log keeps its last record
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

// RemoveCopies removes copies that a process which was killed has left in a folder.
func RemoveCopies(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, snapshotCopy))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// adopted is the position of a snapshot that is there before the log is.
const adopted = 1

// Transactions puts the parts of records together, which follow a position. What was appended
// in part, by a node that ended meanwhile, is left out. The position is that of the last part;
// a transaction without changes is a fence. A record that is missing is an error that wraps
// ErrUnreachable: a server that is behind may have given an older snapshot.
func Transactions(after uint64, records iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var whole []byte
		open := false
		for r, err := range records {
			if err == nil && len(r.Data) < headSize {
				err = errors.New("a record is cut off")
			}
			if err == nil {
				switch behind := binary.BigEndian.Uint64(r.Data[1:]); {
				case behind != after && (behind != 0 || after != adopted):
					err = fmt.Errorf("%w: the record behind position %d is missing, or not there yet", ErrUnreachable, after)
				default:
					after = r.Position
				}
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if kind := r.Data[0]; kind&partFirst != 0 {
				whole, open = nil, true
			}
			if !open { // its first part is in the snapshot's past
				continue
			}
			whole = append(whole, r.Data[headSize:]...)
			if r.Data[0]&partLast == 0 {
				continue
			}
			open = false
			if !yield(Record{r.Position, whole}, nil) {
				return
			}
		}
	}
}
