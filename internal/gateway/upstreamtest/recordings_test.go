package upstreamtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// What was read is what came, whatever it was.
func FuzzReadRequest(f *testing.F) {
	f.Add("POST /v1/x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
	f.Add("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\nGET")
	f.Add("\r\nGET / HTTP/1.1\nA:b\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		req, err := readRequest(bufio.NewReader(strings.NewReader(in)), func() error { return nil })
		if err != nil {
			return
		}
		if !strings.HasPrefix(in, string(req.Raw)) {
			t.Errorf("kept %q of %q", req.Raw, in)
		}
		if len(req.Body) > len(req.Raw) || req.Get("Transfer-Encoding") == "" && !bytes.HasSuffix(req.Raw, req.Body) {
			t.Errorf("body %q of %q", req.Body, req.Raw)
		}
	})
}

// A recording is its head and its body, and the body is not touched.
func FuzzParseRecording(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\nA: b\n\nbody\r\n"))
	f.Add([]byte("HTTP/1.1 529 \nContent-Type: text/event-stream\n\ndata: 1\n\ndata"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := parseRecording(in)
		if err == nil && !bytes.HasSuffix(in, append([]byte("\n\n"), a.Body()...)) {
			t.Errorf("body %q of %q", a.Body(), in)
		}
	})
}

// Each recording is what its name says: JSON, or events of which each is JSON and
// the last one ends the stream.
func TestRecordingsAreWhole(t *testing.T) {
	for _, name := range Recordings() {
		t.Run(name, func(t *testing.T) {
			a := Recording(name)
			body := a.Body()
			switch kind := a.Get("Content-Type"); {
			case strings.Contains(name, "_html"):
				if !bytes.HasPrefix(body, []byte("<html>")) || kind[:9] != "text/html" {
					t.Errorf("%s: %q", kind, body)
				}
			case strings.HasSuffix(name, "_stream"):
				if ndjson := strings.HasPrefix(name, "ollama_"); a.Framing != Chunked || len(a.Pieces) < 2 || ndjson != (kind == "application/x-ndjson") || !ndjson && !strings.HasPrefix(kind, "text/event-stream") {
					t.Fatalf("%s in %d pieces", kind, len(a.Pieces))
				}
				for i, p := range a.Pieces {
					_, data, ok := bytes.Cut(p, []byte("data: "))
					data = bytes.TrimSuffix(data, []byte("\n\n"))
					if strings.HasPrefix(name, "ollama_") {
						data, ok = p, bytes.HasSuffix(p, []byte("}\n"))
					}
					if !ok || !json.Valid(data) && string(data) != "[DONE]" {
						t.Errorf("event %d: %q", i, p)
					}
				}
			default:
				if !json.Valid(body) || !strings.HasPrefix(kind, "application/json") {
					t.Errorf("%s: %q", kind, body)
				}
			}
			if errs := strings.Contains(name, "error_") && !strings.HasSuffix(name, "_stream"); errs != (a.Status >= 400) || a.Get("Date") == "" {
				t.Errorf("status %d", a.Status)
			}
		})
	}
}

// The pieces of a streamed tool call make the arguments of the call that came whole.
func TestStreamedToolCallsAreTheWholeOnes(t *testing.T) {
	for dialect, at := range map[string]struct{ piece, whole string }{
		"chat":      {"choices.0.delta.tool_calls.0.function.arguments", "choices.0.message.tool_calls.0.function.arguments"},
		"responses": {"delta", "output.1.arguments"},
		"messages":  {"delta.partial_json", "content.1.input"},
	} {
		var got strings.Builder
		for _, p := range Recording(dialect + "_tools_stream").Pieces {
			_, data, _ := bytes.Cut(p, []byte("data: "))
			got.WriteString(gjson.GetBytes(data, at.piece).String())
		}
		want := gjson.GetBytes(Recording(dialect+"_tools").Body(), at.whole).String()
		if !json.Valid([]byte(got.String())) || strings.ReplaceAll(got.String(), " ", "") != want {
			t.Errorf("%s: %q, want %q", dialect, got.String(), want)
		}
	}
}

