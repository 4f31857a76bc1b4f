package bolt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/keyword"
	"github.com/kenlayer/ken/store"
)

const (
	dbFile    = "ken.db"
	indexDir  = "index"
	vectorDir = "vectors"

	layout = Layout
)

// Layout is the number of the layout of the buckets below. A file with an older layout
// is upgraded when it is opened; a file with a newer one is rejected.
const Layout = 3

// The buckets. Numbers are big endian, so that keys sort.
var (
	bMeta    = []byte("meta")    // see the keys below
	bEvents  = []byte("events")  // seq 8 → event: the log
	bClaims  = []byte("claims")  // ref 4 → claim JSON, documents' chunks too
	bRows    = []byte("rows")    // ref 4 → row
	bClasses = []byte("classes") // class 2 → class JSON
	bKeys    = []byte("keys")    // key → id 16
	bTrail   = []byte("trail")   // id 16, seq 8 → nothing: the events of a claim
	bDerived = []byte("derived") // id 16, id 16 → nothing: what was derived from a claim
	bCites   = []byte("cites")   // path, 0, ref 4 → nothing: claims that cite a file's content
	bDocs    = []byte("docs")    // path → docEntry JSON
	bShelf   = []byte("shelf")   // key → value, see shelf.go
	bCommits = []byte("commits") // id 16 → what the write returned, see doOnce
	bAbout   = []byte("about")   // ref 4 → outline.About: the content of the index of names
	bRefers  = []byte("refers")  // hash 8 of a reference, ref 4 → nothing: claims whose evidence points at it, see document.go

	// A missing bucket is created on opening, so a new bucket needs no new layout. A
	// program that doesn't know the bucket copies it and otherwise leaves it alone.
	buckets = [][]byte{bMeta, bEvents, bClaims, bRows, bClasses, bKeys, bTrail, bDerived, bCites, bDocs, bShelf, bCommits, bAbout, bRefers}

	// firstBuckets are those that every file has, whatever program wrote it.
	firstBuckets = [][]byte{bMeta, bEvents, bClaims, bRows, bClasses, bKeys, bTrail, bDocs, bShelf}

	kLayout   = []byte("layout")
	kID       = []byte("store_id")
	kOwner    = []byte("owner")
	kCommit   = []byte("commit")   // number of the last commit, 8
	kHead     = []byte("head")     // hash of the last event, 32
	kAbout    = []byte("about")    // number of the last commit that bAbout includes, 8; see openStructure
	kRefers   = []byte("refers")   // the same for bRefers
	kApproved = []byte("approved") // the same for the rows' flagApproved; see openApproved
	kSealed   = []byte("sealed")   // present if no value was written by a program before layout 3
)

// Store is one owner's embedded store. It implements ken.Store and
// store.Projections, and is safe for concurrent use.
type Store struct {
	dir  string
	work string // folder of index and vectors; dir, except in a read-only store
	o    Options
	id   string // identifies the log to its projections
	t    *table
	docs *docTable
	refs map[uuid.UUID]store.Ref // only in a rebuild: the refs that records had before

	sealed bool // every value of the file has a checksum

	dbMu    sync.RWMutex // held for writing only while the file is swapped
	db      *bbolt.DB
	updMu   sync.Mutex // held while the file is written; guards secured
	secured bool       // the state that the file shows is durable; see makeDurable

	snapshots sync.RWMutex // held for reading by each read transaction; see makeDurable
	index     atomic.Pointer[keyword.Index]
	vecs      *vectors
	standby   atomic.Pointer[vectors] // vectors of the model that the embedder replaces; nil when all records have a new vector
	scale     likenessScale
	retired   atomic.Int32 // dimensions of the last standby; 0 for none
	cache     *claimCache
	gate      updateQueue // for the updates of the shelf
	health    health
	stalls    stallDetector

	beforeCommit func()       // test hook
	lateError    func() error // test hook: the error of a commit that the file shows nevertheless

	// Only the committer's goroutine uses the rest, except where noted.
	queue    chan *request
	quit     chan struct{}
	stopped  chan struct{}
	closing  sync.Once
	commit   uint64
	head     [sha256.Size]byte
	seq      atomic.Uint64 // number of the last event; any goroutine may read it
	shown    atomic.Uint64 // the last commit that readers see; any goroutine may read it
	classes  int           // number of classes on disk
	wake     chan struct{}
	wakeMu   sync.Mutex  // guards wake
	lagging  bool        // the index lacks durable changes; see index.go
	mend     *time.Timer // fires when the next repair of the index is due
	pause    time.Duration
	scrubbed scrubState
}

