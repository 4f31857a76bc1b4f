package harvest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// harvestRun is the state of one harvest.
type harvestRun struct {
	o          *Options
	tr         *session.Transcript
	statements []draft.Statement
	out        session.Outcome
	confirmed  []string                  // claims that statements of the draft confirm, in addition to those in out
	changed    []consolidate.ValueChange // the changes of values that statements of the draft report
	tainting   []string                  // external claims that calls of the session repeat, each once
	outside    externalTexts
	judged     *consolidate.Judged // by the model; nil if it decided nothing
}

// Harvest writes the claims from a transcript and returns the outcome, including claims that an
// earlier run wrote. It does not mark the session as harvested. After an error the harvest is
// incomplete; running it again completes it.
func (h *Harvester) Harvest(ctx context.Context, tr *session.Transcript, progress func(stage string, done, total int)) (out session.Outcome, err error) {
	err = h.lease.run(ctx, func(ctx context.Context) error {
		out, err = h.harvest(ctx, tr, progress)
		return err
	})
	return out, err
}

// harvest is Harvest without acquiring the lease.
func (h *Harvester) harvest(ctx context.Context, tr *session.Transcript, progress func(stage string, done, total int)) (session.Outcome, error) {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	if asksToHarvest(tr) {
		return session.Outcome{Note: "it is a request to harvest another session"}, nil
	}
	r := &harvestRun{o: &h.o, tr: tr, out: session.Outcome{Dropped: map[string]int{}}}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{{"facts", r.facts}, {"unconfirmed", r.withdrawUnconfirmed}, {"replaced", r.withdrawFallen}, {"amended", r.noteChangedValues}, {"tasks", r.noteTasksDone}, {"forget", r.markForgotten}, {"findings", r.findings}, {"patterns", r.patterns}}
	progress("harvest", 0, len(steps)+1)
	if err := r.readExternal(ctx); err != nil {
		return r.out, err
	}
	d, err := r.draft(ctx, progress)
	if err != nil {
		return r.out, err
	}
	if err := r.episode(ctx, &d); err != nil {
		return r.out, err
	}
	if !h.o.NoFacts {
		r.statements = d.Statements
	}
	for i, s := range steps {
		progress("harvest", i+1, len(steps)+1)
		if err := s.do(ctx); err != nil {
			return r.out, err
		}
	}
	progress("harvest", len(steps)+1, len(steps)+1)
	return r.out, nil
}

// draft calls the model. If there is none or it fails, it uses the rules.
func (r *harvestRun) draft(ctx context.Context, progress func(stage string, done, total int)) (draft.Draft, error) {
	if r.o.Model != nil && len(r.tr.Entries) > 1 { // a single message without an answer is not worth a model call
		d, err := r.o.Model.Draft(ctx, r.tr, progress)
		if err == nil {
			r.drop(d.Dropped)
			r.out.Model = d.Model
			if d.Summary == "" { // the model wrote no summary
				d.Summary = extract.Draft(r.tr, r.o.Rules).Summary
			}
			return d, nil
		}
		if ctx.Err() != nil {
			return d, ctx.Err()
		}
		r.out.Note = "the model could not be used: " + reason(err)
		r.o.Log.Warn("harvest without the model", "cause", err, "try", ken.Hint(err))
	}
	d := extract.Draft(r.tr, r.o.Rules)
	r.drop(d.Dropped)
	return d, nil
}

// refused reports whether an error concerns only one claim, and counts and logs it; the rest of the
// session is still stored. The log must not contain text of the session.
func (r *harvestRun) refused(what string, err error) bool {
	if !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrInvalid) {
		return false
	}
	r.out.Dropped[dropRefused]++
	r.o.Log.Warn("a claim of a session is refused", "what", what, "session", r.tr.Info.ID, "cause", reason(err))
	return true
}

func (r *harvestRun) drop(counts map[string]int) {
	for why, n := range counts {
		r.out.Dropped[why] += n
	}
}

// reason returns a short text for an error, without any text of the transcript.
func reason(err error) string {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		return strings.TrimSpace(e.Msg)
	}
	return "it failed"
}

