package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/mapped"
)

// Options configures an index; the zero value is the default.
type Options struct {
	// StoreID is stamped into a new index. Opening an index with another stamp
	// is an ErrRefused: it belongs to another store.
	StoreID string
	// MaxConcurrent is the maximum number of searches that run at once; others wait. <=
	// 0 means twice GOMAXPROCS. More would make searches slower on average.
	MaxConcurrent int
	// MaxTerms is how many words of a query are searched for, the rarest first, at most
	// 64; <= 0 means 24.
	MaxTerms int
	// MaxPostings limits the work of a search: the number of documents, counted once
	// per word, that the words of a query may select. The rarest words come first, and
	// three words are always used. More common words still add to the score, but a
	// document that has only those is not found. 0 means 25,000, about a millisecond;
	// negative means no limit.
	MaxPostings int
	// K1 and B are the parameters of BM25: how soon a repeated word stops counting, and
	// how much the length of a document lowers its score, 0..1. 0 means 1.5 and 1,
	// which with ShortLength beats the usual 1.2 and 0.75 on chats and code; a negative
	// B means 0.
	K1, B float64
	// ShortLength is the minimum length in words that a document is scored with, so
	// that a short "yes, Redis" does not rank above a paragraph on Redis; 0 means 20,
	// negative means no minimum.
	ShortLength int
	// LockTimeout is how long Open waits for another process to release the lock; 0
	// means one second.
	LockTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.MaxConcurrent = cmp.Or(max(o.MaxConcurrent, 0), 2*runtime.GOMAXPROCS(0))
	if o.MaxTerms <= 0 || o.MaxTerms > 64 { // scored.has has a bit for each
		o.MaxTerms = 24
	}
	o.MaxPostings = cmp.Or(o.MaxPostings, 25_000)
	o.K1 = cmp.Or(max(o.K1, 0), 1.5)
	o.B = cmp.Or(o.B, 1)
	o.ShortLength = cmp.Or(o.ShortLength, 20)
	o.B = max(o.B, 0)
	o.ShortLength = max(o.ShortLength, 0)
	o.LockTimeout = cmp.Or(max(o.LockTimeout, 0), time.Second)
	return o
}

// Index is one open keyword index. It is safe for concurrent use. Apply calls run one
// after another; searches run concurrently.
type Index struct {
	dir   string
	opts  Options
	queue *index.AnalysisQueue
	slots chan struct{} // one for each running search

	scrubbing chan struct{} // held by the running Scrub

	applied atomic.Pointer[state] // includes the tails
	tails   atomic.Pointer[tails]
	held    atomic.Pointer[held]  // lists of the snapshot that was searched last; may be nil
	landing atomic.Bool           // a tail is landing in the background
	fault   atomic.Pointer[error] // why nothing can be written; nil if it can

	writing    sync.Mutex // serialises Apply
	background sync.WaitGroup

	open   sync.RWMutex   // guards engine against Close
	engine *scorch.Scorch // nil once closed
}

// Watermark returns the log position of the last batch: the stored one when the index
// is opened, then the applied one.
func (x *Index) Watermark() uint64 { return x.applied.Load().watermark }

// Count returns the number of documents.
func (x *Index) Count() uint64 { return x.applied.Load().docs }

// flushTimeout is how long Open and Close wait for the disk.
const flushTimeout = 5 * time.Second

// Close waits for running calls, waits up to flushTimeout until the last batches are on
// the disk, and closes the files. Batches that were not written are applied again from
// the log. Closing twice is no error.
func (x *Index) Close() error {
	x.open.Lock()
	defer x.open.Unlock()
	if x.engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	x.writing.Lock()
	_ = x.settle(x.engine) // a broken index is closed as well
	x.writing.Unlock()
	_ = x.flush(ctx, x.engine)
	err := caught.Run(x.engine.Close)
	x.engine = nil
	x.queue.Close()
	faults.Delete(x.dir)
	return err
}

// use returns the engine and keeps it open until done is called. Calls must not be
// nested: a waiting Close would block the inner call.
func (x *Index) use() (engine *scorch.Scorch, done func(), err error) {
	x.open.RLock()
	if x.engine == nil {
		x.open.RUnlock()
		return nil, nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the keyword index is closed"}
	}
	return x.engine, x.open.RUnlock, nil
}

