package jobs

import (
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

// Queue adds jobs to a shelf and runs them. It is safe for concurrent use; the
// jobs are on the shelf, so any number of queues over one shelf are one queue.
type Queue struct {
	shelf store.Shelf
	o     Options

	mu    sync.Mutex // guards the rest
	wake  chan struct{}
	mine  map[string]struct{}  // jobs that this queue is running
	seen  map[string]leaseSeen // leases that are held in this process
	told  map[string]struct{}  // jobs that can't be read, and are in the log
	clock struct {
		wall, mono time.Time // when it was last read; zero before the first time
	}
}

// NewQueue returns a queue over a shelf.
func NewQueue(shelf store.Shelf, o Options) *Queue {
	return &Queue{shelf: shelf, o: o.withDefaults(), wake: make(chan struct{}), mine: map[string]struct{}{}, seen: map[string]leaseSeen{},
		told: map[string]struct{}{}}
}

// Add adds a job in a transaction of its own and wakes whoever works on this
// queue. It returns the job that is there now; added is false when it was there
// before. Errors: ErrInvalid.
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

// Wake makes the workers of this queue look for jobs now. Call it after a
// transaction that added one with the function Add.
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
	// Worker names whoever runs the jobs, for people: default host:pid:random.
	Worker string
	// Process tells the leases of this process from those that an earlier one
	// left behind. Default: random, the same for all queues of the process. Tests
	// set it to play several processes.
	Process string
	// Alive reports whether another process lives. The lease of one that does not is
	// over at once, so that a job which was cut off by a crash runs right after it.
	// It is asked within transactions, and must not take long. Nil: nobody knows, and
	// every lease holds until its time.
	Alive func(process string) bool
	Now   func() time.Time // the wall clock; default time.Now

	// Lease is how long a worker has a job without renewing it, which it does
	// three times as often. Queues over one shelf must agree on it. Default 5 minutes.
	Lease time.Duration
	// Attempts is after how many a job is dead. Default 8.
	Attempts int
	// Lost is after how many attempts in a row during which the worker's process ended,
	// as far as Alive knows, a job is dead: what it reads may be what ends the process.
	// Default 3.
	Lost int
	// Backoff is the pause after an attempt, counted from 1. The default starts
	// at 1 s, grows fourfold, stops at 1 h, and takes off up to a quarter by Jitter.
	Backoff func(attempt int) time.Duration
	Jitter  func() float64 // 0..1, for the default Backoff; default random
	// Keep is how long a done job is remembered, and with it that there is nothing
	// to be done again. Default 30 days; below 0 is forever.
	Keep time.Duration
	Log  *slog.Logger // default: nothing is logged
}

