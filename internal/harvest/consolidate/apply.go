package consolidate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Store is where claims are consolidated.
type Store interface {
	ken.Store
	// Reinforce records that a claim was seen again, with the evidence for it.
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
}

// Superseder is a store that keeps the reason of a supersession in its log. Of a
// store that is none, the reason is known to Result alone.
type Superseder interface {
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

// Result is what came of one claim. The lists hold ids.
type Result struct {
	Action     Action
	ID         string // of the new claim; when nothing was written, of the known one that stands for it
	Learned    bool   // the claim was not in the store before
	Reinforced []string
	Superseded []string
	Disputed   []string // the new claim among them
	Dropped    string   // why it was skipped: Known, Rejected, Weaker or Outdated
}

// Record adds the result to a session's outcome.
func (r Result) Record(o *session.Outcome) {
	add := func(list *[]string, ids ...string) {
		for _, id := range ids {
			if !slices.Contains(*list, id) {
				*list = append(*list, id)
			}
		}
	}
	if r.Learned {
		add(&o.Learned, r.ID)
	}
	add(&o.Reinforced, r.Reinforced...)
	add(&o.Superseded, r.Superseded...)
	add(&o.Disputed, r.Disputed...)
	if r.Dropped != "" {
		if o.Dropped == nil {
			o.Dropped = map[string]int{}
		}
		o.Dropped[r.Dropped]++
	}
}

// Learn consolidates c with what the store knows: Similar, then Apply. Calls for
// claims that may be about the same must not run at once: each would find the
// other missing, and both would be written.
func Learn(ctx context.Context, st Store, c ken.Claim) (Result, error) {
	known, err := Similar(ctx, st, c)
	if err != nil {
		return Result{}, err
	}
	return Apply(ctx, st, c, known)
}

// Apply plans what is to become of c and carries it out. It writes the new claim
// before it touches an old one, so that being killed between any two steps loses
// nothing, and running it again, with what is known then, comes to the same end. c
// needs a Key for that. An error may leave some steps undone; the same holds.
// When somebody moved a known claim since it was looked up, the store refuses the
// step with ErrRefused: look it up and apply again.
func Apply(ctx context.Context, st Store, c ken.Claim, known []ken.Claim) (Result, error) {
	a := Plan(c, known)
	if a.Own != "" && a.Do != Skip && !a.Revise {
		var err error
		if a, err = unfinished(ctx, st, a); err != nil {
			return Result{Action: a, ID: a.Own}, err
		}
	}
	r := Result{Action: a, ID: a.Own}
	switch a.Do {
	case Skip:
		r.Dropped = a.Reason
		if r.ID == "" && len(a.IDs) > 0 {
			r.ID = a.IDs[0]
		}
		return r, nil
	case Reinforce:
		if err := st.Reinforce(ctx, a.IDs[0], a.Evidence, c.Actor); err != nil {
			return r, fmt.Errorf("reinforce claim %s: %w", a.IDs[0], err)
		}
		r.ID, r.Reinforced = a.IDs[0], a.IDs
		return r, nil
	}
	if a.Own == "" || a.Revise {
		id, err := st.WriteClaim(ctx, c)
		if err != nil {
			return r, fmt.Errorf("write claim: %w", err)
		}
		r.ID, r.Learned = id, a.Own == ""
	}
	switch a.Do {
	case Supersede:
		for _, old := range a.IDs {
			if err := supersede(ctx, st, old, r.ID, a.Reason, c.Actor); err != nil {
				return r, fmt.Errorf("supersede claim %s: %w", old, err)
			}
			r.Superseded = append(r.Superseded, old)
		}
	case Dispute:
		return dispute(ctx, st, c, r)
	}
	return r, nil
}

// unfinished leaves of an action for a claim that is in the store already what the
// run that wrote it can have meant to do: steps against claims that were there
// before it. What was learned after it was weighed against it then.
func unfinished(ctx context.Context, st Store, a Action) (Action, error) {
	own, err := born(ctx, st, a.Own)
	if err != nil {
		return a, err
	}
	for _, list := range []*[]string{&a.IDs, &a.Against} {
		var older []string
		for _, id := range *list {
			seq, err := born(ctx, st, id)
			if err != nil {
				return a, err
			}
			if seq <= own {
				older = append(older, id)
			}
		}
		*list = older
	}
	if len(a.IDs)+len(a.Against) == 0 {
		return Action{Do: Skip, Reason: Known, Own: a.Own}, nil
	}
	return a, nil
}

// born is where in the log a claim begins; 0 in a store that keeps no numbers.
func born(ctx context.Context, st Store, id string) (uint64, error) {
	events, err := st.History(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read history of claim %s: %w", id, err)
	}
	if len(events) == 0 {
		return 0, nil
	}
	return events[0].Seq, nil
}

func supersede(ctx context.Context, st Store, oldID, newID, reason string, actor ken.Actor) error {
	if s, ok := st.(Superseder); ok {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	}
	return st.Supersede(ctx, oldID, newID)
}

// dispute disputes the new claim first. Its reason names the others, so that a
// later run knows this dispute from a person's rejection of the claim.
func dispute(ctx context.Context, st Store, c ken.Claim, r Result) (Result, error) {
	a := r.Action
	if a.Resume {
		begun, err := disputeOf(ctx, st, a)
		if err != nil {
			return r, err
		}
		if len(begun) == 0 {
			r.Dropped = Known
			return r, nil
		}
		a.IDs = begun
	} else {
		reason := a.Reason
		if len(a.IDs) > 0 {
			reason = string(Contradicts) + " " + strings.Join(a.IDs, ", ") + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": ")
		}
		if err := st.Transition(ctx, ken.Transition{ID: r.ID, To: ken.StatusDisputed, Reason: reason, Actor: c.Actor}); err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", r.ID, err)
		}
		r.Disputed = append(r.Disputed, r.ID)
	}
	for _, id := range a.IDs {
		err := st.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "contradicted by " + r.ID + ": " + strings.TrimPrefix(a.Reason, string(Contradicts)+": "), Actor: c.Actor})
		if err != nil {
			return r, fmt.Errorf("dispute claim %s: %w", id, err)
		}
		r.Disputed = append(r.Disputed, id)
	}
	return r, nil
}

// disputeOf returns those of the action's claims that the new claim's own dispute
// names.
func disputeOf(ctx context.Context, st Store, a Action) ([]string, error) {
	events, err := st.History(ctx, a.Own)
	if err != nil {
		return nil, fmt.Errorf("read history of claim %s: %w", a.Own, err)
	}
	reason := ""
	for _, e := range events {
		if e.Type == ken.EventTransitioned && e.To == ken.StatusDisputed {
			reason = e.Reason
		}
	}
	var begun []string
	for _, id := range a.IDs {
		if disputes(reason, id) {
			begun = append(begun, id)
		}
	}
	return begun, nil
}
