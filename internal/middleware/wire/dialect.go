package wire

import "strings"

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