// Store is the part of an owner's store that a harvest uses.
type Store interface {
	consolidate.Store
	// ByKey returns the claim with a key; ErrNotFound if there is none.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	// Get returns a claim by its id; ErrNotFound if there is none.
	Get(ctx context.Context, id string) (ken.Claim, error)
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ken.ClaimEvent, error)
}

// Model drafts what a session taught. If it fails, rules draft instead.
type Model interface {
	Draft(ctx context.Context, tr *session.Transcript, progress func(stage string, done, total int)) (draft.Draft, error)
}

// replacementJudge is a Model that also decides which known statements new ones replace. Without it, or
// if it fails, a small trained model decides.
type replacementJudge interface {
	// Replaced reports for each fresh statement which known ones are no longer so because of it, by
	// their indices. Nil without an error means that it does not decide.
	Replaced(ctx context.Context, known, fresh []draft.Dated) ([][]int, error)
}

// Options configures a Harvester. Store and Journal are required. Like Harvester, it is for Ken's own
// programs: another program calls Claims, or ends sessions of a middleware.Layer.
type Options struct {
	Store   Store
	Journal *session.Journal
	Model   Model // nil means rules only

	Rules       extract.Options
	NoFacts     bool          // store only the summary, findings and patterns
	Tools       finding.Tools // the tools of the agents in these sessions
	Ingest      bool          // also store tool outputs as findings
	IngestChars int           // maximum length of one output; 0 means the default

	// Tainted lists the tool calls of a session that repeat an external claim. They and their
	// results are not harvested, and claims about the whole session get at most the trust of that
	// claim. Nil means that there are none.
	Tainted func(ctx context.Context, session string) ([]ken.Taint, error)

	// AskToForget asks a person whether to forget a claim, because the user asked for that. request is what the user
	// said in the session at that time. Nil means that nobody is asked.
	AskToForget func(ctx context.Context, claim, request, session string, at time.Time) error

	// OnHarvested is called after a session was harvested, before the journal is marked. It may add
	// to the outcome's note. Its error is only logged. It may be nil.
	OnHarvested func(ctx context.Context, info session.Info, out *session.Outcome) error

	Log *slog.Logger // nil means slog.Default()
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// errPaused is the error of a harvest that Pause has stopped.
var errPaused = &ken.Error{Code: ken.CodeUnavailable, Msg: "something of the session is being erased", Try: "Harvest it again."}

// harvestLease allows one harvest at a time, and none while it is paused.
type harvestLease struct {
	token chan struct{} // full while no harvest runs

	mu     sync.Mutex              // guards the rest
	pauses int                     // number of current pauses, including those that wait for a harvest
	paused chan struct{}           // closed while pauses > 0
	stop   context.CancelCauseFunc // stops the running harvest; nil for none
}

func newLease() *harvestLease {
	t := &harvestLease{token: make(chan struct{}, 1), paused: make(chan struct{})}
	t.token <- struct{}{}
	return t
}

// run waits for its turn and runs a harvest. The harvest's context ends when somebody calls pause.
// run does not wait for the end of a pause: the process that erases may itself be waiting, in
// another process, until no harvest runs here.
func (t *harvestLease) run(ctx context.Context, harvest func(context.Context) error) error {
	t.mu.Lock()
	paused := t.paused
	t.mu.Unlock()
	select {
	case <-t.token:
	case <-paused:
		return errPaused
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.token <- struct{}{} }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if !t.begin(stop) {
		return errPaused
	}
	defer t.end()
	err := harvest(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errPaused) {
		return errPaused
	}
	return err
}

func (t *harvestLease) begin(stop context.CancelCauseFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = stop
	return t.pauses == 0
}

func (t *harvestLease) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = nil
}

