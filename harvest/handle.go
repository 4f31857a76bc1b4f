package harvest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// Harvester harvests one owner's sessions, one after another: two at once would
// each miss what the other is about to write. Safe for concurrent use.
type Harvester struct {
	o     Options
	turn  *turn
	early *turn // of Stated
}

// New returns a harvester.
func New(o Options) *Harvester {
	return &Harvester{o: o.withDefaults(), turn: newTurn(), early: newTurn()}
}

// Handle runs a job of kind session.JobHarvest; it is a jobs.Handler. A session
// that was harvested as far as the job asks for, or whose journal is gone, is
// done without anything being written. What another attempt would meet again (a
// journal that can't be read, claims that no store takes) is a permanent error.
func (h *Harvester) Handle(ctx context.Context, j jobs.Job, progress func(stage string, done, total int)) (note string, err error) {
	var p session.HarvestJob
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return "", jobs.Permanent(fmt.Errorf("read job: %w", err))
	}
	err = h.turn.take(ctx, func(ctx context.Context) error {
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
		note = Describe(&out)
		return err
	})
	switch {
	case errors.Is(err, errHeld):
		return "", jobs.Later(err)
	case errors.Is(err, ken.ErrCorrupt), errors.Is(err, ken.ErrInvalid):
		return "", jobs.Permanent(err)
	case err != nil:
		return "", err
	}
	return note, nil
}

// Again harvests a session whose messages are still there, whether it was
// harvested before or not. What is known of it already changes nothing. Errors:
// ErrNotFound when the messages are gone.
func (h *Harvester) Again(ctx context.Context, id string, progress Progress) (out session.Outcome, err error) {
	err = h.turn.take(ctx, func(ctx context.Context) error {
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

// Hold keeps harvests from running until release is called, and makes one that is
// under way stop between two steps; its job is tried again. Whoever erases what
// was said needs this: a harvest that has read it would write it anew. release
// may be called more than once.
func (h *Harvester) Hold(ctx context.Context) (release func(), err error) {
	end, err := h.turn.hold(ctx)
	if err != nil {
		return nil, err
	}
	endEarly, err := h.early.hold(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return func() { endEarly(); end() }, nil
}

// complete harvests a transcript and marks the session. upto is how far the
// journal went when the harvest was asked for.
func (h *Harvester) complete(ctx context.Context, tr *session.Transcript, upto uint64, progress Progress) (session.Outcome, error) {
	out, err := h.harvest(ctx, tr, progress)
	if err != nil {
		return out, err
	}
	if n := len(tr.Entries); n > 0 {
		upto = tr.Entries[n-1].Seq
	}
	if h.o.Wrote != nil {
		if err := h.o.Wrote(ctx, tr.Info, out); err != nil {
			h.o.Log.Warn("tell of a harvest", "cause", err, "try", ken.Hint(err))
		}
	}
	return out, h.o.Journal.Harvested(ctx, tr.Info.ID, upto, out)
}
