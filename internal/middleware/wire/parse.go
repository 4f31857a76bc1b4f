package wire

import (
	"strings"
	"unsafe"
)

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