// flush returns when everything applied so far is on disk.
func (x *Index) flush(ctx context.Context, engine *scorch.Scorch) error {
	if f := x.fault.Load(); f != nil {
		return *f
	}
	persisted := make(chan error, 1)
	b := index.NewBatch() // no change, only a new epoch to persist
	b.SetPersistedCallback(func(err error) { persisted <- err })
	if err := caught.Run(func() error { return engine.Batch(b) }); err != nil {
		return err
	}
	return x.await(ctx, persisted)
}

// await returns what the engine sends to done, or the fault of the index: after a fault the engine
// may send nothing.
func (x *Index) await(ctx context.Context, done <-chan error) error {
	tick := time.NewTicker(scrubPause)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if f := x.fault.Load(); f != nil {
				return *f
			}
		}
	}
}

// Open opens the index in dir, or creates one when there is none. Errors: ErrHeld when
// another process has it open; ErrRefused when it belongs to another store; ErrCorrupt
// when it can't be read or has another format; the caller should then remove and
// rebuild it. Damage to the newest files may also lead to an older state with its older
// watermark. Open waits at most LockTimeout for a lock, and a limited time for the
// disk.
func Open(dir string, o Options) (*Index, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open keyword index: %w", err)
	}
	o = o.withDefaults()
	x := &Index{dir: dir, opts: o, queue: index.NewAnalysisQueue(1),
		slots: make(chan struct{}, o.MaxConcurrent), scrubbing: make(chan struct{}, 1)}
	isNew := !exists(filepath.Join(dir, directoryFile))
	if !isNew {
		err = verifyDirectory(filepath.Join(dir, directoryFile), o.LockTimeout)
	}
	if err == nil {
		err = x.openEngine()
	}
	if err != nil {
		x.queue.Close()
		return nil, openError(dir, err)
	}
	faults.Store(dir, &x.fault)
	if isNew {
		err = x.create()
	} else {
		err = x.load()
	}
	if err != nil {
		faults.Delete(dir)
		_ = caught.Run(x.engine.Close) // the engine may have stopped half-way
		x.queue.Close()
		return nil, openError(dir, err)
	}
	return x, nil
}

// openEngine opens the files. A damaged file may make the engine panic, or cause a
// memory fault when a mapped file is shorter than its header says; both are returned as
// errors.
func (x *Index) openEngine() error {
	made, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   x.dir,
		"unsafe_batch":           true, // a lost batch is applied again from the log
		"bolt_timeout":           x.opts.LockTimeout.String(),
		"asyncErrorCallbackName": faultCallback,
		"eventCallbackName":      faultCallback,
	}, x.queue)
	if err != nil {
		return err
	}
	x.engine = made.(*scorch.Scorch)
	if err = caught.Run(x.engine.Open); caught.Is(err) { // the files are damaged
		_ = caught.Run(x.engine.Close)
	}
	return err
}

// create writes the stamp of a new index and waits until it is on the disk. So a later
// index without a stamp is damaged.
func (x *Index) create() error {
	b := index.NewBatch()
	b.SetInternal(stampKey, []byte(stamp(x.opts.StoreID)))
	b.SetInternal(stateKey, state{}.encode())
	if err := x.engine.Batch(b); err != nil {
		return err
	}
	x.begin(state{})
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return x.flush(ctx, x.engine)
}

// begin sets the initial state of the index and an empty tail.
func (x *Index) begin(s state) {
	x.applied.Store(&s)
	x.tails.Store(&tails{filling: newTail(s)})
}

func (x *Index) load() error {
	r, err := x.engine.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := r.GetInternal(stampKey)
	if err != nil {
		return err
	}
	switch {
	case got == nil:
		return errors.New("no stamp: the index was never finished, or its snapshot can't be read")
	case !strings.HasPrefix(string(got), format+"\x00"):
		return fmt.Errorf("its format is %q, not %q", strings.Split(string(got), "\x00")[0], format)
	case string(got) != stamp(x.opts.StoreID):
		return &ken.Error{Code: ken.CodeRefused, Field: x.dir, Msg: "the keyword index belongs to another store",
			Try: "Remove the folder; the index is then rebuilt."}
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	x.begin(s)
	return verifySegments(r)
}

func openError(dir string, err error) error {
	var known *ken.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, bolterrors.ErrTimeout):
		return &ken.Error{Code: ken.CodeHeld, Field: dir, Msg: "another process has the keyword index open", Err: err}
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("open keyword index: %w", err)
	}
	return &ken.Error{Code: ken.CodeCorrupt, Field: dir, Msg: "can't read the keyword index",
		Try: "Remove the folder; the index is then rebuilt.", Err: err}
}

