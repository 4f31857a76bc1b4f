package wire

import (
	"strconv"

	"github.com/kenlayer/ken"
)

// Request is what the layer reads of a request. The strings of its messages are
// parts of the body: whoever keeps one clones it.
type Request struct {
	Dialect Dialect
	Model   string
	Stream  bool
	Tools   int // tools and functions offered

	// Messages are the conversation, instructions first. What a Messages request
	// holds in one message comes as several where it speaks for several: each tool
	// result is a message of role "tool". What a Responses request holds in several
	// items comes as one where the model said and called it in one go.
	Messages []ken.Message

	// Hints are the fields that may say whose conversation it is.
	Hints Hints
	// Previous is the id of the response that this request goes on from; "" for
	// none. What was said up to there is upstream, and not in Messages.
	Previous string
	// Unstored is true when the client asked that the answer is not to be stored.
	Unstored bool
	// MaxTokens is the most tokens that the answer may have; 0 when the request doesn't say.
	MaxTokens int
	// JSON is true when the answer is to be JSON: any object, or one of a schema.
	JSON bool
	// Instructed is true when Messages begins with what the request gives beside its
	// conversation: Responses' instructions, Messages' system.
	Instructed bool

	places   []place // of Messages, in the body
	expected int     // how many messages there are, about
}

// Hints are what a request itself says about where it belongs, as the client sent
// it: of any length and with any characters. See SessionOf.
type Hints struct {
	PromptCacheKey string // prompt_cache_key
	Session        string // metadata.session_id
	Conversation   string // conversation, or its id
	MetadataUser   string // metadata.user_id
	User           string // user, else safety_identifier
}

// add takes up a message and its place.
func (r *Request) add(m ken.Message, p place) {
	if r.places == nil {
		r.Messages, r.places = make([]ken.Message, 0, r.expected+1), make([]place, 0, r.expected+1)
	}
	r.Messages = append(r.Messages, m)
	r.places = append(r.places, p)
}

// instruct takes up what stands beside the conversation.
func (r *Request) instruct(text string) {
	if text != "" {
		r.add(ken.Message{Role: "system", Text: text}, place{})
		r.Instructed = true
	}
}

func refuse(d Dialect, field, msg string) error {
	try := "Send a chat completions request: an object with an array of messages."
	switch d {
	case Responses:
		try = "Send a Responses request: an object with an input, a string or an array of items."
	case Messages:
		try = "Send a Messages request: an object with an array of messages."
	case Ollama:
		try = "Send an Ollama chat request: an object with an array of messages."
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func element(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }
