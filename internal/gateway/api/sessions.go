package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// SessionList is a page of sessions, the last begun first.
type SessionList struct {
	Sessions []session.Info `json:"sessions"`
	Next     string         `json:"next,omitempty"`
	Warnings []string       `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// SessionView is a session with the current state of the claims that its harvest wrote. For its
// messages see Transcript.
type SessionView struct {
	session.Info
	Claims []inspect.Claim `json:"claims"`
}

// HarvestAnswer is the outcome of a harvest.
type HarvestAnswer struct {
	Outcome session.Outcome `json:"outcome"`
}

// ForgottenSession names the session that was deleted.
type ForgottenSession struct {
	Forgotten []string `json:"forgotten"`
}

func sessionRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/sessions", id: "listSessions", tag: "sessions", right: access.Operate,
		summary: "List sessions", about: "List sessions, the last begun first, with what came of them.", params: []*param{pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[SessionList](), serve: (*API).listSessions,
	}, {
		method: http.MethodGet, path: "/api/sessions/{session}", id: "getSession", tag: "sessions", right: access.Read,
		summary: "Read a session", about: "Read when a session was, why it ended, and every claim that came of it as it stands now. Nothing that was said in it.",
		status: http.StatusOK, answer: reflect.TypeFor[SessionView](), fails: []problemCode{codeNotFound}, serve: (*API).getSession,
	}, {
		method: http.MethodGet, path: "/api/sessions/{session}/messages", id: "getMessages", tag: "sessions", right: access.Operate,
		summary: "Read what was said in a session",
		about:   "Read the messages of a session as its journal has them, oldest first: without reasoning and secrets, for some days after its harvest.",
		params:  []*param{pLimit, pCursor},
		status:  http.StatusOK, answer: reflect.TypeFor[Transcript](), fails: []problemCode{codeNotFound}, serve: (*API).getMessages,
	}, {
		method: http.MethodPost, path: "/api/sessions/{session}/end", id: "endSession", tag: "sessions", right: access.Write,
		summary: "End a session", about: "End a session that is open, and let the background harvest it. One that is over already stays as it is.",
		status: http.StatusOK, answer: reflect.TypeFor[session.Info](), fails: []problemCode{codeNotFound}, serve: (*API).endSession,
	}, {
		method: http.MethodPost, path: "/api/sessions/{session}/harvest", id: "harvestSession", tag: "sessions", right: access.Operate,
		summary: "Harvest a session once more", about: "Harvest a session once more while its messages are there, and wait for it. What is known of it already changes nothing.",
		status: http.StatusOK, answer: reflect.TypeFor[HarvestAnswer](), fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).harvestSession,
	}, {
		method: http.MethodDelete, path: "/api/sessions/{session}", id: "forgetSession", tag: "sessions", right: access.Operate,
		summary: "Delete a session's messages",
		about: "Delete what the journal holds of a session, also on the disk, without harvesting it. Claims that came of it stay; " +
			"forgetLearned erases those. It can't be undone.",
		status: http.StatusOK, answer: reflect.TypeFor[ForgottenSession](), fails: []problemCode{codeNotFound}, serve: (*API).forgetSession,
	}, {
		method: http.MethodDelete, path: "/api/sessions/{session}/claims", id: "forgetLearned", tag: "sessions", right: access.Operate,
		summary: "Erase everything that a session taught",
		about: "Erase a session's messages and the claims that only it taught, with what was derived from them and what repeats them, as forget does. " +
			"Claims that another session or a person supports, too, are kept and named. The session may be long over, and its messages deleted. " +
			"What is left is a note of when, by whom and why. It can't be undone.",
		params: []*param{pReason}, status: http.StatusOK, answer: reflect.TypeFor[middleware.Forgotten](), fails: []problemCode{codeNotFound},
		serve: (*API).forgetLearned,
	}}
}

func (a *API) listSessions(c *call) (*reply, error) {
	all, err := a.l.Operator().Journal(c.who.Owner).List(c.ctx())
	out := SessionList{}
	if out.Warnings, err = warningsOf(err); err != nil {
		return nil, err
	}
	out.Sessions, out.Next, err = page(c, all, func(s *session.Info) position { return position{at: s.Started.UnixNano(), id: s.ID} })
	return &reply{body: out, next: out.Next}, err
}

// session finds a session by its complete id, after all its messages are in the journal.
func (a *API) session(c *call) (session.Info, error) {
	if err := a.l.Operator().Recorded(c.ctx()); err != nil {
		return session.Info{}, err
	}
	info, err := a.l.Operator().Journal(c.who.Owner).Info(c.ctx(), c.path["session"])
	return info, sessionError(err)
}

// sessionError returns the error for an id that no session has in place of the journal's.
func sessionError(err error) error {
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) {
		return &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "no such session", Try: "List them with GET /api/sessions."}
	}
	return err
}

func (a *API) getSession(c *call) (*reply, error) {
	info, err := a.session(c)
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		claims, err := a.l.Operator().SessionClaims(c.ctx(), s, &info)
		return &reply{body: SessionView{Info: info, Claims: claims}}, err
	})
}

func (a *API) endSession(c *call) (*reply, error) {
	info, err := a.session(c)
	if err != nil {
		return nil, err
	}
	if err := a.l.End(c.ctx(), c.who.Owner, info.ID); err != nil {
		return nil, err
	}
	info, err = a.session(c)
	return &reply{body: info}, err
}

func (a *API) harvestSession(c *call) (*reply, error) {
	info, err := a.session(c)
	if err != nil {
		return nil, err
	}
	out, err := a.l.Operator().HarvestAgain(c.ctx(), c.who.Owner, info.ID)
	return &reply{body: HarvestAnswer{out}}, err
}

func (a *API) forgetSession(c *call) (*reply, error) {
	info, err := a.session(c)
	if err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(c.ctx()) // don't stop halfway
	return c.withStore(func(s store.Engine) (*reply, error) {
		if err := a.l.Operator().ForgetSession(ctx, c.who.Owner, info.ID); err != nil {
			return nil, err
		}
		if err := s.Compact(ctx); err != nil { // the freed pages still contain the text
			return nil, fmt.Errorf("clear the disk of a session: %w", err)
		}
		return &reply{body: ForgottenSession{[]string{info.ID}}}, nil
	})
}

func (a *API) forgetLearned(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		gone, err := c.desk(s).ForgetLearned(c.ctx(), c.path["session"], c.text(pReason))
		if err != nil {
			return nil, sessionError(err)
		}
		return &reply{body: gone}, nil
	})
}

// Transcript is a page of a session's messages.
type Transcript struct {
	ID         string              `json:"id"`
	Messages   []Message           `json:"messages"`
	Next       string              `json:"next,omitempty"`
	Injected   []Injected          `json:"injected" jsonschema:"what the layer put before the model in the session"`
	Checkpoint *session.Checkpoint `json:"checkpoint,omitempty" jsonschema:"where the session stands"`
}

// Message is one message of a journal.
type Message struct {
	Seq        uint64            `json:"seq"`
	At         time.Time         `json:"at"`
	Role       string            `json:"role"`
	Name       string            `json:"name,omitempty"`
	Text       string            `json:"text"`
	Cut        int               `json:"cut,omitempty" jsonschema:"bytes left out of the text"`
	ToolCalls  []ToolCall        `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty" jsonschema:"the call that a tool message answers"`
	Files      map[string]string `json:"files,omitempty" jsonschema:"hashes of the files that it is about, by path"`
}

