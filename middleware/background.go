package middleware

import (
	"context"
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

// filing finds out in the background what claims are about: see package classify.
// What is written by whichever process is in the log, so the process that holds an
// owner's store follows that; who ends right after a write does the cheap part of it
// at once.
type filing struct {
	model *model.Client // nil: rules alone
	due   chan string   // owners, beside the configured one, whose claims are to be looked at
}

func (l *Layer) openFiling() {
	l.filing.due = make(chan string, 64)
	if c := &l.cfg; c.ClassifyModel() {
		l.filing.model = model.New(model.Options{BaseURL: c.HarvestBaseURL(), APIKey: c.HarvestAPIKey(), Model: c.Harvest.Model,
			Timeout: c.Harvest.Timeout, Window: c.Harvest.Window, Log: l.o.Log})
	}
}

func (l *Layer) closeFiling() error {
	if l.filing.model == nil {
		return nil
	}
	return l.filing.model.Close()
}

// files reports whether claims are filed beyond what their writing does.
func (l *Layer) files() bool {
	return l.cfg.Structure.Classify != config.ClassifyOff && l.cfg.Middleware.Knowledge
}

// classifier files the claims of a store.
func (l *Layer) classifier(s store.Engine, q *jobs.Queue) *classify.Classifier {
	c := &l.cfg.Structure
	o := classify.Options{NoRules: c.Classify == config.ClassifyModel, Facts: c.ClassifyFacts, Pairs: c.DependencyFacts, Wake: q.Wake, GiveWay: l.yieldToTurns,
		Now: l.now, Log: l.o.Log}
	if m := l.filing.model; m != nil {
		o.Model = m.Model()
		o.Ask = func(ctx context.Context, r classify.Request) (string, error) {
			return m.Ask(ctx, model.Question{Name: r.Name, System: r.System, User: r.User, Schema: r.Schema, Temperature: r.Temperature})
		}
	}
	return classify.New(s, o)
}

// keepFiling files the configured owner's claims, old ones and what is written, until
// ctx ends. This process holds the store.
func (l *Layer) keepFiling(ctx context.Context, s store.Engine) {
	q := l.sessionsOf("").queue
	c := l.classifier(s, q)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		c.Work(ctx, q)
	}()
	_ = c.Follow(ctx) // nil when ctx ends
	<-worked
}

// keepFilingOthers files the claims of other owners after their sessions were looked
// after, until ctx ends.
func (l *Layer) keepFilingOthers(ctx context.Context) {
	for {
		select {
		case owner := <-l.filing.due:
			err := caught.Run(func() error {
				_, err := l.File(ctx, owner)
				return err
			})
			if err != nil && ctx.Err() == nil {
				l.o.Log.Warn("file claims", "owner", owner, "cause", err, "try", ken.Hint(err))
			}
		case <-ctx.Done():
			return
		}
	}
}

// wantFiling has the background file another owner's claims. It does not wait.
func (l *Layer) wantFiling(owner string) {
	if !l.files() || owner == "" || owner == l.cfg.Knowledge.Owner {
		return
	}
	select {
	case l.filing.due <- owner:
	default: // the next round will
	}
}

// File files an owner's claims that are not filed yet, "" for the configured owner's,
// and runs the jobs that ask a model for it, in this goroutine. The layer does so by
// itself in the background, unless Options.Foreground is set. It returns the jobs that
// ran.
func (l *Layer) File(ctx context.Context, owner string) (jobs.Report, error) {
	if !l.files() {
		return jobs.Report{}, nil
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return jobs.Report{}, err
	}
	defer release()
	q := l.sessionsOf(owner).queue
	c := l.classifier(s, q)
	if err := c.CatchUp(ctx); err != nil {
		return jobs.Report{}, fmt.Errorf("file claims: %w", err)
	}
	return c.Drain(ctx, q)
}

// Derive does at once, by rules, what follows from claims that were just written, such
// as the dependencies that they state: for programs that end right after. Where a layer
// works in the background it comes to that by itself.
func (l *Layer) Derive(ctx context.Context, owner string, ids ...string) error {
	if !l.files() || l.cfg.Structure.Classify == config.ClassifyModel && l.filing.model != nil {
		return nil
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	return classify.Derive(ctx, s, ids...)
}

// derived is Derive after a write through the layer in the foreground. The claim is
// written, whatever comes of it.
func (l *Layer) derived(ctx context.Context, s store.Engine, id string) {
	if !l.o.Foreground || id == "" || !l.files() || l.cfg.Structure.Classify == config.ClassifyModel && l.filing.model != nil {
		return
	}
	if err := classify.Derive(ctx, s, id); err != nil && ctx.Err() == nil {
		l.o.Log.Warn("derive dependencies", "claim", id, "cause", err)
	}
}

// Filing says how far an owner's claims are filed, "" for the configured owner's.
func (l *Layer) Filing(ctx context.Context, owner string) (classify.State, error) {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return classify.State{}, err
	}
	defer release()
	return classify.Status(ctx, s.Shelf())
}

// fileTogether files after a harvest in the foreground, and adds the jobs that ran to
// the report.
func (l *Layer) fileTogether(ctx context.Context, owner string, report *jobs.Report) error {
	if !l.o.Foreground {
		l.wantFiling(owner)
		return nil
	}
	r, err := l.File(ctx, owner)
	report.Done, report.Retried, report.Dead = report.Done+r.Done, report.Retried+r.Retried, report.Dead+r.Dead
	report.Returned, report.Lost = report.Returned+r.Returned, report.Lost+r.Lost
	report.Jobs = append(report.Jobs, r.Jobs...)
	return err
}

// How background work gives way: for how long after a turn it waits for another one, and
// how long it waits at most before each step. A step is a call of the store, some
// milliseconds; so where turns never pause, the queue still gets shorter by some twenty
// steps a second, a session takes about that many, and there is never more than one step
// beside a turn.
const (
	quietAfter = 5 * time.Millisecond
	waitAtMost = 50 * time.Millisecond
)

// activeTurns tells the background whether one is in progress. The zero value is ready.
type activeTurns struct {
	mu   sync.Mutex // guards the rest
	now  int
	last time.Time     // when the last one ended
	none chan struct{} // closed when none is left; nil while nobody waits
}

func (s *activeTurns) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
}

func (s *activeTurns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.last = time.Now()
	if s.now == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// busy returns what is closed when no turn is left, or else for how long to wait still.
func (s *activeTurns) busy() (left <-chan struct{}, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == 0 {
		return nil, quietAfter - time.Since(s.last)
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	return s.none, waitAtMost
}

// yield returns when there has been no turn for a moment, after waitAtMost, or at ctx's
// end. It must not be called with something that a turn may wait for.
func (s *activeTurns) yield(ctx context.Context) {
	left, wait := s.busy()
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
			left, wait = s.busy()
		}
	}
}

// backgroundKey marks the context of work that nobody waits for: its calls of a store give way to
// turns of this process. Turns of other processes are not known.
type backgroundKey struct{}

func inBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// yieldToTurns has background work give way; work that somebody waits for does not.
func (l *Layer) yieldToTurns(ctx context.Context) {
	if ctx.Value(backgroundKey{}) != nil {
		l.turning.yield(ctx)
	}
}
