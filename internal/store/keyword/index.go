package keyword

import (
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
	// MaxConcurrent is how many searches run at once, the rest wait; <= 0 means
	// twice GOMAXPROCS. More would not finish sooner, only later on average.
	MaxConcurrent int
	// MaxTerms is how many words of a query are searched for, the rarest ones,
	// at most 64;
	// <= 0 means 24.
	MaxTerms int
	// MaxPostings bounds the work: how many documents, counted once per word, the
	// words of a query may bring up, the rarest words first and three words
	// always. The more common words still score what those brought up, but a
	// document that has none but them is not found. 0 means 25,000, about a
	// millisecond; negative means no limit.
	MaxPostings int
	// K1 and B are BM25's: how soon a repeated word stops counting, and how much
	// long documents are held back, 0..1. 0 means 1.5 and 1, which with
	// ShortLength beats the usual 1.2 and 0.75 on chats and code; a negative B
	// means 0.
	K1, B float64
	// ShortLength is the number of words below which a document counts as this
	// long, so that a lone "yes, Redis" does not beat a paragraph on Redis; 0
	// means 20, negative means no such bound.
	ShortLength int
	// LockTimeout is how long Open waits for another process to let go; 0 means
	// one second.
	LockTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 2 * runtime.GOMAXPROCS(0)
	}
	if o.MaxTerms <= 0 || o.MaxTerms > 64 { // a bit each in scored.has
		o.MaxTerms = 24
	}
	if o.MaxPostings == 0 {
		o.MaxPostings = 25_000
	}
	if o.K1 <= 0 {
		o.K1 = 1.5
	}
	if o.B == 0 {
		o.B = 1
	}
	if o.ShortLength == 0 {
		o.ShortLength = 20
	}
	o.B = max(o.B, 0)
	o.ShortLength = max(o.ShortLength, 0)
	if o.LockTimeout <= 0 {
		o.LockTimeout = time.Second
	}
	return o
}

// Index is one open keyword index. It is safe for concurrent use; Apply calls
// run one after another, searches beside them.
type Index struct {
	dir   string
	opts  Options
	queue *index.AnalysisQueue
	slots chan struct{} // one per search in flight

	scrubbing chan struct{} // holds the one Scrub that runs

	applied atomic.Pointer[state] // with the tails
	tails   atomic.Pointer[tails]
	held    atomic.Pointer[held]  // of the snapshot that was searched last; nil for nothing
	landing atomic.Bool           // a tail is landing in the background
	fault   atomic.Pointer[error] // why nothing reaches the disk; nil while it does

	writing    sync.Mutex // serialises Apply
	background sync.WaitGroup

	open   sync.RWMutex   // guards engine against Close
	engine *scorch.Scorch // nil once closed
}

// Watermark is the log position of the last batch: as stored when the index was
// opened, then as applied.
func (x *Index) Watermark() uint64 { return x.applied.Load().watermark }

// Count is the number of documents.
func (x *Index) Count() uint64 { return x.applied.Load().docs }

// flushTimeout is how long Open and Close wait for the disk.
const flushTimeout = 5 * time.Second

// Close waits for running calls, gives the last batches five seconds to reach
// the disk, and closes the files. A batch that did not make it is applied again
// from the log. Closing twice is no error.
func (x *Index) Close() error {
	x.open.Lock()
	defer x.open.Unlock()
	if x.engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	x.writing.Lock()
	_ = x.settle(x.engine) // a broken index is closed all the same
	x.writing.Unlock()
	_ = x.flush(ctx, x.engine)
	err := caught.Run(x.engine.Close)
	x.engine = nil
	x.queue.Close()
	faults.Delete(x.dir)
	return err
}

// use returns the engine and holds it open until done is called. It must not be
// nested: a waiting Close would stop the inner call.
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
	tick := time.NewTicker(scrubPause)
	defer tick.Stop()
	for {
		select {
		case err := <-persisted:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C: // after an error the engine may tell nobody
			if f := x.fault.Load(); f != nil {
				return *f
			}
		}
	}
}

// Open opens the index in dir, or creates one when there is none. Errors:
// ErrHeld when another process has it open; ErrRefused when it belongs to
// another store; ErrCorrupt when it can't be read, or is of another format, and
// should be removed and built anew. Damage to the newest files may also show as
// an older state with its older watermark. Open does not wait longer than
// LockTimeout for a lock, nor without end for a disk.
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
		_ = closeBroken(x.engine)
		x.queue.Close()
		return nil, openError(dir, err)
	}
	return x, nil
}