// ToolCall is a call in an assistant message.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments" jsonschema:"JSON as the model wrote it"`
}

// Injected names an item that was injected into the session.
type Injected struct {
	ID   string    `json:"id"`
	Kind ken.Kind  `json:"kind"`
	At   time.Time `json:"at" jsonschema:"when it was first"`
}

func (a *API) getMessages(c *call) (*reply, error) {
	if err := a.l.Operator().Recorded(c.ctx()); err != nil {
		return nil, err
	}
	tr, err := a.l.Operator().Journal(c.who.Owner).Read(c.ctx(), c.path["session"])
	if err != nil {
		return nil, sessionError(err)
	}
	out := Transcript{ID: tr.Info.ID, Injected: make([]Injected, len(tr.Injected)), Checkpoint: tr.Checkpoint}
	for i, in := range tr.Injected {
		out.Injected[i] = Injected{in.ID, in.Kind, in.At}
	}
	shown, next, err := page(c, tr.Entries, func(e *session.Entry) position { return position{at: -int64(e.Seq)} })
	if err != nil {
		return nil, err
	}
	out.Next, out.Messages = next, make([]Message, len(shown))
	for i := range shown {
		out.Messages[i] = messageOf(&shown[i])
	}
	return &reply{body: out, next: next}, nil
}

func messageOf(e *session.Entry) Message {
	m := Message{Seq: e.Seq, At: e.At, Role: e.Message.Role, Name: e.Message.Name, Text: e.Message.Text, Cut: e.Cut,
		ToolCallID: e.Message.ToolCallID, Files: e.Files}
	for _, t := range e.Message.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{t.ID, t.Name, t.Arguments})
	}
	return m
}
