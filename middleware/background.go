package middleware

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store"
)

// filing sorts claims in the background under the entities that they are about: see package
// classify. The process that holds an owner's store follows the store's log. A program that ends
// right after a write runs only the cheap part, at once: see Derive.
type filing struct {
	due chan string // owners with claims to be filed, other than the configured owner
}

func (l *Layer) openFiling() { l.filing.due = make(chan string, 64) }

// filesClaims reports whether claims are filed in the background, beyond the filing at the write.
func (l *Layer) filesClaims() bool {
	return l.cfg.Structure.Classify != config.ClassifyOff && l.cfg.Middleware.Knowledge
}

func (l *Layer) classifier(s store.Engine, d *ownerSessions) *classify.Classifier {
	c := &l.cfg.Structure
	o := classify.Options{NoRules: c.Classify == config.ClassifyModel, Facts: c.ClassifyFacts, Wake: d.queue.Wake, GiveWay: l.yieldToTurns,
		Now: l.now, Log: l.o.Log}
	if m := d.model; m != nil && l.cfg.ClassifyModel() {
		o.Model = m.Model()
		o.Ask = func(ctx context.Context, r classify.Request) (string, error) {
			text, err := m.Ask(ctx, model.Question{Name: r.Name, System: r.System, User: r.User, Schema: r.Schema, Temperature: r.Temperature})
			if errors.Is(err, model.ErrBudget) {
				err = fmt.Errorf("%w: %w", classify.ErrLeave, err)
			}
			return text, err
		}
	}
	return classify.New(s, o)
}

// runFiling files the configured owner's claims, old and new, until ctx ends. This process must
// hold the store.
func (l *Layer) runFiling(ctx context.Context, s store.Engine) {
	d := l.sessionsOf("")
	c := l.classifier(s, d)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		c.Work(ctx, d.queue)
	}()
	_ = c.Follow(ctx) // nil when ctx ends
	<-worked
}

// runFilingOthers files the claims of the other owners whose sessions were checked, until ctx ends.
func (l *Layer) runFilingOthers(ctx context.Context) {
	for {
		select {
		case owner := <-l.filing.due:
			l.quietly(ctx, "file claims", func() error {
				_, err := l.Operator().File(ctx, owner)
				return err
			}, "owner", owner)
		case <-ctx.Done():
			return
		}
	}
}

// requestFiling asks the background to file another owner's claims. It does not wait.
func (l *Layer) requestFiling(owner string) {
	if l.filesClaims() && owner != "" && owner != l.cfg.Knowledge.Owner {
		offer(l.filing.due, owner) // if the queue is full, the next check of the owner's sessions asks again
	}
}

// File files the claims of an owner that are not filed yet; "" means the configured owner. It also
// runs the jobs that ask a model to file claims, and returns the jobs that ran. It works in the
// caller's goroutine. Unless Options.Foreground is set, the layer does the same in the background.
func (l operator) File(ctx context.Context, owner string) (jobs.Report, error) {
	if !l.filesClaims() {
		return jobs.Report{}, nil
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return jobs.Report{}, err
	}
	defer release()
	d := l.sessionsOf(owner)
	c := l.classifier(s, d)
	if err := c.CatchUp(ctx); err != nil {
		return jobs.Report{}, fmt.Errorf("file claims: %w", err)
	}
	return c.Drain(ctx, d.queue)
}

// Derive applies the filing rules to claims that were just written, for example to store the
// dependencies that they state. It is for programs that end right after a write. A layer that works
// in the background does this without a call.
func (l operator) Derive(ctx context.Context, owner string, ids ...string) error {
	if !l.derives() {
		return nil
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	return classify.Derive(ctx, s, ids...)
}

// deriveInForeground calls Derive after a write, if the layer has no background. If Derive fails,
// the claim stays written.
func (l *Layer) deriveInForeground(ctx context.Context, s store.Engine, id string) {
	if l.o.Foreground && id != "" && l.derives() {
		l.warn(ctx, "derive dependencies", classify.Derive(ctx, s, id), "claim", id)
	}
}

// derives reports whether rules find dependencies: not if a model alone files claims.
func (l *Layer) derives() bool {
	return l.filesClaims() && !(l.cfg.Structure.Classify == config.ClassifyModel && l.cfg.ClassifyModel())
}

// Filing returns how many of an owner's claims are filed; "" means the configured owner.
func (l operator) Filing(ctx context.Context, owner string) (classify.State, error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return classify.State{}, err
	}
	defer release()
	return classify.Status(ctx, s.Shelf())
}

