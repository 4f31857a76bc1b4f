package wire

import (
	"bytes"
	"cmp"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

// Observed is the answer to a request that was forwarded.
type Observed struct {
	Answer Answer
	// OK is false if nothing was said or called, or the answer could not be read: it is an
	// error, has an unknown compression, is longer than 4 MiB, or broke off before the first
	// word. Answer may have its Err and Usage even then.
	OK bool
}

// Answer is the part of a response that the layer reads. Its strings share one copy of the body.
// The message's role is "assistant".
type Answer struct {
	ID, Model string
	// Message is the first choice: the model's text and calls. For a stream that broke off, it is
	// the part that arrived.
	Message ken.Message
	// Finish is the reason why the model stopped, in the dialect's words: a finish_reason, a
	// stop_reason, or a response's status with the reason if it is incomplete. It is "" if the
	// answer has none.
	Finish string
	Usage  Usage
	// Thought is the number of characters of reasoning in the answer. The text itself is not kept.
	Thought int
	// Err is an error in place of an answer, or inside it: at most 500 bytes of its message. It is
	// "" if there is none.
	Err string
}

// Usage counts an answer's tokens as the provider does. All fields are 0 if the provider sends
// none.
type Usage struct {
	Input  int // the complete prompt, including the cached part
	Output int // including reasoning
	Cached int // the part of Input from the provider's cache

	Reasoning int // the part of Output that is reasoning, if the provider sends it
}

// ParseAnswer parses the body of a response: a JSON object, or a stream of events or lines,
// complete or not. ok is false if the answer has no text and no call; the other fields may be set
// even then. It never fails: the client has to deal with a body that can't be read.
func ParseAnswer(d Dialect, body []byte) (a Answer, ok bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	stream := !bytes.HasPrefix(body, []byte("{"))
	var h answerReader
	switch d {
	case Responses:
		h = &responsesReader{a: &a}
	case Messages:
		h = &messagesReader{a: &a}
	case Ollama:
		h = &ollamaReader{a: &a}
	default:
		h = &chatReader{a: &a}
	}
	switch {
	case stream:
		for data := range events(body) {
			h.event(document(string(data)))
		}
	case valid(body):
		h.whole(document(string(body)))
	case d == Ollama:
		for line := range bytes.Lines(body) {
			if valid(line) {
				h.event(document(string(line)))
			}
		}
	}
	h.finish()
	a.Message.Role = "assistant"
	return a, strings.TrimSpace(a.Message.Text) != "" || len(a.Message.ToolCalls) > 0
}

// answerReader reads answers of one dialect.
type answerReader interface {
	whole(value) // an answer that is not streamed
	event(value) // the data of one event
	finish()
}

// thought adds the characters of a reasoning text.
func (a *Answer) thought(v value) { a.Thought += utf8.RuneCountInString(v.text()) }

// fail records an error, which is an object with a message, or the message.
func (a *Answer) fail(v value) {
	s := v.text()
	if v.isObject() {
		s = v.get("message").text()
		s = cmp.Or(s, v.raw())
	}
	if s == "" || a.Err != "" {
		return
	}
	const most = 500
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	a.Err = strings.Clone(s)
}

// tokenCount parses a count; 0 if it is not a plausible number.
func tokenCount(v value) int {
	n := v.number()
	if !(n >= 0 && n <= 1<<40) {
		return 0
	}
	return int(n)
}

// AnswerID returns the id of a response from the beginning of its body; "" if it has none. It reads
// only the first object or event.
func AnswerID(body []byte) string {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(body, []byte("{")) {
		return strings.Clone(gjson.GetBytes(body, "id").Str)
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			for _, path := range []string{"response.id", "message.id", "id"} {
				if id := gjson.GetBytes(data, path).Str; id != "" {
					return strings.Clone(id)
				}
			}
			return ""
		}
	}
	return ""
}

// events yields the data of each event of a stream that is JSON. It skips [DONE], comments and an
// incomplete end. An event may have data on several lines, and some servers omit the empty line
// between two events.
func events(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var rows [][]byte
		for line := range bytes.Lines(body) {
			line = bytes.TrimSpace(line)
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				rows = append(rows, bytes.TrimSpace(data))
				continue
			}
			if len(line) == 0 {
				if !yieldEvent(rows, yield) {
					return
				}
				rows = rows[:0]
			}
		}
		yieldEvent(rows, yield)
	}
}

func yieldEvent(rows [][]byte, yield func([]byte) bool) bool {
	if len(rows) > 1 {
		if whole := bytes.Join(rows, []byte("\n")); valid(whole) {
			return yield(whole)
		}
	}
	for _, data := range rows {
		if len(data) > 0 && data[0] == '{' && valid(data) && !yield(data) {
			return false
		}
	}
	return true
}
