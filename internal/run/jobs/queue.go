package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Queue adds jobs to a shelf and runs them. It is safe for concurrent use. The jobs
// are stored on the shelf, so any number of queues may share one shelf.
type Queue struct {
	shelf store.Shelf
	o     Options

	mu         sync.Mutex // guards the fields below
	wake       chan struct{}
	current    map[string]struct{}  // jobs that this queue is running
	seen       map[string]leaseSeen // leases of living processes, by job id
	unreadable map[string]struct{}  // jobs that can't be read and were logged
	clock      struct {
		wall, mono time.Time // when the clocks were last read; zero before the first time
	}
}

// NewQueue returns a queue over a shelf. The caller closes the shelf.
func NewQueue(shelf store.Shelf, o Options) *Queue {
	return &Queue{shelf: shelf, o: o.withDefaults(), wake: make(chan struct{}), current: map[string]struct{}{}, seen: map[string]leaseSeen{},
		unreadable: map[string]struct{}{}}
}

// Add adds a job in a transaction of its own and wakes the workers of this queue. It
// returns the stored job; added is false if the job existed before. Errors:
// ErrInvalid.
func (q *Queue) Add(ctx context.Context, n New) (j Job, added bool, err error) {
	err = q.shelf.Update(ctx, func(tx store.ShelfTx) error {
		var id string
		if id, added, err = Add(tx, q.o.Now(), n); err != nil {
			return err
		}
		there, err := load(tx, id)
		if err == nil {
			j = *there
		}
		return err
	})
	if err != nil {
		return Job{}, false, err
	}
	if added {
		q.Wake()
	}
	return j, added, nil
}

// Wake makes the workers of this queue look for jobs now. Call it after a transaction
// that used the function Add.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.wake)
	q.wake = make(chan struct{})
}

func (q *Queue) woken() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wake
}

// Options configures a queue; the zero value works.
type Options struct {
	// Worker names the worker in reports. Default: host:pid:random.
	Worker string
	// Process identifies this process, so that leases left behind by an earlier one
	// are recognised. Default: random, the same for all queues of the process. Tests
	// set it to simulate several processes.
	Process string
	// Alive reports whether another process is running. The lease of a process that
	// is not running ends at once, so a job interrupted by a crash runs again right
	// away. It is called within transactions and must be fast. If nil, every lease
	// lasts until it expires.
	Alive func(process string) bool
	Now   func() time.Time // the wall clock; default time.Now

	// Lease is how long a lease lasts. A worker renews it three times as often. All
	// queues over one shelf must use the same value. Default 5 minutes.
	Lease time.Duration
	// Attempts is the number of failed attempts after which a job is dead. Default 8.
	Attempts int
	// Lost is the number of attempts in a row that ended with the worker's process,
	// as reported by Alive, after which a job is dead. The job itself may be what
	// ends the process. Default 3.
	Lost int
	// Backoff returns the pause after an attempt, counted from 1. The default starts
	// at 1 s, grows fourfold up to 1 h, and subtracts up to a quarter by Jitter.
	Backoff func(attempt int) time.Duration
	Jitter  func() float64 // 0..1, for the default Backoff; default random
	// Keep is how long a done job is stored. While it is stored, adding it again does
	// nothing. Default 30 days; below 0 means forever.
	Keep time.Duration
	Log  *slog.Logger // default: nothing is logged
}

// process is the default of Options.Process. A process id would not do: in a
// container it is the same after every restart.
var process = rand.Text()

func (o Options) withDefaults() Options {
	if o.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		o.Worker = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:6])
	}
	o.Process = cmp.Or(o.Process, process)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Lease = cmp.Or(max(o.Lease, 0), 5*time.Minute)
	o.Attempts = cmp.Or(max(o.Attempts, 0), 8)
	o.Lost = cmp.Or(max(o.Lost, 0), 3)
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	if o.Backoff == nil {
		o.Backoff = func(attempt int) time.Duration { return backoff(attempt, o.Jitter()) }
	}
	o.Keep = cmp.Or(o.Keep, 30*24*time.Hour)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

const (
	firstPause  = time.Second
	pauseGrowth = 4
	maxPause    = time.Hour
	jitterShare = 0.25
)

func backoff(attempt int, jitter float64) time.Duration {
	d := min(float64(firstPause)*math.Pow(pauseGrowth, float64(max(attempt, 1)-1)), float64(maxPause))
	return time.Duration(d * (1 - jitterShare*min(max(jitter, 0), 1)))
}

// markedError is an error for which errors.Is finds a mark, too.
type markedError struct {
	error
	mark error
}

func (e *markedError) Unwrap() []error { return []error{e.error, e.mark} }

func marked(err, mark error) error {
	if err == nil {
		return nil
	}
	return &markedError{err, mark}
}

// Marks of errors; see Permanent and Later.
var errPermanent, errLater = errors.New("permanent"), errors.New("later")

// Permanent marks an error that another attempt would not fix, such as an invalid
// payload: the job is dead at once. It returns nil for nil. The result may be wrapped
// further.
func Permanent(err error) error { return marked(err, errPermanent) }

// Later marks an error that is not the job's fault, such as a resource in use by
// another process. The job is tried again after the first pause, and the attempt does
// not count. It returns nil for nil. The result may be wrapped further.
func Later(err error) error { return marked(err, errLater) }

// State is the state of a job.
type State string