var (
	_ ken.Store     = (*Store)(nil)
	_ engine.Served = (*Store)(nil)
)

// Open opens or creates the store in dir. It applies the changes that the index lacks,
// and rebuilds an index that is missing or can't be read; o.Progress reports this work,
// and ctx can cancel only this work. Errors: ken.ErrHeld; ken.ErrCorrupt for a bbolt
// file that can't be read, which is left unchanged; ken.ErrRefused when the folder
// belongs to another owner.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	l, err := Acquire(dir, o)
	if err != nil {
		return nil, err
	}
	s, err := l.Open(ctx)
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return s, nil
}

func newStore(dir string, o Options, db *bbolt.DB) *Store {
	return &Store{dir: dir, work: dir, o: o, db: db, t: newTable(o.Now), docs: newDocTable(), cache: newClaimCache(),
		mend: stoppedTimer(), queue: make(chan *request, 256), quit: make(chan struct{}), stopped: make(chan struct{}), wake: make(chan struct{})}
}

// load reads meta data, rows and vectors into memory and brings the index up to date.
func (s *Store) load(ctx context.Context) error {
	if err := s.view(s.checkNotMoved); err != nil {
		return err
	}
	if err := s.view(checkBuckets); err != nil {
		return err
	}
	if s.o.readOnly {
		if err := s.readable(); err != nil {
			return err
		}
	} else if !s.prepared() { // otherwise no write transaction, and no sync, is needed
		if err := s.update(s.initMeta); err != nil {
			return fmt.Errorf("prepare store: %w", err)
		}
	}
	if err := s.view(s.loadTables); err != nil {
		return fmt.Errorf("load store: %w", err)
	}
	if err := s.openApproved(ctx); err != nil {
		return fmt.Errorf("load what was approved: %w", err)
	}
	if err := s.openStructure(ctx); err != nil {
		return fmt.Errorf("load what claims are about: %w", err)
	}
	if err := s.openRefers(ctx); err != nil {
		return fmt.Errorf("load what claims rest on: %w", err)
	}
	s.vecs = newVectors(filepath.Join(s.work, vectorDir), s.o.Embedder)
	if err := s.vecs.load(s.t); err != nil {
		return err
	}
	if err := s.openStandby(); err != nil {
		s.o.Log.Warn("the vectors of the previous model are not used", "store", s.dir, "error", err)
	}
	return s.openIndex(ctx)
}

// checkBuckets returns an error if the file of a store has lost a bucket. An empty one in its place would
// hide what was in it.
func checkBuckets(tx *bbolt.Tx) error {
	lost := lostBuckets(tx)
	meta := tx.Bucket(bMeta)
	fresh := len(lost) >= len(firstBuckets)-1 && (meta == nil || meta.Get(kLayout) == nil)
	if len(lost) == 0 || fresh {
		return nil
	}
	return damaged("read "+lost[0], errors.New("it is missing"))
}

// lostBuckets returns the names of firstBuckets that the file lacks.
func lostBuckets(tx *bbolt.Tx) (names []string) {
	for _, b := range firstBuckets {
		if tx.Bucket(b) == nil {
			names = append(names, string(b))
		}
	}
	return names
}

// prepared reports whether initMeta would change nothing and return no error.
func (s *Store) prepared() (is bool) {
	err := s.view(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return nil
			}
		}
		meta := tx.Bucket(bMeta)
		is = bytes.Equal(meta.Get(kLayout), []byte{layout}) && string(meta.Get(kOwner)) == s.o.Owner
		return nil
	})
	return is && err == nil
}

