package breaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/kenlayer/ken"
)

// Defaults of [Options].
const (
	defaultFailures = 5
	DefaultOpenFor  = 30 * time.Second
)

// ErrOpen is wrapped by the error of every call that a breaker refused. A refused call does not
// reach the dependency.
var ErrOpen = errors.New("the circuit is open")

// State is the state of a breaker. The zero value is closed.
type State uint8

// The states.
const (
	Closed   State = iota // calls pass
	Open                  // calls are refused
	HalfOpen              // one probe passes, everything else is refused
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns the state's name: closed, open or half-open.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText implements encoding.TextMarshaler. It returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is a change of state.
type Change struct {
	Name     string // the breaker's
	From, To State
	Cause    error // the last failure; nil if To is Closed
}

// Options configures a breaker. The zero value means the defaults.
type Options struct {
	// Name begins the error messages, such as "embeddings"; "" means "breaker".
	Name string
	// Failures is the number of consecutive failures that opens the breaker; <= 0 means 5.
	Failures int
	// OpenFor is how long the breaker stays open before a probe may pass; <= 0 means 30 s.
	OpenFor time.Duration
	// ProbesOnly refuses ordinary calls while half-open too, so that only Probe tests whether the
	// dependency works again.
	ProbesOnly bool
	// OnChange is called for every change of state, in order, one call at a time. It runs in the
	// goroutine of a call to the breaker after the locks are released, so it may use the breaker; a
	// slow one delays that call.
	OnChange func(Change)
}

// Breaker guards calls to one dependency. It is safe for concurrent use.
type Breaker struct {
	opts Options
	gate *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu        sync.Mutex // guards the rest; never held while calling the gate or OnChange
	state     State      // as of the latest change
	last      error      // see LastError
	opened    error      // the failure that opened it the last time; kept when it closes
	changes   []Change   // changes that OnChange was not called for yet
	notifying bool       // a goroutine is calling OnChange
}

// New returns a closed breaker.
func New(o Options) *Breaker {
	o.Name = cmp.Or(o.Name, "breaker")
	o.Failures = cmp.Or(max(o.Failures, 0), defaultFailures)
	o.OpenFor = cmp.Or(max(o.OpenFor, 0), DefaultOpenFor)
	b := &Breaker{opts: o}
	b.gate = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: o.Name,
		// The gate becomes half-open strictly after its timeout, but a probe exactly after OpenFor
		// must find it half-open.
		Timeout:     max(o.OpenFor-1, 1),
		ReadyToTrip: func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(o.Failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errCancelled) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.changed(stateOf(to))
		},
	})
	return b
}

// Outcomes other than an error of fn.
var (
	errCancelled = errors.New("cancelled by the caller") // not a failure of the dependency
	errNoReturn  = errors.New("the call did not return")
)

// Do calls fn and returns its error unchanged, unless the breaker is open, or half-open with its
// probe taken. Then it returns a *ken.Error of code unavailable that wraps ErrOpen and has the
// failure that opened the breaker. If ctx has already ended, Do returns its error without calling
// fn, and counts nothing.
//
// A panic in fn counts as a failure and is passed on to the caller.
func (b *Breaker) Do(ctx context.Context, fn func(context.Context) error) error {
	if b.opts.ProbesOnly {
		if err := b.Err(); err != nil {
			return err
		}
	}
	return b.run(ctx, fn)
}

// Probe is Do for background calls. While the breaker is half-open, it tests whether the dependency
// works again. While the breaker is open, Probe is refused like Do; while it is closed, Probe is an
// ordinary call.
func (b *Breaker) Probe(ctx context.Context, fn func(context.Context) error) error {
	return b.run(ctx, fn)
}

func (b *Breaker) run(ctx context.Context, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done, refused := b.gate.Allow()
	if refused != nil {
		b.notify()
		return b.refusal()
	}
	// The outcome if fn panics or ends the goroutine.
	outcome := errNoReturn
	defer func() {
		b.note(outcome)
		done(outcome)
		b.notify()
	}()
	err := fn(ctx)
	outcome = err
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		outcome = errCancelled
	}
	return err
}

// note stores the outcome for LastError. It ignores a success while the breaker isn't closed: that
// is a late result from before it opened, or the probe, which closes the breaker and thereby clears
// the error.
func (b *Breaker) note(outcome error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(outcome, errCancelled):
	case outcome != nil || b.state == Closed:
		b.last = outcome
	}
}

// changed is called with the gate's lock held, so it only queues the change for notify.
func (b *Breaker) changed(to State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch to {
	case Open:
		b.opened = b.last
	case Closed:
		b.last = nil
	}
	if b.opts.OnChange != nil {
		b.changes = append(b.changes, Change{Name: b.opts.Name, From: b.state, To: to, Cause: b.last})
	}
	b.state = to
}

// notify calls OnChange for the queued changes, in order and without holding a lock. If another
// goroutine is already doing this, notify leaves the changes to it.
func (b *Breaker) notify() {
	for b.notifyOne() {
	}
}

func (b *Breaker) notifyOne() bool {
	b.mu.Lock()
	if b.notifying || len(b.changes) == 0 {
		b.mu.Unlock()
		return false
	}
	c := b.changes[0]
	b.changes = b.changes[1:]
	b.notifying = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.notifying = false
		b.mu.Unlock()
	}()
	b.opts.OnChange(c)
	return true
}

// State returns the current state. An open breaker becomes half-open by the passing of time alone.
func (b *Breaker) State() State {
	s := stateOf(b.gate.State())
	b.notify()
	return s
}

// LastError returns the latest failure; nil if a call has succeeded after it.
func (b *Breaker) LastError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// Err returns the error with which an ordinary call would be refused; nil while the breaker is
// closed.
func (b *Breaker) Err() error {
	if b.State() == Closed {
		return nil
	}
	return b.refusal()
}

// Cause returns a text that says why calls are refused, for receipts and people; "" while the
// breaker is closed.
func (b *Breaker) Cause() string {
	if b.State() == Closed {
		return ""
	}
	return b.failureText()
}

func (b *Breaker) refusal() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: b.failureText(), Err: ErrOpen}
}

func (b *Breaker) failureText() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%s: stopped after %d failures in a row, tried again every %v; the last: %v",
		b.opts.Name, b.opts.Failures, b.opts.OpenFor, b.opened)
}

func stateOf(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}