// format is incremented when the content of an index, or its encoding, changes.
var format = fmt.Sprintf("ken keyword index 1, analysis %d", analysis.Version)

// Keys of the engine's internal values. They are stored with the documents of
// the same batch, and a reader sees them as they were when it was taken.
var (
	stampKey = []byte("stamp")
	stateKey = []byte("state")
)

// state describes an index as of a batch. Scoring needs the sums. They are stored
// because sums computed from the files would include deleted documents.
type state struct {
	watermark uint64
	docs      uint64
	words     uint64 // the sum of the documents' lengths
	next      uint64 // the largest ref ever used, plus one
}

func (s state) encode() []byte {
	b := make([]byte, 0, 32)
	for _, v := range []uint64{s.watermark, s.docs, s.words, s.next} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

func decodeState(b []byte) (state, error) {
	if len(b) != 32 {
		return state{}, fmt.Errorf("the index's state has %d bytes, not 32", len(b))
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return state{watermark: at(0), docs: at(1), words: at(2), next: at(3)}, nil
}

func readState(r index.IndexReader) (state, error) {
	b, err := r.GetInternal(stateKey)
	if err != nil {
		return state{}, fmt.Errorf("read the index's state: %w", err)
	}
	return decodeState(b)
}

func stamp(storeID string) string { return format + "\x00" + storeID }

// The engine persists in the background and reports errors (a full disk, a panic) only
// to a callback registered in a global table of its package. So the callback needs
// another table to find the Index.
const faultCallback = "github.com/kenlayer/ken/internal/store/keyword"

// faults maps an index's folder to the *atomic.Pointer[error] of its Index.
var faults sync.Map

// retryPause slows down the engine, which would retry a failed write at once and for
// ever. The callback runs in the retrying goroutine.
const retryPause = 100 * time.Millisecond

func init() {
	scorch.RegistryAsyncErrorCallbacks[faultCallback] = func(err error, dir string) {
		if fault, ok := faults.Load(dir); ok {
			fault.(*atomic.Pointer[error]).Store(&err)
		}
		time.Sleep(retryPause)
	}
	// The engine merges on a goroutine of its own and recovers there. With
	// SetPanicOnFault, a file that became shorter causes a panic instead of ending the
	// process.
	scorch.RegistryEventCallbacks[faultCallback] = func(e scorch.Event) bool {
		if e.Kind == scorch.EventKindPreMergeCheck {
			debug.SetPanicOnFault(true)
		}
		return true
	}
}

// Release releases the mapped files of the index from the process's memory: see package
// mapped. Searches continue meanwhile.
func (x *Index) Release() {
	engine, done, err := x.use()
	if err != nil {
		return
	}
	defer done()
	r, err := engine.Reader()
	if err != nil {
		return
	}
	defer r.Close() // only releases the snapshot, which keeps the files mapped until then
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return
	}
	for _, s := range snapshot.Segments() {
		// A segment that is still in memory has no path.
		if f, ok := s.Segment().(interface {
			Path() string
			Data() []byte
		}); ok && f.Path() != "" {
			mapped.Release(f.Data())
		}
	}
}

// CopyTo copies the index into an empty folder, while it is in use. Documents in the
// tail are left out: the copy's watermark is before them.
func (x *Index) CopyTo(dir string) error {
	engine, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	return caught.Run(func() error { // fails if the engine has no snapshot yet
		r := engine.CopyReader()
		return errors.Join(r.CopyTo(copyDir(dir)), r.CloseCopyReader())
	})
}

// copyDir is the folder to which the engine copies.
type copyDir string

// GetWriter creates a file of the copy. The engine passes a path below a folder of its
// own.
func (d copyDir) GetWriter(path string) (io.WriteCloser, error) {
	return os.OpenFile(filepath.Join(string(d), filepath.Base(path)), os.O_CREATE|os.O_RDWR, 0o600)
}
