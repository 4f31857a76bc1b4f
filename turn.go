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
	WeightHigh                  // like default, and also follows one dependency in the graph, if the store has one
)

var weightNames = [...]string{"default", "none", "low", "high"}

// String returns the weight's name.
func (w Weight) String() string { return enumName(weightNames[:], int(w)) }

// MarshalText returns the name.
func (w Weight) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText parses a name; an unknown name is an error.
func (w *Weight) UnmarshalText(b []byte) error {
	i, err := enumValue("weight", weightNames[:], string(b))
	*w = Weight(i)
	return err
}

// MinTier returns the weakest tier that the weight admits.
func (w Weight) MinTier() Tier {
	if w == WeightLow {
		return Inferred
	}
	return Guessed
}

// Turn is one model call that the layer prepares: who makes it, within which scopes, and the
// messages as the client sent them.
type Turn struct {
	ID       string
	Owner    string  // whose knowledge is used; never taken from the messages
	Project  string  // where what is learned belongs; recorded with each claim
	Session  string  // names the conversation; a turn without one is not journaled, so nothing is learned from it
	Parent   string  // for a sub-agent's session, the session that started it; only recorded
	Branch   string  // an attempt within the session; recorded with each claim
	Agent    string  // the program that speaks to the model; recorded with each claim
	Scopes   []Scope // what the turn may see besides unscoped claims; nil sees every scope
	Weight   Weight
	Key      string // name of the gateway key that made the request; only recorded, so that the console can show a person their own turns
	Model    string
	Messages []Message
	Tools    int // number of tool schemas sent with the messages

	// Policy names the rule that restricted the turn, such as "policy[2]"; "" for none. The
	// receipt includes it.
	Policy string

	// DistrustUser says that a program may have written the user's messages. A rule in them
	// is at most a candidate, unless knowledge.trust_user is true.
	DistrustUser bool

	// Incognito retrieves knowledge but stores nothing: the turn is not journaled, not
	// harvested, and has no stored receipt.
	Incognito bool
}

type turnKey struct{}

// WithTurn returns a context whose calls are made for t: its owner, project, session, agent,
// scopes, weight and the rest. A server sets it once for each request. Remember and Recall
// of a middleware.Layer, its Transports and wrapped clients use it instead of the turn that
// they were created with, of which only the owner stays if t has none. Tools that are called without
// an owner use it, too. ID, Model, Messages and Tools are ignored.
func WithTurn(ctx context.Context, t Turn) context.Context {
	t.ID, t.Model, t.Messages, t.Tools = "", "", nil, 0
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnFrom returns the turn of WithTurn, and whether there is one.
func TurnFrom(ctx context.Context) (Turn, bool) {
	t, ok := ctx.Value(turnKey{}).(Turn)
	return t, ok
}

// Signals describes the knowledge that a message needs.
type Signals struct {
	Keywords []string `json:"keywords"` // at most 15
	Symbols  []string `json:"symbols"`  // at most 10: identifiers and paths
	Failures []string `json:"failures"` // at most 10: error codes, exceptions, failing commands
	Entities []string `json:"entities"` // named things in focus

	// Question is the text that the signals were extracted from.
	Question string `json:"-"`
	// Subject is Question without introductory phrases ("can you tell me …"). The vector leg
	// uses it as the query. Empty means the same as Question.
	Subject string `json:"-"`
	// Asks is false for a turn that needs no knowledge ("thanks!").
	Asks bool `json:"-"`
	// Resumes is true for a conversation that starts with a request to continue
	// ("continue"). It asks no question and refers to the previous session.
	Resumes bool `json:"-"`
}

// Mode is how retrieval ran.
type Mode string

// Modes. For any mode but ModeHybrid the receipt has a cause, unless the caller requested
// the mode.
const (
	ModeHybrid  Mode = "hybrid"  // keyword and vector
	ModeKeyword Mode = "keyword" // no vector leg
	ModeVector  Mode = "vector"  // no keyword leg
	ModeLate    Mode = "late"    // the vector leg missed the deadline; only keyword
	ModeNone    Mode = "none"    // no retrieval
)

// ParseMode parses keyword, vector or hybrid: the modes that a caller may request.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeHybrid, ModeKeyword, ModeVector:
		return m, nil
	}
	return "", invalid("mode", "unknown mode "+strconv.Quote(s), "Use keyword, vector or hybrid.")
}

// Message is one message of a conversation, with the fields that the layer reads. Adapters
// keep the wire form; the layer never re-encodes what it did not add.
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
	Ref  string // identifies a non-text part: its raw JSON or a digest of it
}

// ToolCall is a tool call in an assistant message.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON as the model wrote it
}
