package keyword

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
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
