package api

import (
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Transcript is a page of what was said in a session.
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

// ToolCall is a call that an assistant message asked for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments" jsonschema:"JSON as the model wrote it"`
}

// Injected names a piece of knowledge that was put before the model.
type Injected struct {
	ID   string    `json:"id"`
	Kind ken.Kind  `json:"kind"`
	At   time.Time `json:"at" jsonschema:"when it was first"`
}

func (a *API) getMessages(c *call) (*reply, error) {
	tr, err := a.l.Journal(c.who.Owner).Read(c.ctx(), c.path["session"])
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) {
		err = noSession()
	}
	if err != nil {
		return nil, err
	}
	out := Transcript{ID: tr.Info.ID, Injected: make([]Injected, len(tr.Injected)), Checkpoint: tr.Checkpoint}
	for i, in := range tr.Injected {
		out.Injected[i] = Injected{in.ID, in.Kind, in.At}
	}
	shown, next, err := page(c, tr.Entries, func(e *session.Entry) place { return place{at: -int64(e.Seq)} })
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