// process is this process to Options.Process. A process id would not do: in a
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
	if o.Process == "" {
		o.Process = process
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lease <= 0 {
		o.Lease = 5 * time.Minute
	}
	if o.Attempts <= 0 {
		o.Attempts = 8
	}
	if o.Lost <= 0 {
		o.Lost = 3
	}
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	if o.Backoff == nil {
		o.Backoff = func(attempt int) time.Duration { return backoff(attempt, o.Jitter()) }
	}
	if o.Keep == 0 {
		o.Keep = 30 * 24 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks an error that another attempt would meet again, such as a
// payload that makes no sense: the job is dead at once. It is nil for nil, and
// may be wrapped further.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

type laterError struct{ err error }

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// Later marks an error that says nothing of the job, such as that what it needs is
// held by somebody: it is tried again after the first pause, and the attempt does not
// count. It is nil for nil, and may be wrapped further.
func Later(err error) error {
	if err == nil {
		return nil
	}
	return &laterError{err}
}

func isLater(err error) bool {
	var l *laterError
	return errors.As(err, &l)
}

// State is where a job stands.
type State string

// States of a job.
const (
	Queued  State = "queued"  // waits for its time, or for a worker
	Running State = "running" // leased by a worker
	Done    State = "done"    // kept for a while, so that adding it again changes nothing
	Dead    State = "dead"    // given up on; Error says why, and Queue.Retry runs it again
)

// New is a job to be added.
type New struct {
	Kind    string // which handler runs it, such as "harvest"
	Key     string // what is to be done: the same kind and key is the same job
	Payload json.RawMessage
	After   time.Time // not before; zero is at once
}

// Job is one entry of the queue.
type Job struct {
	ID      string          `json:"id"` // follows from kind and key
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
	State   State           `json:"state"`

	Attempts int       `json:"attempts"`           // started so far; Queue.Retry sets it back
	Lost     int       `json:"lost,omitempty"`     // attempts in a row during which the worker's process ended
	Run      uint64    `json:"run,omitempty"`      // leases so far, never set back: tells a worker whether the job is still its own
	Created  time.Time `json:"created"`            //
	Due      time.Time `json:"due"`                // when it may run, or run again
	Since    time.Time `json:"since,omitzero"`     // when Due was set; zero when it is New.After, which no clock shifts
	Lease    time.Time `json:"lease,omitzero"`     // until when its worker has it
	Worker   string    `json:"worker,omitempty"`   // that has it, or had it last
	Process  string    `json:"process,omitempty"`  // that the worker is in, while it has it
	Finished time.Time `json:"finished,omitzero"`  // done or dead
	Error    string    `json:"error,omitempty"`    // of the last attempt
	Try      string    `json:"try,omitempty"`      // what to do about it
	Note     string    `json:"note,omitempty"`     // what came of it
	Progress *Progress `json:"progress,omitempty"` // of the attempt that is running
}

// Progress is how far an attempt is. A total of 0 is unknown.
type Progress struct {
	Stage string `json:"stage"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

const (
	jobPrefix   = "jobs/job/"
	statePrefix = "jobs/state/"
	clockKey    = "jobs/clock" // the latest time that a job was written at
)

// ID is the id of the job of this kind and key: 32 hexadecimal digits.
func ID(kind, key string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(kind)) + ":" + kind + key))
	return hex.EncodeToString(sum[:16])
}

// when is the time that a job is sorted by within its state.
func (j *Job) when() time.Time {
	switch j.State {
	case Queued:
		return j.Due
	case Running:
		return j.Lease
	}
	return j.Finished
}

// indexKey is where the job stands in the index. Microseconds since 1970, shifted
// so that they sort as text, span every year that JSON can say.
func (j *Job) indexKey() string {
	return fmt.Sprintf("%s%s/%016x/%s", statePrefix, j.State, uint64(j.when().UnixMicro())^1<<63, j.ID)
}

// entry is one line of the index.
type entry struct {
	key  string
	id   string
	kind string
	at   time.Time
}

// index yields the jobs of a state, earliest first, without reading them.
func index(r store.ShelfReader, s State) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		prefix := statePrefix + string(s) + "/"
		for key, kind := range r.Scan(prefix) {
			stamp, id, _ := strings.Cut(key[len(prefix):], "/")
			n, err := strconv.ParseUint(stamp, 16, 64)
			if err != nil || len(stamp) != 16 {
				continue // not a key of this package, and out of its order
			}
			if !yield(entry{key, id, string(kind), time.UnixMicro(int64(n ^ 1<<63)).UTC()}) {
				return
			}
		}
	}
}

// load reads a job; nil when there is none.
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
			Try: "Remove it, and do what it was for by hand."}
	}
	return &j, nil
}

// save writes a job in place of old, which is nil for a new one.
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

// latest is the latest time that a job was written at, by whatever queue; zero
// when none was, or the note can't be read.
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

// drop removes a job that was read from the shelf.
func drop(tx store.ShelfTx, j *Job) error {
	if err := tx.Delete(j.indexKey()); err != nil {
		return err
	}
	return tx.Delete(jobPrefix + j.ID)
}
