package wire

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
)

// Answer is what the layer reads of a response. Its strings share one copy of the
// body, and the message's role is "assistant".
type Answer struct {
	ID, Model string
	// Message is the first choice: what the model said and called. Of a stream that
	// broke off, it is what came.
	Message ken.Message
	// Finish is why the model stopped, in the dialect's own word: a finish_reason, a
	// stop_reason, or a response's status and, of an incomplete one, its reason. ""
	// when the answer does not say.
	Finish string
	Usage  Usage
	// Err is the error that came in place of an answer, or in its middle: at most
	// 500 bytes of its message. "" for none.
	Err string
}

// Usage counts an answer's tokens as the provider does; all 0 when it does not say.
type Usage struct {
	Input  int // the whole prompt, what came from the cache included
	Output int // reasoning included
	Cached int // of Input, what the provider's cache served
}

// ParseAnswer reads the body of a response, a JSON object or a stream of events or
// lines, whole or broken off. ok is false when there is nothing that a model said or
// called; the answer's other fields may be filled all the same. It never fails:
// what it can't read is the client's to judge.
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

// hearing puts an answer of one dialect together.
type answerReader interface {
	whole(value) // an answer that came in one piece
	event(value) // the data of one event
	finish()
}

// fail notes an error: an object with a message, or the message.
func (a *Answer) fail(v value) {
	s := v.text()
	if v.isObject() {
		s = v.get("message").text()
		if s == "" {
			s = v.raw()
		}
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

// tokenCount reads a count. What is no sensible number counts as 0.
func tokenCount(v value) int {
	n := v.number()
	if !(n >= 0 && n <= 1<<40) {
		return 0
	}
	return int(n)
}

// AnswerID reads the id of a response from the beginning of its body, "" when it is
// not there. It looks at the first object or event alone.
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

// events yields the data of each event of a stream that is JSON: [DONE], comments
// and where it broke off are none. An event may have its data on several lines;
// some servers leave out the empty line between two events.
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
