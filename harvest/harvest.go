package harvest

import (
	"context"
	"errors"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// run is one harvest under way.
type run struct {
	o          *Options
	tr         *session.Transcript
	statements []draft.Statement
	out        session.Outcome
	tainted    bool // some of its calls repeat what an external claim said
}

// Harvest writes what a transcript teaches and returns what came of it, what an
// earlier run wrote of it included. It does not mark the session. An error means
// that the harvest is not complete; running it again completes it.
func (h *Harvester) Harvest(ctx context.Context, tr *session.Transcript, progress Progress) (out session.Outcome, err error) {
	err = h.turn.take(ctx, func(ctx context.Context) error {
		out, err = h.harvest(ctx, tr, progress)
		return err
	})
	return out, err
}

// harvest is Harvest for who has the turn.
func (h *Harvester) harvest(ctx context.Context, tr *session.Transcript, progress Progress) (session.Outcome, error) {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	r := &run{o: &h.o, tr: tr, out: session.Outcome{Dropped: map[string]int{}}}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{{"facts", r.facts}, {"findings", r.findings}, {"patterns", r.patterns}}
	progress("harvest", 0, len(steps)+1)
	if err := r.leaveOut(ctx); err != nil {
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

// draft asks the model, and the rules where there is none or it failed.
func (r *run) draft(ctx context.Context, progress Progress) (draft.Draft, error) {
	if r.o.Model != nil && len(r.tr.Entries) > 0 {
		d, err := r.o.Model.Draft(ctx, r.tr, progress)
		if err == nil {
			r.drop(d.Dropped)
			r.out.Model = d.Model
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

// refused reports an error that says of one claim that it can't be kept: it is
// counted and told, and the rest of the session is kept. Which of the session's
// words it was must not get into a log.
func (r *run) refused(what string, err error) bool {
	if !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrInvalid) {
		return false
	}
	r.out.Dropped[dropRefused]++
	r.o.Log.Warn("a claim of a session is refused", "what", what, "session", r.tr.Info.ID, "cause", reason(err))
	return true
}

func (r *run) drop(counts map[string]int) {
	for why, n := range counts {
		r.out.Dropped[why] += n
	}
}

// reason is an error in a few words: what a transcript says must not get into an
// outcome by way of an error.
func reason(err error) string {
	var e *ken.Error
	if errors.As(err, &e) {
		return strings.TrimSpace(e.Msg)
	}
	return "it failed"
}
