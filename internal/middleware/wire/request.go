package wire

import (
	"strconv"
	"strings"
	"unsafe"

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

// Parse reads a request of a dialect. A body that is not one gives an error with
// ken.CodeInvalid that names the field; it should be passed on as it is, so that
// the server can say what it thinks of it. Fields that Parse does not know or that
// have an unexpected type are no error. The body must not be changed as long as the
// request is used: its strings are parts of it.
func Parse(d Dialect, body []byte) (Request, error) {
	if !valid(body) {
		return Request{}, refuse(d, "body", "not JSON")
	}
	root := document(unsafe.String(unsafe.SliceData(body), len(body))) // a copy would double what a long request takes
	if !root.isObject() {
		return Request{}, refuse(d, "body", "not a JSON object")
	}
	r := Request{Dialect: d, Stream: d == Ollama} // Ollama streams unless it is told not to
	f := r.fields(root)
	var err error
	switch d {
	case Responses:
		r.instruct(instructions(f.instructions))
		err = r.input(f.input)
	case Messages:
		r.instruct(system(f.system))
		err = r.turns(f.messages)
	default:
		err = r.chat(f.messages)
	}
	if err != nil {
		return Request{}, err
	}
	r.withoutAider()
	return r, nil
}

// fields are those of a request that hold its conversation.
type fields struct{ messages, input, instructions, system value }

// fields reads the request's own fields. What is kept for longer than the body is
// cloned.
func (r *Request) fields(root value) (f fields) {
	var tools, functions int
	var user, safety string
	root.each(func(key string, v value) bool {
		switch key {
		case "model":
			r.Model = kept(v)
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
			r.Hints.PromptCacheKey = kept(v)
		case "conversation":
			if v.isObject() {
				v = v.get("id")
			}
			r.Hints.Conversation = kept(v)
		case "previous_response_id":
			r.Previous = kept(v)
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			r.MaxTokens = limit(v)
		case "response_format", "text", "output_config", "output_format":
			r.JSON = r.JSON || wantsJSON(v)
		case "user":
			user = kept(v)
		case "safety_identifier":
			safety = kept(v)
		}
		return true
	})
	r.Tools = tools + functions
	if r.Hints.User = user; user == "" {
		r.Hints.User = safety
	}
	return f
}

// limit is a number of tokens, 0 for what is none.
func limit(v value) int {
	if n := v.number(); n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// wantsJSON reports a format that asks for JSON, itself or in its field format.
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
			session = kept(v)
		case "user_id":
			user = kept(v)
		}
		return true
	})
	return session, user
}

// kept is text for what outlives the body.
func kept(v value) string { return strings.Clone(v.text()) }

// Dialect is the shape that a model call has on the wire.
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

// DialectOf returns the dialect of what is posted to a path; a slash at the path's end
// does not matter. ok is false for any other path, such as one of a stored response or
// of a thread's messages.
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

// CountOf returns the dialect of a request that has the tokens of a model call counted:
// it is the call's, without what concerns the answer. ok is false for any other path.
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

// place says where a text can go at one message.
type place struct {
	own    spot // as something of its own, before what the message says
	merged spot // into the message's content; without one, own is taken
}

// spot is where a text can go, and the JSON around its escaped form. The zero spot
// is none.
type spot struct {
	at            int // in the body, never 0
	before, after string

	// A value that stands alone becomes an element of an array: open goes before
	// the first text, tail behind the last one, and shut behind the value, at end.
	open, tail string
	end        int
	shut       string
}

func (s *spot) exists() bool { return s.at > 0 }

// A message of its own is the same in all three dialects.
const (
	ownBefore = `{"role":"user","content":"`
	ownAfter  = `"},`
)

// before is the place of a message: an object, with its content. part is the JSON
// before the text of a part of its own in an array of content.
func before(object, content value, part string) place {
	p := place{own: spot{at: object.pos, before: ownBefore, after: ownAfter}}
	switch head := content.pos + 1; {
	case content.isString():
		p.merged = spot{at: head, after: `\n\n`}
	case content.isArray():
		p.merged = spot{at: head, before: part, after: `\n\n"},`}
		if content.length() == 0 {
			p.merged.after = `\n\n"}`
		}
	}
	return p
}

// alone is the place of a string that is the whole conversation.
func alone(v value) place {
	return place{
		own: spot{at: v.pos, before: ownBefore, after: ownAfter,
			open: `[`, tail: `{"role":"user","content":`, end: v.pos + len(v.raw()), shut: `}]`},
		merged: spot{at: v.pos + 1, after: `\n\n`},
	}
}

// Parts of text, as far as the text.
const (
	textPart  = `{"type":"text","text":"`
	inputPart = `{"type":"input_text","text":"`
)
