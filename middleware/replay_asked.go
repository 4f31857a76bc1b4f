package middleware

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
)

// TurnAsked returns one of the owner's turns as it was asked, "" for the configured
// owner, to be tried again: the messages as its session's journal holds them, up to and
// including the user's message that it answered, and what its receipt says of project,
// agent, model and branch. The scopes are those that the session had last; the weight
// was kept nowhere, and is the default.
//
// A journal has no system prompt and no reasoning, cuts long messages, and has what a
// client dropped from the conversation before it asked. Of messages that went before
// the turn's, such as the forgotten ones, it knows nothing.
//
// Errors: ErrNotFound for a turn without a receipt or a session, and for one whose
// messages are gone.
func (l *Layer) TurnAsked(ctx context.Context, owner, turn string) (ken.Turn, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return ken.Turn{}, err
	}
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return ken.Turn{}, err
	}
	if rec.Session == "" {
		return ken.Turn{}, &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "the turn had no session, so nobody kept its messages",
			Try: "Name the session in requests, and journal it: see middleware.journal."}
	}
	tr, err := l.Journal(owner).Read(ctx, rec.Session)
	if errors.Is(err, ken.ErrNotFound) {
		return ken.Turn{}, unasked()
	}
	if err != nil {
		return ken.Turn{}, err
	}
	last, ok := askedIn(tr.Entries, &rec)
	if !ok {
		return ken.Turn{}, unasked()
	}
	t := ken.Turn{ID: rec.Turn, Owner: l.owned(owner), Session: rec.Session, Project: rec.Project, Agent: rec.Agent, Model: rec.Model,
		Branch: rec.Branch, Scopes: tr.Info.Scopes, Messages: make([]ken.Message, last+1)}
	for i := range t.Messages {
		t.Messages[i] = tr.Entries[i].Message
	}
	return t, nil
}

func unasked() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "the messages of that turn are gone, or were never kept",
		Try: "Take a newer turn: messages go some time after their session was harvested, and with what was forgotten."}
}

// askedIn finds the user's message that a turn answered; false when it is gone.
func askedIn(entries []session.Entry, rec *receipt.Record) (at int, ok bool) {
	if rec.Through == 0 {
		return askedBy(entries, rec)
	}
	want := rec.Through // numbers have no gaps but where messages went
	for i := len(entries) - 1; i >= 0; i-- {
		switch e := &entries[i]; {
		case e.Seq > want:
		case e.Seq < want:
			return 0, false
		case e.Message.Role == "user":
			return i, true
		default:
			want--
		}
	}
	return 0, false
}

// askedBy is askedIn for a receipt that does not say how far the journal was: the user's
// last message when the turn was recorded, which was a moment after it was assembled.
func askedBy(entries []session.Entry, rec *receipt.Record) (at int, ok bool) {
	for i := len(entries) - 1; i >= 0; i-- {
		if e := &entries[i]; e.Message.Role == "user" && !e.At.After(rec.At.Add(recordedWithin)) {
			return i, true
		}
	}
	return 0, false
}