func TestRecordedFitsTheRequest(t *testing.T) {
	const ask, stream = `{"role":"user","content":"q"}`, `,"stream":true}`
	for _, tt := range []struct{ target, body, want string }{
		{"/v1/chat/completions", `{"messages":[` + ask + `]}`, "chat"},
		{"/v1/chat/completions?x=/", `{"messages":[` + ask + `]` + stream, "chat_stream"},
		{"/chat/completions", `{"tools":[{}],"messages":[` + ask + `]` + stream, "chat_tools_stream"},
		{"/v1/chat/completions", `{"tools":[{}],"messages":[` + ask + `,{"role":"tool"}]}`, "chat_after_tools"},
		{"/v1/chat/completions", `{"messages":`, "error_400"},
		{"/v1/responses", `{"input":"q"}`, "responses"},
		{"/v1/responses", `{"tools":[{}],"input":[{"type":"function_call_output"}]` + stream, "responses_after_tools_stream"},
		{"/v1/messages", `{"thinking":{"type":"enabled"},"messages":[]` + stream, "messages_thinking_stream"},
		{"/v1/messages", `{"tools":[{}],"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`, "messages_after_tools"},
		{"/v1/messages", `nope`, "messages_error_400"},
		{"/v1/messages/count_tokens", `{}`, "messages_count_tokens"},
		{"/v1/embeddings", `{}`, "embeddings"},
		{"/v1/embeddings", `{"encoding_format":"base64"}`, "embeddings_base64"},
		{"/v1/nowhere", `{}`, "error_404"},
	} {
		got := Recorded(&Request{Method: http.MethodPost, Target: tt.target, Body: []byte(tt.body)})
		if !bytes.Equal(got.Body(), Recording(tt.want).Body()) {
			t.Errorf("%s %s: got %.80s, want %s", tt.target, tt.body, got.Body(), tt.want)
		}
	}
	for target, want := range map[string]string{"/v1/models": "models", "/v1/models/x": "model", "/v1/files": "error_404"} {
		if got := Recorded(&Request{Method: http.MethodGet, Target: target}); !bytes.Equal(got.Body(), Recording(want).Body()) {
			t.Errorf("%s: %s", target, got.Body())
		}
	}
}

func TestFaults(t *testing.T) {
	a := Recording("chat_stream")
	if got := Gzipped(a); !bytes.Equal(gunzip(got.Body()), a.Body()) || got.Get("Content-Encoding") != "gzip" || a.Get("Content-Encoding") != "" {
		t.Error("gzip")
	}
	const n = 1 << 20
	if got := HugeLine(n); len(got.Pieces) != len(a.Pieces)+1 || len(got.Pieces[1]) != n {
		t.Errorf("huge line: %d pieces", len(got.Pieces))
	}
	for i := range len(a.Body()) + 1 {
		if got := CutAt(a, i); !bytes.Equal(got.Body(), a.Body()[:i]) || got.Ending != Drop {
			t.Fatalf("cut at %d: %d bytes", i, len(got.Body()))
		}
	}
	if b := a.With("X", "1"); b.Get("x") != "1" || a.Get("X") != "" || b.Without("X").Get("X") != "" {
		t.Error("a changed answer changed the one it was made of")
	}
}

func TestControl(t *testing.T) {
	s, c := New(t), client(t)
	if resp, _, err := ask(t, c, s.URL+ControlPath+"requests", "{}"); err != nil || resp.StatusCode != http.StatusNotFound || len(s.Requests()) != 1 {
		t.Fatalf("closed: %v, %v", resp, err)
	}
	s.Control()
	s.Forget()
	if resp, body, err := ask(t, c, s.URL+ControlPath+"next", `[{"recording":"chat_stream","fault":"cut","n":7},{"recording":"error_429"}]`); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", body, err)
	}
	if _, got, err := ask(t, c, s.URL+"/v1/x", "one"); err == nil || len(got) != 7 {
		t.Errorf("cut: %q, %v", got, err)
	}
	if resp, _, err := ask(t, c, s.URL+"/v1/x", "two"); err != nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "20" {
		t.Errorf("%v, %v", resp, err)
	}
	for _, bad := range []string{`{}`, `[{"recording":"none"}]`, `[{"fault":"none"}]`, `[{"recording":"chat","fault":"cut","n":99999}]`, `[{"recording":"chat","n":-1}]`, `[{"fault":"half"}]`} {
		if resp, _, err := ask(t, c, s.URL+ControlPath+"next", bad); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %v, %v", bad, resp, err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+ControlPath+"requests", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var kept []Request
	b, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(b, &kept) != nil || len(kept) != 2 || string(kept[1].Body) != "two" {
		t.Errorf("kept %s, %v", b, err)
	}
}
