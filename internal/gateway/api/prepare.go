package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// PrepareRequest is a model call that a program is about to make itself.
type PrepareRequest struct {
	Messages  json.RawMessage `json:"messages" jsonschema:"the whole conversation, in the form of OpenAI's chat completions"`
	Model     string          `json:"model,omitempty"`
	Session   string          `json:"session_id,omitempty" jsonschema:"left out, the conversation's first user message tells it from others"`
	Agent     string          `json:"agent,omitempty" jsonschema:"the name of the program that asks"`
	Project   string          `json:"project,omitempty"`
	Branch    string          `json:"branch_id,omitempty"`
	Weight    ken.Weight      `json:"weight,omitzero" jsonschema:"none notes the conversation, and finds nothing for it"`
	Incognito bool            `json:"incognito,omitempty" jsonschema:"the turn gets its block and leaves nothing: no journal, no receipt"`
}

// PreparedTurn lists what to insert into the conversation.
type PreparedTurn struct {
	Turn       string      `json:"turn" jsonschema:"the turn's id, for its answer and its receipt"`
	Session    string      `json:"session_id,omitempty"`
	Mode       ken.Mode    `json:"mode"`
	Cause      string      `json:"cause,omitempty" jsonschema:"why the mode is less than hybrid, or why there is no block"`
	Insertions []Insertion `json:"insertions" jsonschema:"by rising before; those of earlier turns come again, unchanged"`
}

// Insertion is a block and its position.
type Insertion struct {
	Before int    `json:"before" jsonschema:"an index into the messages as they were sent: the block is a user message before that message"`
	Text   string `json:"text"`
	Merge  bool   `json:"merge,omitempty" jsonschema:"put the text at the beginning of that message instead, followed by an empty line"`
}

// AnswerRequest is the model's answer in a turn.
type AnswerRequest struct {
	Message json.RawMessage `json:"message" jsonschema:"the assistant's message, in the form of OpenAI's chat completions"`
}

// Answered names the turn whose answer was recorded.
type Answered struct {
	Turn string `json:"turn"`
}

func prepareRoutes() []*route {
	return []*route{{
		method: http.MethodPost, path: "/api/turns", id: "prepareTurn", tag: "turns", right: access.Chat,
		summary: "Get the block of a model call",
		about: "Get what to insert into a conversation before a program sends it to a model by itself, as the gateway does for calls that go through it. " +
			"The conversation goes to the session's journal. Send the whole of it each time: blocks of earlier turns come again, byte for byte, which keeps a provider's prompt cache. " +
			"Tell the answer to /api/turns/{turn}/answer.",
		body: reflect.TypeFor[PrepareRequest](), example: `{"session_id":"monday","model":"gpt-4.1-mini","messages":[{"role":"user","content":"How often are payments retried?"}]}`,
		status: http.StatusOK, answer: reflect.TypeFor[PreparedTurn](), serve: (*API).prepareTurn,
	}, {
		method: http.MethodPost, path: "/api/turns/{turn}/answer", id: "answerTurn", tag: "turns", right: access.Chat,
		summary: "Tell the answer of a model call",
		about: "Tell what the model answered to a prepared turn, for the session's journal. An answer that comes back in the conversation's next turn counts once. " +
			"Only the latest turns wait for one, in the process that prepared them.",
		body: reflect.TypeFor[AnswerRequest](), example: `{"message":{"role":"assistant","content":"Three times."}}`,
		status: http.StatusOK, answer: reflect.TypeFor[Answered](), fails: []problemCode{codeNotFound}, serve: (*API).answerTurn,
	}}
}

func (a *API) prepareTurn(c *call) (*reply, error) {
	req := c.body.(*PrepareRequest)
	if len(req.Messages) == 0 {
		return nil, invalid("messages", "there are none", "Send an array of messages.")
	}
	x, err := a.l.Operator().Begin(c.ctx(), wire.Chat, chatBody(req.Messages, req.Model), func(r *wire.Request) ken.Turn {
		t := ken.Turn{Owner: c.who.Owner, Project: c.who.Project, Agent: req.Agent, Branch: req.Branch, Weight: req.Weight, Incognito: req.Incognito,
			Session: wire.SessionOf(c.who.Owner, req.Session, r)}
		t.Project = cmp.Or(t.Project, req.Project)
		return t
	})
	if err != nil {
		return nil, err
	}
	out := PreparedTurn{Turn: x.Turn.ID, Session: x.Turn.Session, Mode: x.Receipt.Mode, Cause: x.Receipt.Cause, Insertions: []Insertion{}}
	for _, in := range x.Insertions() {
		out.Insertions = append(out.Insertions, Insertion(in))
	}
	a.unanswered.Put(turnKey{c.who.Owner, x.Turn.ID}, x.Answer())
	return &reply{body: out}, nil
}

func (a *API) answerTurn(c *call) (*reply, error) {
	req := c.body.(*AnswerRequest)
	// Wrap the message in an array to parse it like any other.
	r, err := wire.Parse(wire.Chat, chatBody(slices.Concat([]byte("["), req.Message, []byte("]")), ""))
	if err != nil || len(r.Messages) != 1 {
		return nil, invalid("message", "this is no message", "Send the assistant's message: an object with role and content.")
	}
	answer, ok := a.unanswered.Take(turnKey{c.who.Owner, c.path["turn"]})
	if !ok {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no turn with this id waits for an answer",
			Try: "Go on: the answer counts when it comes back in the conversation's next turn."}
	}
	answer(r.Messages[0])
	return &reply{body: Answered{c.path["turn"]}}, nil
}

// chatBody returns a chat completions request with these messages.
func chatBody(messages json.RawMessage, model string) []byte {
	var b bytes.Buffer
	b.Grow(len(messages) + len(model) + 32)
	name, _ := json.Marshal(model) // strings can always be marshaled
	b.WriteString(`{"model":`)
	b.Write(name)
	b.WriteString(`,"messages":`)
	b.Write(messages)
	b.WriteByte('}')
	return b.Bytes()
}

// maxUnanswered is the maximum number of turns that wait for an answer. Each takes less than 1 KiB.
const maxUnanswered = 4096

type turnKey struct{ owner, turn string }
