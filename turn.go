package ken

import (
	"context"
	"strconv"
)

// Weight is the depth of retrieval for an agent. The zero value is default.
type Weight uint8

// Weights.
const (
	WeightDefault Weight = iota // every claim that is not expired
	WeightNone                  // no retrieval at all
	WeightLow                   // Verified and Inferred only
	WeightHigh                  // default, and one hop through the graph where a store has one
)

var weightNames = [...]string{"default", "none", "low", "high"}

// String returns the weight's name.
func (w Weight) String() string { return enumName(weightNames[:], int(w)) }

// MarshalText writes the name.
func (w Weight) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a name; an unknown one is an error.
func (w *Weight) UnmarshalText(b []byte) error {
	i, err := enumValue("weight", weightNames[:], string(b))
	*w = Weight(i)
	return err
}

// MinTier is the weakest tier that the weight admits.
func (w Weight) MinTier() Tier {
	if w == WeightLow {
		return Inferred
	}
	return Guessed
}

// Turn is one model call that the layer prepares: who asks, within which
// scopes, and the messages as the client sent them.
type Turn struct {
	ID       string
	Owner    string // the isolation boundary; never taken from the messages
	Project  string
	Session  string
	Parent   string // the session that started this one, for a sub-agent's; only noted
	Branch   string
	Agent    string
	Scopes   []Scope // what the turn may see besides unscoped claims; nil sees every scope
	Weight   Weight
	Key      string // the name of the gateway's key that asks; only noted, so that the console can show a person their own turns
	Model    string
	Messages []Message
	Tools    int // tool schemas sent beside the messages

	// Policy names what decided that the turn gets or leaves less than others, such as
	// "policy[2]"; "" for nothing. The receipt has it.
	Policy string

	// DistrustUser says that a program may have written the user's messages. What they say is at
	// most a candidate rule, unless knowledge.trust_user is true.
	DistrustUser bool

	// Incognito asks for knowledge and leaves none: nothing of the turn is journaled,
	// harvested or kept as a receipt.
	Incognito bool
}

type turnKey struct{}

// WithTurn returns a context whose calls are made for t: its owner, project, session, agent,
// scopes, weight and the rest. A server sets it once for each request.
// Remember and Recall of a middleware.Layer use it, and so do its Transports and wrapped
// clients, in place of the turn that they were made with. ID, Model, Messages and Tools are
// not used.
func WithTurn(ctx context.Context, t Turn) context.Context {
	t.ID, t.Model, t.Messages, t.Tools = "", "", nil, 0
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnFrom returns the turn of WithTurn, and whether there is one.
func TurnFrom(ctx context.Context) (Turn, bool) {
	t, ok := ctx.Value(turnKey{}).(Turn)
	return t, ok
}

// Signals describe the knowledge that a message needs.
type Signals struct {
	Keywords []string `json:"keywords"` // at most 15
	Symbols  []string `json:"symbols"`  // at most 10: identifiers and paths
	Failures []string `json:"failures"` // at most 10: error codes, exceptions, failing commands
	Entities []string `json:"entities"` // named things in focus

	// Question is the text that the signals were read from.
	Question string `json:"-"`
	// Subject is Question without what people put around what they ask ("can you
	// tell me …"): the query of the vector leg. Empty means that it is Question.
	Subject string `json:"-"`
	// Asks is false for a turn that needs no knowledge at all ("thanks!").
	Asks bool `json:"-"`
	// Resumes is true for a conversation that begins with going on ("continue"): it
	// asks for nothing, and means the session before it.
	Resumes bool `json:"-"`
}

// Mode is the way in which retrieval ran.
type Mode string

// Modes. Anything but ModeHybrid has a cause in the receipt, unless it was asked for.
const (
	ModeHybrid  Mode = "hybrid"  // keyword and vector
	ModeKeyword Mode = "keyword" // no vector leg
	ModeVector  Mode = "vector"  // no keyword leg
	ModeLate    Mode = "late"    // the vector leg missed the deadline; keyword alone
	ModeNone    Mode = "none"    // no retrieval
)

// ParseMode reads keyword, vector or hybrid: the modes that can be asked for.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeHybrid, ModeKeyword, ModeVector:
		return m, nil
	}
	return "", invalid("mode", "unknown mode "+strconv.Quote(s), "Use keyword, vector or hybrid.")
}

// Message is one message of a conversation, as far as the layer looks at it.
// Adapters keep the wire form; the layer never re-encodes what it did not add.
type Message struct {
	Role       string     // system, developer, user, assistant, tool
	Name       string     // optional participant name
	Text       string     // the textual content; text parts joined by newlines
	Parts      []Part     // set when the content is an array of parts
	ToolCalls  []ToolCall // calls made by an assistant message
	ToolCallID string     // the call that a tool message answers
}

// Part is one element of a message's content array.
type Part struct {
	Type string // text, image_url, input_audio, …
	Text string // for text parts
	Ref  string // anything that identifies a non-text part: its raw JSON or a digest of it
}

// ToolCall is a call that an assistant message asks for.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON as the model wrote it
}