// States of a job.
const (
	Queued  State = "queued"  // waits for its due time or for a worker
	Running State = "running" // leased by a worker
	Done    State = "done"    // kept for a while, so that adding it again changes nothing
	Dead    State = "dead"    // failed for good; Error says why, and Queue.Retry runs it again
)

// New describes a job to add.
type New struct {
	Kind    string // selects the handler, such as "harvest"
	Key     string // identifies the job within its kind
	Payload json.RawMessage
	After   time.Time // earliest start; zero means at once
}

// Job is a stored job.
type Job struct {
	ID      string          `json:"id"` // derived from kind and key
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
	State   State           `json:"state"`

	Attempts int       `json:"attempts"`           // started so far; Queue.Retry resets it
	Lost     int       `json:"lost,omitempty"`     // attempts in a row during which the worker's process ended
	Run      uint64    `json:"run,omitempty"`      // number of leases so far, never reset: a worker checks by it that the job is still its own
	Created  time.Time `json:"created"`            //
	Due      time.Time `json:"due"`                // when it may run, or run again
	Since    time.Time `json:"since,omitzero"`     // when Due was computed; zero when Due is New.After, which clock corrections leave unchanged
	Lease    time.Time `json:"lease,omitzero"`     // when the lease expires
	Worker   string    `json:"worker,omitempty"`   // the current worker, or the last one
	Process  string    `json:"process,omitempty"`  // the process of the current worker
	Finished time.Time `json:"finished,omitzero"`  // when it became done or dead
	Error    string    `json:"error,omitempty"`    // of the last attempt
	Try      string    `json:"try,omitempty"`      // what to do about it
	Note     string    `json:"note,omitempty"`     // what came of it
	Progress *Progress `json:"progress,omitempty"` // of the running attempt
}

// Progress is how far a running attempt is. Total is 0 when unknown.
type Progress struct {
	Stage string `json:"stage"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

const (
	jobPrefix   = "jobs/job/"
	statePrefix = "jobs/state/"
	clockKey    = "jobs/clock" // the latest time at which a job was written
)

// ID returns the id of the job of this kind and key: 32 hexadecimal digits.
func ID(kind, key string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(kind)) + ":" + kind + key))
	return hex.EncodeToString(sum[:16])
}

// when returns the time by which a job is sorted within its state.
func (j *Job) when() time.Time {
	switch j.State {
	case Queued:
		return j.Due
	case Running:
		return j.Lease
	}
	return j.Finished
}

// indexKey returns the job's key in the index. Times are microseconds since 1970,
// offset so that they sort as text; they cover every year that JSON can represent.
func (j *Job) indexKey() string {
	return fmt.Sprintf("%s%s/%016x/%s", statePrefix, j.State, uint64(j.when().UnixMicro())^1<<63, j.ID)
}

// entry is one entry of the index.
type entry struct {
	key  string
	id   string
	kind string
	at   time.Time
}

// index yields the entries of the jobs in a state, earliest first, without reading
// the jobs.
func index(r store.ShelfReader, s State) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		prefix := statePrefix + string(s) + "/"
		for key, kind := range r.Scan(prefix) {
			stamp, id, _ := strings.Cut(key[len(prefix):], "/")
			n, err := strconv.ParseUint(stamp, 16, 64)
			if err != nil || len(stamp) != 16 {
				continue // not a valid index key
			}
			if !yield(entry{key, id, string(kind), time.UnixMicro(int64(n ^ 1<<63)).UTC()}) {
				return
			}
		}
	}
}

// load reads a job. It returns nil if there is none.
func load(r store.ShelfReader, id string) (*Job, error) {
	b := r.Get(jobPrefix + id)
	if b == nil {
		return nil, nil
	}
	return decode(id, b)
}

func decode(id string, b []byte) (*Job, error) {
	var j Job
	err := json.Unmarshal(b, &j)
	if err == nil && j.ID != id {
		err = fmt.Errorf("it says that its id is %q", j.ID)
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "job " + id + " can't be read", Err: err,
			Try: "Remove it with ken jobs rm, and repeat the work by hand."}
	}
	return &j, nil
}

// save writes j in place of old. old is nil for a new job.
func save(tx store.ShelfTx, old, j *Job) error {
	if old != nil && old.indexKey() != j.indexKey() {
		if err := tx.Delete(old.indexKey()); err != nil {
			return err
		}
	}
	b, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	if j.Since.After(latest(tx)) {
		if err := setLatest(tx, j.Since); err != nil {
			return err
		}
	}
	if err := tx.Put(jobPrefix+j.ID, b); err != nil {
		return err
	}
	return tx.Put(j.indexKey(), []byte(j.Kind))
}

// latest returns the latest time at which any queue wrote a job. It is zero if there
// is none or it can't be read.
func latest(r store.ShelfReader) time.Time {
	var at time.Time
	if at.UnmarshalText(r.Get(clockKey)) != nil {
		return time.Time{}
	}
	return at
}

func setLatest(tx store.ShelfTx, at time.Time) error {
	b, err := at.MarshalText()
	if err != nil {
		return fmt.Errorf("write the time: %w", err)
	}
	return tx.Put(clockKey, b)
}

// drop removes a readable job and its index entry.
func drop(tx store.ShelfTx, j *Job) error { return deleteAll(tx, j.indexKey(), jobPrefix+j.ID) }

func deleteAll(tx store.ShelfTx, keys ...string) error {
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
