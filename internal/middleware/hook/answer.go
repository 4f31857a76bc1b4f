// Package hook answers the hooks of agents: programs that an agent runs when its user sends a
// message, when a tool has answered, and when the conversation is compacted or ends. The answer to
// a user's message is the block for it. The other events are written to the session's journal.
// Hooks work with any login, because they are not between the agent and its model.
package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/middleware"
)

// Cursor is the agent whose hooks can't add to a user's message. They can only add something when a
// conversation starts.
const Cursor = "cursor"

// Answer handles an event and returns what the agent's hook must print; nil for nothing. An empty
// owner means the configured one.
func Answer(ctx context.Context, l *middleware.Layer, owner string, e *Event) ([]byte, error) {
	h := &hook{layer: l, owner: owner, event: e}
	switch e.moment() {
	case started:
		return h.start(ctx)
	case asked:
		return h.prompt(ctx)
	case used:
		return nil, h.add(ctx, e.messages(ctx)...)
	case answered:
		return nil, h.answered(ctx)
	case compacted, ended:
		return nil, l.End(ctx, owner, e.Session)
	}
	return nil, nil
}

// Pack combines an agent's name and an event into one body, for Unpack in another process.
func Pack(agent string, body []byte) []byte { return slices.Concat([]byte(agent), []byte{'\n'}, body) }

// Unpack handles a body from Pack; see middleware.Options.OnEvent.
func Unpack(ctx context.Context, l *middleware.Layer, owner string, body []byte) ([]byte, error) {
	agent, body, _ := bytes.Cut(body, []byte{'\n'})
	e, err := Parse(string(agent), body)
	if err != nil {
		return nil, err
	}
	return Answer(ctx, l, owner, e)
}

// hook is one event with the layer that handles it.
type hook struct {
	layer *middleware.Layer
	owner string
	event *Event
}

func (h *hook) turn(msgs []ken.Message) ken.Turn {
	return ken.Turn{Owner: h.owner, Session: h.event.Session, Agent: h.event.Program, Model: h.event.Model, Messages: msgs,
		DistrustUser: true} // as in claude -p "Fix this issue: …", whose text may come from strangers
}

// transcript returns the journal's transcript of the session; an empty one for an unknown session.
func (h *hook) transcript(ctx context.Context) (session.Transcript, error) {
	tr, err := h.layer.Operator().Transcript(ctx, h.owner, h.event.Session)
	if errors.Is(err, ken.ErrNotFound) {
		err = nil
	}
	return tr, err
}

// prompt returns the block for the user's message, and journals the message.
func (h *hook) prompt(ctx context.Context) ([]byte, error) {
	if h.event.Prompt == "" {
		return nil, nil
	}
	msgs, err := h.conversation(ctx)
	if err != nil {
		return nil, err
	}
	return h.assemble(ctx, h.turn(append(msgs, ken.Message{Role: "user", Text: h.event.Prompt})))
}

// conversation returns the messages that the agent still has, as far as the journal has them.
// Harvested messages were compacted or put aside by the agent.
func (h *hook) conversation(ctx context.Context) (msgs []ken.Message, err error) {
	tr, err := h.transcript(ctx)
	if err != nil || tr.Info.State != session.Open {
		return nil, err
	}
	for i := range tr.Entries {
		if tr.Entries[i].Seq > tr.Upto {
			msgs = append(msgs, tr.Entries[i].Message)
		}
	}
	return msgs, nil
}

// assemble returns the block of a turn, if there is one.
func (h *hook) assemble(ctx context.Context, t ken.Turn) ([]byte, error) {
	a := h.layer.Assemble(ctx, t)
	last := len(t.Messages) - 1
	i := slices.IndexFunc(a.Insertions, func(in middleware.Insertion) bool { return in.Before == last })
	if i < 0 || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.context(a.Insertions[i].Text)
}

// context returns a text in the form in which the agent adds it to the conversation.
func (h *hook) context(text string) ([]byte, error) {
	var v any
	if h.event.Program == Cursor {
		v = map[string]string{"additional_context": text}
	} else {
		v = map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": h.event.Name, "additionalContext": text}}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// opening is the question for a conversation in which the user has not asked anything yet. It has no
// keyword, so that it asks for everything.
const opening = "What is this about?"

// start returns a block for a conversation without a user message. It leaves no trace.
func (h *hook) start(ctx context.Context) ([]byte, error) {
	text := opening
	tr, err := h.transcript(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tr.Entries {
		if m := &tr.Entries[i].Message; m.Role == "user" {
			text = m.Text
		}
	}
	t := h.turn([]ken.Message{{Role: "user", Text: text}})
	t.Incognito = true
	return h.assemble(ctx, t)
}

// answered journals the agent's answer. Some agents send it twice.
func (h *hook) answered(ctx context.Context) error {
	text := h.event.Last
	if text == "" && h.event.Transcript != "" {
		var err error
		if text, err = lastAnswer(h.event.Transcript); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	tr, err := h.layer.Operator().Journal(h.owner).Tail(ctx, h.event.Session, 1)
	if err == nil && len(tr.Entries) > 0 {
		last := &tr.Entries[0]
		if last.Message.Role == "assistant" && last.Cut == 0 && last.Message.Text == strings.TrimSpace(clean.Text(text)) {
			return nil
		}
	}
	return h.add(ctx, ken.Message{Role: "assistant", Text: text})
}

func (h *hook) add(ctx context.Context, msgs ...ken.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	_, err := h.layer.Operator().Session(h.turn(nil)).Add(ctx, msgs...)
	return err
}
