package wire

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/kenlayer/ken"
)

// Dialect is the form of a model call on the wire.
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

// DialectOf returns the dialect of what is posted to a path, with or without a slash at its
// end. ok is false for any other path, such as that of a stored response or of a thread's
// messages.
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

// CountOf returns the dialect of a request that counts the tokens of a model call. It is the
// call's dialect, without the fields about the answer. ok is false for any other path.
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

// Request is what the layer reads of a request. The strings of its messages are parts of the
// body: clone what is kept longer.
type Request struct {
	Dialect Dialect
	Model   string
	Stream  bool
	Tools   int // tools and functions offered

	// Messages is the conversation, instructions first. A message of a Messages request is split
	// where it speaks for several: each tool result becomes a message of role "tool". Several
	// items of a Responses request become one message where the model said and called them
	// together.
	Messages []ken.Message

	// Hints are the fields that may identify the conversation.
	Hints Hints
	// Previous is the id of the response that this request continues; "" for none. What was said
	// before is held by the provider, and not in Messages.
	Previous string
	// Unstored is true if the client asked the provider not to store the answer.
	Unstored bool
	// MaxTokens is the most tokens that the answer may have; 0 if the request does not say.
	MaxTokens int
	// JSON is true if the answer must be JSON: any object, or one of a schema.
	JSON bool
	// Instructed is true if Messages begins with instructions that stand outside of the
	// conversation: instructions in Responses, system in Messages.
	Instructed bool

	places   []place // of Messages, in the body
	expected int     // about how many messages there are
}

// Hints are the fields of a request that say where it belongs, as the client sent them: of any
// length and with any characters. See SessionOf.
type Hints struct {
	PromptCacheKey string // prompt_cache_key
	Session        string // metadata.session_id
	Conversation   string // conversation, or its id
	MetadataUser   string // metadata.user_id
	User           string // user, else safety_identifier
}

// add adds a message and its place.
func (r *Request) add(m ken.Message, p place) {
	if r.places == nil {
		r.Messages, r.places = make([]ken.Message, 0, r.expected+1), make([]place, 0, r.expected+1)
	}
	r.Messages = append(r.Messages, m)
	r.places = append(r.places, p)
}

// addInstructions adds instructions that stand outside of the conversation.
func (r *Request) addInstructions(text string) {
	if text != "" {
		r.add(ken.Message{Role: "system", Text: text}, place{})
		r.Instructed = true
	}
}

// Element returns the index that message i of a chat request has in the request's own array. Messages
// lacks those that an agent wrote in the user's name.
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

// Parse reads a request of a dialect. For a body that is not one it returns an error with
// ken.CodeInvalid that names the field; forward such a body unchanged and let the server judge
// it. Fields that Parse does not know, or that have an unexpected type, are no error. Do not
// change the body while the request is used: its strings are parts of it.
func Parse(d Dialect, body []byte) (Request, error) {
	if !valid(body) {
		return Request{}, invalidRequest(d, "body", "not JSON")
	}
	root := document(unsafe.String(unsafe.SliceData(body), len(body))) // a copy would double what a long request takes
	if !root.isObject() {
		return Request{}, invalidRequest(d, "body", "not a JSON object")
	}
	r := Request{Dialect: d, Stream: d == Ollama} // Ollama streams unless it is told not to
	f := r.fields(root)
	var err error
	switch d {
	case Responses:
		r.addInstructions(instructions(f.instructions))
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

// fields are the fields of a request that hold its conversation.
type fields struct{ messages, input, instructions, system value }

// fields reads the request's own fields. It clones what outlives the body.
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

// tokenLimit returns a number of tokens; 0 for anything else.
func tokenLimit(v value) int {
	if n := v.number(); n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// wantsJSON reports whether a format asks for JSON, itself or in its field format.
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

// cloneText returns a text that outlives the body.
func cloneText(v value) string { return strings.Clone(v.text()) }