// pause stops the running harvest, waits until it has ended, and prevents new ones until release is
// called.
func (t *harvestLease) pause(ctx context.Context) (release func(), err error) {
	t.mu.Lock()
	if t.pauses++; t.pauses == 1 {
		close(t.paused)
	}
	if t.stop != nil {
		t.stop(errPaused)
	}
	t.mu.Unlock()
	over := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pauses--; t.pauses == 0 {
			t.paused = make(chan struct{})
		}
	}
	select {
	case <-t.token:
	case <-ctx.Done():
		over()
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() {
		over()
		t.token <- struct{}{}
	}), nil
}

// Harvester is the part of a middleware.Layer that harvests one owner's sessions, one after another:
// two concurrent harvests would each miss what the other one writes. It is safe for concurrent use.
type Harvester struct {
	o              Options
	lease          *harvestLease
	statementLease *harvestLease // for HarvestStatements
}

// New returns a harvester.
func New(o Options) *Harvester {
	return &Harvester{o: o.withDefaults(), lease: newLease(), statementLease: newLease()}
}

// Handle runs a job of kind session.JobHarvest; it is a jobs.Handler. It writes nothing for a
// session that is already harvested as far as the job asks, or whose journal was deleted. An error
// that would occur again (an unreadable journal, claims that the store refuses) is permanent.
func (h *Harvester) Handle(ctx context.Context, j jobs.Job, progress func(stage string, done, total int)) (note string, err error) {
	var p session.HarvestJob
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return "", jobs.Permanent(fmt.Errorf("read job: %w", err))
	}
	err = h.lease.run(ctx, func(ctx context.Context) error {
		tr, err := h.o.Journal.Read(ctx, p.Session)
		switch {
		case errors.Is(err, ken.ErrNotFound):
			note = "the journal is gone"
			return nil
		case err != nil:
			return err
		case tr.Info.Part != p.Part || tr.Info.State == session.Harvested:
			note = "harvested already"
			return nil
		}
		out, err := h.complete(ctx, &tr, p.Upto, progress)
		note = out.Describe()
		return err
	})
	switch {
	case errors.Is(err, errPaused):
		return "", jobs.Later(err)
	case errors.Is(err, ken.ErrCorrupt), errors.Is(err, ken.ErrInvalid):
		return "", jobs.Permanent(err)
	case err != nil:
		return "", err
	}
	return note, nil
}

// Reharvest harvests a session whose messages still exist, even if it was harvested before. Known
// claims stay unchanged. It returns ErrNotFound if the messages were deleted.
func (h *Harvester) Reharvest(ctx context.Context, id string, progress func(stage string, done, total int)) (out session.Outcome, err error) {
	err = h.lease.run(ctx, func(ctx context.Context) error {
		tr, err := h.o.Journal.Read(ctx, id)
		if err != nil {
			return err
		}
		if len(tr.Entries) == 0 {
			return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "the messages of " + id + " are gone",
				Try: "Raise journal_grace_days in lifecycle.yaml to keep them longer."}
		}
		out, err = h.complete(ctx, &tr, 0, progress)
		return err
	})
	return out, err
}

// Pause prevents harvests until release is called. A running harvest stops between two steps; its
// job is retried. Callers that erase text need this, because a harvest that has read the text would
// write it again. release may be called more than once.
func (h *Harvester) Pause(ctx context.Context) (release func(), err error) {
	end, err := h.lease.pause(ctx)
	if err != nil {
		return nil, err
	}
	endEarly, err := h.statementLease.pause(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return func() { endEarly(); end() }, nil
}

// complete harvests a transcript and marks the session. upto is the last entry of the journal when
// the harvest was requested.
func (h *Harvester) complete(ctx context.Context, tr *session.Transcript, upto uint64, progress func(stage string, done, total int)) (session.Outcome, error) {
	out, err := h.harvest(ctx, tr, progress)
	if err != nil {
		return out, err
	}
	if n := len(tr.Entries); n > 0 {
		upto = tr.Entries[n-1].Seq
	}
	if h.o.OnHarvested != nil {
		if err := h.o.OnHarvested(ctx, tr.Info, &out); err != nil {
			h.o.Log.Warn("run the hook of a finished harvest", "cause", err, "try", ken.Hint(err))
		}
	}
	return out, h.o.Journal.Harvested(ctx, tr.Info.ID, upto, out)
}