func (s *Store) initMeta(tx *writeTx) error {
	for _, b := range buckets {
		if err := tx.CreateBucketIfNotExists(b); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bMeta)
	if v := meta.Get(kLayout); v == nil {
		id, err := uuid.NewRandom()
		if err != nil {
			return err
		}
		return errors.Join(meta.Put(kLayout, []byte{layout}), meta.Put(kID, []byte(id.String())), meta.Put(kOwner, []byte(s.o.Owner)), meta.Put(kSealed, []byte{1}))
	} else if len(v) == 1 && (v[0] == layoutShortRows || v[0] == layoutNoSums) {
		var err error
		if v[0] == layoutShortRows {
			err = lengthenRows(tx)
		}
		if err := errors.Join(err, meta.Put(kLayout, []byte{layout})); err != nil {
			return fmt.Errorf("upgrade store: %w", err)
		}
	} else if len(v) != 1 || v[0] != layout {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("%s has layout %v; this program reads %d", s.dir, v, layout),
			Try: "Use the version of ken that wrote it to export, then import here."}
	}
	return s.checkOwner(meta.Get(kOwner))
}

// mark returns the number of the last commit that a projection includes, which bMeta has under key; 0 if it is not known.
func (s *Store) mark(key []byte) (commit uint64, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(bMeta).Get(key); len(v) == 8 {
			commit = binary.BigEndian.Uint64(v)
		}
		return nil
	})
	return commit, err
}

// checkOwner returns an error if the owner in the store's file is not the one it is
// opened for.
func (s *Store) checkOwner(owner []byte) error {
	switch {
	case len(owner) == 0:
		return damaged("read whose the store is", errors.New("its file names no owner"))
	case string(owner) != s.o.Owner:
		return &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: fmt.Sprintf("%s belongs to owner %q, not %q", s.dir, owner, s.o.Owner),
			Try: "Open the folder with its own owner."}
	}
	return nil
}

func (s *Store) loadTables(tx *bbolt.Tx) error {
	meta := tx.Bucket(bMeta)
	s.id, s.sealed = string(meta.Get(kID)), meta.Get(kSealed) != nil
	if v := meta.Get(kCommit); len(v) == 8 {
		s.commit = binary.BigEndian.Uint64(v)
		s.shown.Store(s.commit)
	}
	copy(s.head[:], meta.Get(kHead))
	if k, _ := tx.Bucket(bEvents).Cursor().Last(); len(k) == 8 {
		s.seq.Store(binary.BigEndian.Uint64(k))
	}
	err := tx.Bucket(bClasses).ForEach(func(k, v []byte) error {
		v, err := s.unseal(bClasses, k, v)
		var c class
		if err == nil {
			err = json.Unmarshal(v, &c)
		}
		if err != nil {
			return damaged("read a class of records", err)
		}
		_, err = s.t.intern(c)
		return err
	})
	if err != nil {
		return err
	}
	s.classes = len(s.t.classes)
	n := 0
	err = tx.Bucket(bRows).ForEach(func(k, v []byte) error {
		var r row
		if n++; n%releaseRows == 0 {
			release(tx)
		}
		v, err := s.unseal(bRows, k, v)
		if err == nil {
			err = r.decode(v)
		}
		if err == nil && (len(k) != 4 || int(r.class) >= len(s.t.classes) && !r.gone()) {
			err = errRow
		}
		if err == nil && int(binary.BigEndian.Uint32(k)) < len(s.t.rows) {
			err = errors.New("it is out of order")
		}
		if err != nil {
			return damaged(fmt.Sprintf("read row %x", k), err)
		}
		s.t.put(binary.BigEndian.Uint32(k), r)
		return nil
	})
	if err != nil {
		return err
	}
	return s.docs.load(s, tx)
}

// Close finishes the writes that were accepted and closes the files. Later calls fail
// with ErrUnavailable.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.quit)
		<-s.stopped
		err = s.closeFiles()
	})
	return err
}

func (s *Store) closeFiles() error {
	err := s.closeProjections()
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	if s.o.Replica != nil && s.db.NoSync {
		if synced := s.protect(s.db.Sync); synced != nil {
			err = errors.Join(err, synced)
		} else {
			err = errors.Join(err, s.o.Replica.Synced())
		}
	}
	if s.o.readOnly {
		err = errors.Join(err, os.RemoveAll(s.work))
	} else {
		_ = removeHolder(s.dir)
	}
	return errors.Join(err, s.protect(s.db.Close))
}

