package wire

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/kenlayer/ken"
)

// Dialect is the API format of a model call.
type Dialect uint8

// Dialects.
const (
	Chat      Dialect = iota // POST …/chat/completions
	Responses                // POST …/responses
	Messages                 // POST …/messages, Anthropic's
	Ollama                   // POST …/api/chat, Ollama's own
)

// String returns "chat", "responses", "messages" or "ollama".
func (d Dialect) String() string {
	switch d {
	case Responses:
		return "responses"
	case Messages:
		return "messages"
	case Ollama:
		return "ollama"
	default:
		return "chat"
	}
}

// DialectOf returns the dialect of a POST request to a path, with or without a slash at its end. ok
// is false for other paths, such as that of a stored response or of a thread's messages.
func DialectOf(path string) (d Dialect, ok bool) {
	path = strings.TrimRight(path, "/")
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat, true
	case strings.HasSuffix(path, "/responses"):
		return Responses, true
	case strings.HasSuffix(path, "/messages") && !strings.Contains(path, "/threads/"):
		return Messages, true
	case strings.HasSuffix(path, "/api/chat"):
		return Ollama, true
	}
	return Chat, false
}

// CountOf returns the dialect of a request that counts the tokens of a model call. Its body is that
// of the call without the fields about the answer. ok is false for other paths.
func CountOf(path string) (d Dialect, ok bool) {
	path = strings.TrimRight(path, "/")
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return Messages, true
	case strings.HasSuffix(path, "/responses/input_tokens"):
		return Responses, true
	}
	return Chat, false
}

// Request is the part of a request that the layer reads. The strings of its messages refer to the
// body; clone those that are kept longer.
type Request struct {
	Dialect Dialect
	Model   string
	Stream  bool
	Tools   int // number of tools and functions offered

	// Messages is the conversation, instructions first. A user message of the Messages dialect is
	// split: each tool result becomes a message of role "tool". Several items of a Responses
	// request become one message if the model sent them together.
	Messages []ken.Message

	// Hints are the fields that may identify the conversation.
	Hints Hints
	// Previous is the id of the response that this request continues; "" if there is none. The
	// provider holds the earlier messages; Messages does not have them.
	Previous string
	// Unstored reports whether the client asked the provider not to store the answer.
	Unstored bool
	// MaxTokens is the maximum number of tokens of the answer; 0 if the request sets none.
	MaxTokens int
	// JSON reports whether the answer must be JSON, with or without a schema.
	JSON bool
	// Instructed reports whether Messages begins with instructions from outside the conversation:
	// instructions in Responses, or system in Messages.
	Instructed bool

	places   []place // place in the body of each of Messages
	expected int     // approximate number of messages
}

// Hints holds the fields of a request that may identify its conversation, exactly as the client
// sent them: of any length and with any characters. See SessionOf.
type Hints struct {
	PromptCacheKey string // prompt_cache_key
	Session        string // metadata.session_id
	Conversation   string // conversation, or its id
	MetadataUser   string // metadata.user_id
	User           string // user or, without it, safety_identifier
}

func (r *Request) add(m ken.Message, p place) {
	if r.places == nil {
		r.Messages, r.places = make([]ken.Message, 0, r.expected+1), make([]place, 0, r.expected+1)
	}
	r.Messages = append(r.Messages, m)
	r.places = append(r.places, p)
}

// addInstructions adds instructions from outside the conversation.
func (r *Request) addInstructions(text string) {
	if text != "" {
		r.add(ken.Message{Role: "system", Text: text}, place{})
		r.Instructed = true
	}
}

// Element returns the index of message i of a chat request in the request's own array. Messages
// lacks the messages that an agent wrote into it.
func (r *Request) Element(i int) int { return r.places[i].element }

func invalidRequest(d Dialect, field, msg string) error {
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

func elementName(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Parse parses a request of a dialect. For an invalid body it returns an error with ken.CodeInvalid
// and the field; forward such a body unchanged, so that the server reports the problem. Unknown
// fields, and fields of an unexpected type, are no error. Do not change the body while the request
// is in use, because its strings refer to it.
func Parse(d Dialect, body []byte) (Request, error) {
	if !valid(body) {
		return Request{}, invalidRequest(d, "body", "not JSON")
	}
	root := document(unsafe.String(unsafe.SliceData(body), len(body))) // a copy would double the memory of a long request
	if !root.isObject() {
		return Request{}, invalidRequest(d, "body", "not a JSON object")
	}
	r := Request{Dialect: d, Stream: d == Ollama} // Ollama streams by default
	f := r.fields(root)
	var err error
	switch d {
	case Responses:
		r.addInstructions(f.instructions.text()) // a string; only in a stored response they may be items
		err = r.input(f.input)
	case Messages:
		r.addInstructions(system(f.system))
		err = r.turns(f.messages)
	default:
		err = r.chat(f.messages)
	}
	if err != nil {
		return Request{}, err
	}
	r.dropAiderMessages()
	return r, nil
}

// fields holds the fields of a request with its conversation.
type fields struct{ messages, input, instructions, system value }

// fields reads the request's top-level fields. It clones strings that outlive the body.
func (r *Request) fields(root value) (f fields) {
	var tools, functions int
	var user, safety string
	root.each(func(key string, v value) bool {
		switch key {
		case "model":
			r.Model = cloneText(v)
		case "stream":
			r.Stream = v.isTrue() || r.Stream && !v.isFalse()
		case "store":
			r.Unstored = v.isFalse()
		case "tools":
			tools = v.length()
		case "functions":
			functions = v.length()
		case "messages":
			f.messages = v
		case "input":
			f.input = v
		case "instructions":
			f.instructions = v
		case "system":
			f.system = v
		case "metadata":
			r.Hints.Session, r.Hints.MetadataUser = metadata(v)
		case "prompt_cache_key":
			r.Hints.PromptCacheKey = cloneText(v)
		case "conversation":
			if v.isObject() {
				v = v.get("id")
			}
			r.Hints.Conversation = cloneText(v)
		case "previous_response_id":
			r.Previous = cloneText(v)
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			r.MaxTokens = tokenLimit(v)
		case "response_format", "text", "output_config", "output_format":
			r.JSON = r.JSON || wantsJSON(v)
		case "user":
			user = cloneText(v)
		case "safety_identifier":
			safety = cloneText(v)
		}
		return true
	})
	r.Tools = tools + functions
	if r.Hints.User = user; user == "" {
		r.Hints.User = safety
	}
	return f
}

// tokenLimit returns a number of tokens; 0 if v is not a valid one.
func tokenLimit(v value) int {
	if n := v.number(); n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// wantsJSON reports whether a format requires JSON, by its type or by that of its field format.
func wantsJSON(v value) bool {
	if !v.isObject() {
		return false
	}
	switch v.get("type").text() {
	case "json_schema", "json_object":
		return true
	}
	return wantsJSON(v.get("format"))
}

func metadata(v value) (session, user string) {
	if !v.isObject() {
		return "", ""
	}
	v.each(func(key string, v value) bool {
		switch key {
		case "session_id":
			session = cloneText(v)
		case "user_id":
			user = cloneText(v)
		}
		return true
	})
	return session, user
}

// cloneText returns a copy of a text that does not refer to the body.
func cloneText(v value) string { return strings.Clone(v.text()) }
