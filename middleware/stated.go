package middleware

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/run/session"
)

// statements learns what users state as soon as their messages are journaled, so that the
// next conversation knows it. The zero value learns nothing.
type statements struct {
	waiting chan stated // nil when it is switched off
}

// stated are the messages of a session from a number on, some of a user among them.
type stated struct {
	owner, session string
	from           uint64
}

// maxStated bounds what waits to be learned. The harvest learns what comes on top.
const maxStated = 1024

// statedWindow is the number of messages that are read, so that a statement is understood
// that refers to an earlier one.
const statedWindow = 12

// openStated prepares to learn what users state.
func (l *Layer) openStated() {
	if l.cfg.Middleware.Knowledge && l.cfg.Middleware.Harvest && l.cfg.Harvest.AtOnce {
		l.statements.waiting = make(chan stated, maxStated)
	}
}

// tookUp notes that a session's journal has new messages. It never waits.
func (s *statements) tookUp(owner, id string, entries []session.Entry) {
	if s.waiting == nil || !slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Message.Role == "user" }) {
		return
	}
	select {
	case s.waiting <- stated{owner, id, entries[0].Seq}:
	default:
	}
}

// keepStated learns what users state until ctx ends.
func (l *Layer) keepStated(ctx context.Context) {
	for {
		select {
		case st := <-l.statements.waiting:
			if err := caught.Run(func() error { return l.learnStated(ctx, st) }); err != nil && ctx.Err() == nil {
				l.o.Log.Debug("learn what a user stated; the harvest will", "session", st.session, "cause", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// learnStated learns from the newest messages of a session.
func (l *Layer) learnStated(ctx context.Context, st stated) error {
	j := l.Journal(st.owner)
	tr, err := j.Tail(ctx, st.session, statedWindow)
	if err != nil || tr.Info.State != session.Open { // else the harvest is at it
		return err
	}
	quotes, err := l.desk(st.owner).harvester.Stated(ctx, &tr, st.from)
	if len(quotes) > 0 {
		err = l.withdrawForgotten(ctx, st, &tr, quotes)
	}
	return err
}

// withdrawForgotten forgets what was just learned from messages that are gone from the
// journal by now: another process erased what they said, and may have looked for claims
// that say it before these were written.
func (l *Layer) withdrawForgotten(ctx context.Context, st stated, read *session.Transcript, quotes map[string]string) error {
	now, err := l.Journal(st.owner).Tail(ctx, st.session, 2*statedWindow)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	gone := func(quote string) bool {
		for i := range read.Entries {
			e := &read.Entries[i]
			if e.Seq >= st.from && strings.Contains(e.Message.Text, quote) &&
				slices.ContainsFunc(now.Entries, func(n session.Entry) bool { return n.Seq == e.Seq }) {
				return false
			}
		}
		return true
	}
	for id, quote := range quotes {
		if !gone(quote) {
			continue
		}
		if _, err := l.Forget(ctx, st.owner, id, "what it rests on was forgotten", ken.Actor{Type: "system", ID: "harvest"}); err != nil && !errors.Is(err, ken.ErrNotFound) {
			return err
		}
	}
	return nil
}

// saidHere reports whether a claim rests on messages alone, and the turn's conversation
// holds the words that it was learned from, so that the block need not repeat them. What a
// person or a test has confirmed is news to the conversation that said it.
func saidHere(t *ken.Turn, c *ken.Claim) bool {
	here := false
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Kind != ken.EvidenceMessage {
			return false
		}
		if e.SessionID != t.Session {
			continue
		}
		here = e.Detail != "" && slices.ContainsFunc(t.Messages, func(m ken.Message) bool { return m.Role == "user" && strings.Contains(m.Text, e.Detail) })
		if !here {
			return false
		}
	}
	return here
}