func (s *Store) closeProjections() error {
	var errs []error
	if x := s.index.Load(); x != nil {
		errs = append(errs, x.Close())
	}
	if s.vecs != nil {
		errs = append(errs, s.vecs.close())
	}
	if old := s.standby.Load(); old != nil {
		errs = append(errs, old.close())
	}
	return errors.Join(errs...)
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the store is closed", Try: "Open it again."}

// IsClosed reports whether a call was not executed because the store was closed.
func IsClosed(err error) bool {
	var e *ken.Error
	return errors.As(err, &e) && e == errClosed
}

// ID returns the identity of the store, which is generated when the store is created.
func (s *Store) ID() string { return s.id }

// Commit implements engine.Served.
func (s *Store) Commit() uint64 { return s.shown.Load() }

// Dir returns the owner's folder.
func (s *Store) Dir() string { return s.dir }

// Owner returns the owner whose claims the store holds.
func (s *Store) Owner() string { return s.o.Owner }

// Len returns the number of records, repository chunks included.
func (s *Store) Len() int {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	return s.t.live
}

// Embedder returns the embedder that makes the store's vectors; nil if it keeps none.
func (s *Store) Embedder() embed.Embedder { return s.o.Embedder }

// Options configures a store; the zero value works.
type Options struct {
	Owner string // default ken.DefaultOwner

	// Embedder makes the vectors; nil keeps none. An embedder that takes microseconds
	// (embed.IsInline) embeds during the write. With any other, a record is searchable
	// by keyword at once and by vector after the next EmbedMissing.
	Embedder embed.Embedder

	// Standby returns the embedder for a model whose vectors the store has from before
	// Embedder; nil if it is not available. For model "", it returns a fast embedder to
	// use while Embedder is slow; nil for none. While records lack a vector of
	// Embedder's model, the vectors of the standby are searched as well: see
	// Store.Standby. May be nil.
	Standby func(model string) embed.Embedder

	// Yield is called between two steps of EmbedMissing and returns when the next may
	// begin. May be nil.
	Yield func(ctx context.Context)

	// Progress is called with the progress of long work while the store opens or
	// rebuilds, from one goroutine at a time. May be nil.
	Progress Progress

	// Assign sets what a claim is about while the claim is written: see store.Env. Its
	// argument is the store, where Known also includes what the same transaction wrote
	// before. May be nil.
	Assign func(store.Structure, *ken.Claim)

	// Replica also stores the changes in a log elsewhere. Nil keeps only the file.
	Replica Replica

	// Log receives reports of damage, of repairs, and of texts that could not be read.
	// Default slog.Default().
	Log *slog.Logger

	Now   func() time.Time // default time.Now
	NewID func() string    // default UUID version 7
	// LockTimeout is how long to wait for a folder that another process holds. Default
	// 500 ms; a negative value doesn't wait.
	LockTimeout time.Duration
	// NoSync skips the fsync of every commit: for bulk loads and benchmarks of other
	// parts. A crash may then lose acknowledged writes.
	NoSync bool

	readOnly bool // the file is only read: for a repair, or in a folder that can't be written
}

// Progress receives the progress of a stage: done of total, in the stage's unit. A
// total of 0 is unknown.
type Progress func(stage string, done, total int)

func (o Options) withDefaults() Options {
	o.Owner = cmp.Or(o.Owner, ken.DefaultOwner)
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.LockTimeout = cmp.Or(o.LockTimeout, 500*time.Millisecond)
	return o
}

func (o Options) env() store.Env { return store.Env{Now: o.Now, NewID: o.NewID, Log: o.Log} }

// Archive archives a claim that was superseded or has expired. The reason is stored; if
// it is empty, the reason is "superseded" or "expired". Nothing is erased or moved: vectors and index
// entries stay, so that a query for archived claims still finds it. Default recall has
// excluded it since it was superseded or expired. Archiving it again changes nothing.
// Errors: ErrNotFound; ErrRefused for a claim that is still active.
func (s *Store) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return s.command(ctx, func(t *txn) (*store.Event, error) { return engine.Archive(t.get, id, reason, actor, s.o.env()) })
}
