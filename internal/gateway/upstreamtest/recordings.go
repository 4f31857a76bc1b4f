package upstreamtest

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

//go:embed testdata/*.http
var recordings embed.FS

// Recording returns a recording by name, such as chat_stream: the name of a file under testdata
// without its extension. A stream is chunked, one event per chunk. An unknown name panics, because
// it is a bug in the test.
func Recording(name string) Answer {
	a, err := readRecording(name)
	if err != nil {
		panic("upstreamtest: " + err.Error())
	}
	return a
}

func readRecording(name string) (Answer, error) {
	b, err := recordings.ReadFile("testdata/" + name + ".http")
	if err != nil {
		return Answer{}, fmt.Errorf("no recording %q", name)
	}
	return parseRecording(b)
}

// Recordings returns the names of all recordings, sorted.
func Recordings() []string {
	entries, err := recordings.ReadDir("testdata")
	if err != nil {
		panic(err) // the files are in the binary
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".http")
	}
	return names
}

// parseRecording parses a head whose lines end in a line feed, an empty line, and the body, which
// is not parsed.
func parseRecording(b []byte) (a Answer, err error) {
	head, body, ok := bytes.Cut(b, []byte("\n\n"))
	if !ok {
		return a, fmt.Errorf("%w: no empty line", errMalformed)
	}
	lines := strings.Split(string(head), "\n")
	rest, ok := strings.CutPrefix(lines[0], "HTTP/1.1 ")
	if !ok {
		return a, fmt.Errorf("%w: %q", errMalformed, lines[0])
	}
	status, reason, _ := strings.Cut(rest, " ")
	if a.Status, err = strconv.Atoi(status); err != nil {
		return a, fmt.Errorf("%w: %q", errMalformed, lines[0])
	}
	a.Reason = reason
	if a.Header, err = fields(lines[1:]); err != nil {
		return a, err
	}
	a.Pieces = [][]byte{body}
	if strings.HasPrefix(a.Get("Content-Type"), "text/event-stream") {
		a.Pieces, a.Framing = Events(body), Chunked
	}
	if strings.HasPrefix(a.Get("Content-Type"), "application/x-ndjson") {
		a.Pieces, a.Framing = slices.Collect(bytes.Lines(body)), Chunked
	}
	return a, nil
}

// Events splits a stream into its events, each with the empty line after it. The last piece is what
// follows the last empty line.
func Events(stream []byte) (events [][]byte) {
	for event := range bytes.SplitAfterSeq(stream, []byte("\n\n")) {
		if len(event) > 0 {
			events = append(events, event)
		}
	}
	return events
}

// Recorded answers a request with the matching recording, or with the provider's error if none
// matches.
func Recorded(r *Request) Answer {
	path := strings.TrimPrefix(r.Path(), "/v1")
	switch {
	case r.Method == http.MethodGet && path == "/models":
		return Recording("models")
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/models/"):
		return Recording("model")
	case strings.HasPrefix(path, "/api/"):
		return ollama(r)
	case isHandshake(r):
		return switching(r)
	case opensSocket(r):
		return Recording("responses_prepared_stream")
	case r.Proto == WebSocket:
		return Recording("responses" + strings.TrimSuffix(variant(r.Body, "input"), "_stream") + "_stream")
	case r.Method != http.MethodPost:
		return Recording("error_404")
	}
	body := uncompressed(r)
	valid := gjson.ValidBytes(body)
	switch {
	case path == "/messages" && !valid:
		return Recording("messages_error_400")
	case !valid:
		return Recording("error_400")
	case path == "/embeddings" && gjson.GetBytes(body, "encoding_format").Str == "base64":
		return Recording("embeddings_base64")
	case path == "/embeddings":
		return Recording("embeddings")
	case path == "/messages/count_tokens":
		return Recording("messages_count_tokens")
	case path == "/chat/completions":
		return Recording("chat" + variant(body, "messages"))
	case path == "/responses":
		return Recording("responses" + variant(body, "input"))
	case path == "/messages":
		return Recording("messages" + variant(body, "messages"))
	}
	return Recording("error_404")
}

// ollama answers a request to Ollama's own API.
func ollama(r *Request) Answer {
	body := uncompressed(r)
	stream := ""
	if gjson.GetBytes(body, "stream").Type != gjson.False {
		stream = "_stream"
	}
	switch r.Method + " " + r.Path() {
	case "GET /api/tags":
		return Recording("ollama_tags")
	case "POST /api/embed":
		return Recording("ollama_embed")
	case "POST /api/generate":
		return Recording("ollama_generate" + stream)
	case "POST /api/chat", "POST /api/chat/":
		switch {
		case gjson.GetBytes(body, "model").Str == "missing":
			return Recording("ollama_error_404")
		case gjson.GetBytes(body, "tools.#").Int() > 0:
			return Recording("ollama_chat_tools" + stream)
		}
		return Recording("ollama_chat" + stream)
	}
	return Recording("error_404")
}

// variant returns the suffix of the recording's name that matches a request: what the last message
// is, whether tools are offered, and whether it streams.
func variant(body []byte, messages string) (name string) {
	all := gjson.GetBytes(body, messages).Array()
	var last gjson.Result
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	switch {
	case last.Get("role").Str == "tool", last.Get("type").Str == "function_call_output",
		last.Get(`content.#(type=="tool_result")`).Exists():
		name = "_after_tools"
	case gjson.GetBytes(body, "tools.#").Int() > 0:
		name = "_tools"
	case gjson.GetBytes(body, "thinking.type").Str == "enabled":
		name = "_thinking"
	}
	if gjson.GetBytes(body, "stream").Type == gjson.True {
		name += "_stream"
	}
	return name
}

// uncompressed returns a request's body, decompressed if necessary.
func uncompressed(r *Request) []byte {
	if r.Get("Content-Encoding") == "gzip" {
		return gunzip(r.Body)
	}
	return r.Body
}
