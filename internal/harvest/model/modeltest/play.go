package modeltest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Play answers one request. The plays of this package may be used any number of
// times and by concurrent requests.
type Play func(w http.ResponseWriter, r *http.Request, req *Request)

// Says returns a Play that answers with text.
func Says(text string) Play {
	return func(w http.ResponseWriter, _ *http.Request, req *Request) { say(w, req, text, "stop") }
}

// recorded holds the texts of testdata/answers.json, by name.
//
//go:embed testdata/answers.json
var recorded []byte

// Recorded returns a Play that answers with a text of testdata/answers.json. It
// panics if the file has no text with that name.
func Recorded(name string) Play {
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(recorded, &answers); err != nil {
		panic(err)
	}
	raw, ok := answers[name]
	if !ok {
		panic("modeltest: nothing is recorded as " + name)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil { // an object is encoded as JSON
		text = string(raw)
	}
	return Says(text)
}

// Good answers correctly about Session: a summary and five facts, all of which
// pass the checks.
func Good() Play { return Recorded("good") }

// Prose answers in prose, without JSON.
func Prose() Play { return Recorded("prose") }

// WrongShape answers with valid JSON of another form.
func WrongShape() Play { return Recorded("wrong shape") }

// Unquoted answers with three facts whose quotes are in no message, too short to
// prove anything, or empty.
func Unquoted() Play { return Recorded("unquoted") }

// Injected answers about Session with an order to the agent's memory among the
// facts and in the summary, like a model that obeyed a planted text.
func Injected() Play { return Recorded("injected") }

// Thinking answers correctly, after tagged reasoning that contains other JSON.
func Thinking() Play { return Recorded("thinking") }

// Fenced answers correctly, in a fence with prose around it.
func Fenced() Play { return Recorded("fenced") }

// Empty answers with an empty text.
func Empty() Play { return Says("") }

// Truncated answers correctly, but is cut off in the middle of a fact.
func Truncated() Play {
	return func(w http.ResponseWriter, _ *http.Request, req *Request) {
		say(w, req, `{"summary": "The user asked for", "facts": [{"text": "The user pre`, "length")
	}
}

// ManyFacts answers with Echo's summary and n different facts, all of which quote
// a message.
func ManyFacts(n int) Play {
	return func(w http.ResponseWriter, _ *http.Request, req *Request) {
		a := echo(req)
		var facts []Fact
		for i := range n {
			if len(a.Facts) == 0 {
				break
			}
			f := a.Facts[i%len(a.Facts)]
			f.Text = fmt.Sprintf("In place %s: %s", letters(i), f.Text)
			f.Confidence = 0.5
			facts = append(facts, f)
		}
		a.Facts = facts
		say(w, req, encode(a), "stop")
	}
}

// Fails answers with an error of that status and message.
func Fails(status int, message string) Play {
	return func(w http.ResponseWriter, _ *http.Request, _ *Request) { refuse(w, status, message) }
}

// Throttled answers 429 with a Retry-After of wait in whole seconds; 0 omits the
// header.
func Throttled(wait time.Duration) Play {
	return func(w http.ResponseWriter, _ *http.Request, _ *Request) {
		if wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
		}
		refuse(w, http.StatusTooManyRequests, "Rate limit reached")
	}
}

// UnknownModel answers 404, as for a model that is not served.
func UnknownModel() Play {
	return func(w http.ResponseWriter, _ *http.Request, req *Request) {
		refuse(w, http.StatusNotFound, "The model '"+req.Model+"' does not exist")
	}
}

// Hangs sends no answer and returns when the client has closed the connection.
func Hangs() Play {
	return func(_ http.ResponseWriter, r *http.Request, _ *Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after reading the body
		<-r.Context().Done()
	}
}

// Drops closes the connection without an answer.
func Drops() Play {
	return func(http.ResponseWriter, *http.Request, *Request) { panic(http.ErrAbortHandler) }
}

// RefusesFormat answers 400 to requests with a response_format of one of these
// types, and calls play for the others.
func RefusesFormat(play Play, types ...string) Play {
	return func(w http.ResponseWriter, r *http.Request, req *Request) {
		for _, t := range types {
			if req.Format == t {
				refuse(w, http.StatusBadRequest, "response_format of type '"+t+"' is not supported")
				return
			}
		}
		play(w, r, req)
	}
}

// say writes a chat completion.
func say(w http.ResponseWriter, req *Request, text, finish string) {
	asked := 0
	for _, m := range req.Messages {
		asked += len(m.Content)
	}
	write(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": Message{"assistant", text}}},
		"usage":   map[string]int{"prompt_tokens": asked / 4, "completion_tokens": len(text) / 4, "total_tokens": asked/4 + len(text)/4},
	})
}

// letters writes a number in letters.
func letters(n int) string {
	s := string(rune('a' + n%26))
	if n >= 26 {
		s = letters(n/26-1) + s
	}
	return s
}

// talk answers a request that is not for an extraction.
func talk(w http.ResponseWriter, _ *http.Request, req *Request) {
	text := "Understood."
	if !req.Stream {
		say(w, req, text, "stop")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, delta := range []map[string]string{{"role": "assistant", "content": text}, {}} {
		var finish any
		if len(delta) == 0 {
			finish = "stop"
		}
		fmt.Fprintf(w, "data: %s\n\n", strings.TrimSpace(encode(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
			"model": req.Model, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func refuse(w http.ResponseWriter, status int, message string) {
	write(w, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, encode(body)) // if the client has gone, nobody needs the error
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // all values are from this package
	}
	return string(b)
}
