package consoletest

import (
	"context"
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

var (
	ana   = ken.Actor{Type: "user", ID: "ana"}
	tidy  = ken.Actor{Type: "system", ID: "lifecycle"}
	build = ken.Actor{Type: "agent", ID: builder}
)

// changes is what became of claims after they were written, and what an operator is asked
// to look at.
func (f *furnisher) changes() []step {
	steps := []step{
		f.supersede(80*day-time.Hour, retryFive, retryFour, "the outage of 12 March"),
		f.supersede(60*day-time.Hour, retryFour, retryThree, "ADR-0005"),
		f.supersede(16*day-time.Hour, timeoutSure, timeoutMaybe, "newer"),
		f.move(39*day, verified, ken.StatusVerified, "two checks agree", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-39*day), "went through the entries by hand")),
		f.move(37*day, disputed, ken.StatusVerified, "measured for a week", ana, ken.FromHumanAssertion("ana", f.o.Now.Add(-37*day), "watched the dashboard")),
		f.move(6*day, disputed, ken.StatusDisputed, "it took eleven seconds on Monday", build, ken.FromToolResult("call_curl_2", "time_total 11.2")),
		{30*day - time.Hour, "contradict", f.contradict},
		f.move(11*day, demoted, ken.StatusHypothesis, ken.ReasonLapsed, tidy),
		{58 * day, "edit " + staleFile, func(context.Context) error { return f.edit(staleFile, "10 * time.Second", "12 * time.Second") }},
		{5*day + time.Hour, "refuse a write", f.refuse},
		f.mark(2*day, attention.ForgetRequested, forgettable, "Ana asked me to forget her extension."),
		f.mark(2*day-time.Hour, attention.DisputeRequested, hotDeploys, "Tom deployed at four today and nobody minded."),
	}
	for i, name := range []string{verified, "finding"} {
		steps = append(steps, f.change(time.Duration(9-i)*day-2*time.Hour, "reinforce "+name, func(ctx context.Context, s store.Engine) error {
			id, err := f.claim(name)
			if err != nil {
				return err
			}
			return s.Reinforce(ctx, id, []ken.Evidence{ken.FromMessage("s-incident", "m7", "seen again")}, build)
		}))
	}
	return steps
}

func (f *furnisher) supersede(ago time.Duration, old, by, reason string) step {
	return f.change(ago, "supersede "+old, func(ctx context.Context, s store.Engine) error {
		was, err := f.claim(old)
		now, err2 := f.claim(by)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		return s.SupersedeFor(ctx, was, now, reason, ana)
	})
}

func (f *furnisher) move(ago time.Duration, name string, to ken.Status, reason string, actor ken.Actor, evidence ...ken.Evidence) step {
	return f.change(ago, string(to)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		return s.Transition(ctx, ken.Transition{ID: id, To: to, Reason: reason, Actor: actor, Evidence: evidence})
	})
}

// contradict has each of two claims speak against the other, as a harvest does that finds
// what it can't decide.
func (f *furnisher) contradict(ctx context.Context) error {
	return f.store(ctx, "", func(s store.Engine) error {
		for _, pair := range [][2]string{{mailInline, mailQueued}, {mailQueued, mailInline}} {
			id, err := f.claim(pair[0])
			other, err2 := f.claim(pair[1])
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			err = s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: attention.ContradictionReason(other, "queued, or not?"),
				Actor: ken.Actor{Type: "system", ID: "harvest"}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// refuse is an agent's attempt to write what nothing backs.
func (f *furnisher) refuse(ctx context.Context) error {
	h := f.layer.Handle(ken.Turn{Session: "s-incident", Project: "payments", Agent: builder})
	if _, err := h.Learn(ctx, "The bank is always right.", nil); !errors.Is(err, ken.ErrInvalid) {
		return errors.Join(errors.New("a claim without evidence was written"), err)
	}
	return nil
}

func (f *furnisher) mark(ago time.Duration, e attention.Event, name, reason string) step {
	return f.change(ago, string(e)+" "+name, func(ctx context.Context, s store.Engine) error {
		id, err := f.claim(name)
		if err != nil {
			return err
		}
		_, err = attention.PutMark(ctx, s.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: "s-incident", Actor: build, At: f.clock.Now()})
		return err
	})
}