// fileAfterHarvest files an owner's claims after a harvest. In the foreground it adds the jobs that
// ran to the report.
func (l *Layer) fileAfterHarvest(ctx context.Context, owner string, report *jobs.Report) error {
	if !l.o.Foreground {
		l.requestFiling(owner)
		return nil
	}
	r, err := l.Operator().File(ctx, owner)
	report.Done, report.Retried, report.Dead = report.Done+r.Done, report.Retried+r.Retried, report.Dead+r.Dead
	report.Returned, report.Lost = report.Returned+r.Returned, report.Lost+r.Lost
	report.Jobs = append(report.Jobs, r.Jobs...)
	return err
}

// Background work yields to turns. A step of it is one store call of some milliseconds. It begins
// once no turn has run for quietAfter, and after waitAtMost in any case. So even if turns never
// pause, about twenty steps run per second, which harvests about one session, and at most one step
// runs beside a turn.
const (
	quietAfter = 5 * time.Millisecond
	waitAtMost = 50 * time.Millisecond
)

// activeTurns counts the turns in progress for background work. The zero value is ready.
type activeTurns struct {
	mu      sync.Mutex // guards the rest
	count   int
	lastEnd time.Time     // when the last turn ended
	idle    chan struct{} // closed when the last turn ends; nil if nobody waits
}

func (s *activeTurns) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
}

func (s *activeTurns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	s.lastEnd = time.Now()
	if s.count == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// wait returns a channel that is closed when no turn is left, and the maximum time to wait for it.
func (s *activeTurns) wait() (left <-chan struct{}, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		return nil, quietAfter - time.Since(s.lastEnd)
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	return s.idle, waitAtMost
}

// yield returns once no turn has run for quietAfter, after waitAtMost, or when ctx ends. The caller
// must not hold a lock that a turn may wait for.
func (s *activeTurns) yield(ctx context.Context) {
	left, wait := s.wait()
	if wait <= 0 {
		return
	}
	late := time.NewTimer(waitAtMost)
	defer late.Stop()
	for wait > 0 {
		quiet := time.NewTimer(wait)
		select {
		case <-left:
		case <-quiet.C:
		case <-late.C:
			wait = 0
		case <-ctx.Done():
			wait = 0
		}
		quiet.Stop()
		if wait > 0 {
			left, wait = s.wait()
		}
	}
}

// backgroundKey marks the context of background work. Its store calls yield to the turns of this
// process, not to those of other processes.
type backgroundKey struct{}

func inBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// yieldToTurns waits as yield does if ctx belongs to background work. Otherwise it returns at once.
func (l *Layer) yieldToTurns(ctx context.Context) {
	if ctx.Value(backgroundKey{}) != nil {
		l.activeTurns.yield(ctx)
	}
}

// warn logs an error, unless it is nil or ctx has ended.
func (l *Layer) warn(ctx context.Context, what string, err error, args ...any) {
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn(what, append(args, "cause", err, "try", ken.Hint(err))...)
	}
}

// quietly calls f and logs its error or panic as warn does.
func (l *Layer) quietly(ctx context.Context, what string, f func() error, args ...any) {
	l.warn(ctx, what, caught.Run(f), args...)
}

// guarded calls f and logs a panic. It returns false after one.
func (l *Layer) guarded(what string, f func()) bool {
	err := caught.Run(func() error { f(); return nil })
	if err != nil {
		l.o.Log.Error(what, "cause", err, "stack", caught.Stack(err))
	}
	return err == nil
}

// offer sends v if the channel has room, and reports whether it did.
func offer[T any](to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	default:
		return false
	}
}

// pause waits for a time, or returns ctx's error when ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