// openEngine opens the files. A damaged file may make the engine panic, or
// fault when a mapped file is shorter than it says; both are errors here.
func (x *Index) openEngine() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	made, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   x.dir,
		"unsafe_batch":           true, // the log is the truth
		"bolt_timeout":           x.opts.LockTimeout.String(),
		"asyncErrorCallbackName": faultCallback,
		"eventCallbackName":      faultCallback,
	}, x.queue)
	if err != nil {
		return err
	}
	engine := made.(*scorch.Scorch)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the index's files made the engine panic: %v", p)
			_ = closeBroken(engine)
		}
	}()
	if err := engine.Open(); err != nil {
		return err
	}
	x.engine = engine
	return nil
}

// create stamps a new index and waits until that is on disk, so that from then
// on an index without a stamp is a damaged one.
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

// begin makes s the state of the engine and of the index.
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
			Try: "Remove the folder; it will be built anew."}
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	x.begin(s)
	return verifySegments(r)
}

// closeBroken closes what can still be closed: the engine may have stopped
// half-way, and its own Close may panic too.
func closeBroken(engine *scorch.Scorch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("close: %v", p)
		}
	}()
	return engine.Close()
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
		Try: "Remove the folder; it will be built anew.", Err: err}
}

// format is raised when what an index holds, or how, changes.
var format = fmt.Sprintf("ken keyword index 1, analysis %d", analysis.Version)

// Keys of the engine's internal values. They are stored with the documents of
// the same batch, and a reader sees them as they were when it was taken.
var (
	stampKey = []byte("stamp")
	stateKey = []byte("state")
)

// state is what an index knows of itself. Scoring needs the sums, and a sum
// that is kept is exact where one derived from the files would count deleted
// documents.
type state struct {
	watermark uint64
	docs      uint64
	words     uint64 // the documents' lengths, added up
	next      uint64 // one past the largest ref ever seen
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

// The engine persists in the background and reports trouble (a full disk, a
// panic) only to a callback that is named in a table of the engine's package,
// so the way from there to an Index has to be a table as well.
const faultCallback = "github.com/kenlayer/ken/internal/store/keyword"

// faults maps an index's folder to the *atomic.Pointer[error] of its Index.
var faults sync.Map

// retryPause slows the engine down, which retries a failed write at once and
// for ever. The callback runs in the retrying goroutine.
const retryPause = 100 * time.Millisecond

func init() {
	scorch.RegistryAsyncErrorCallbacks[faultCallback] = func(err error, dir string) {
		if fault, ok := faults.Load(dir); ok {
			fault.(*atomic.Pointer[error]).Store(&err)
		}
		time.Sleep(retryPause)
	}
	// The engine merges on a goroutine of its own, and recovers there: a file that has
	// become shorter is to be a panic, and not the end of the process.
	scorch.RegistryEventCallbacks[faultCallback] = func(e scorch.Event) bool {
		if e.Kind == scorch.EventKindPreMergeCheck {
			debug.SetPanicOnFault(true)
		}
		return true
	}
}

// Release gives up what the process has in memory of the index's files: see package
// mapped. Searches go on meanwhile.
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
	defer r.Close() // only returns the snapshot, which keeps the files mapped until then
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return
	}
	for _, s := range snapshot.Segments() {
		// A segment that is in memory still has no path.
		if f, ok := s.Segment().(interface {
			Path() string
			Data() []byte
		}); ok && f.Path() != "" {
			mapped.Release(f.Data())
		}
	}
}

// CopyTo copies the index into a folder that is empty, while it is in use. The newest documents,
// which wait in memory, are left out: the copy's watermark is before them.
func (x *Index) CopyTo(dir string) error {
	engine, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	return caught.Run(func() error { // also where the engine has no snapshot yet
		r := engine.CopyReader()
		return errors.Join(r.CopyTo(copyDir(dir)), r.CloseCopyReader())
	})
}

// copyDir is where the engine puts a copy.
type copyDir string

// GetWriter makes a file of the copy. The engine names it below a folder of its own.
func (d copyDir) GetWriter(path string) (io.WriteCloser, error) {
	return os.OpenFile(filepath.Join(string(d), filepath.Base(path)), os.O_CREATE|os.O_RDWR, 0o600)
}
