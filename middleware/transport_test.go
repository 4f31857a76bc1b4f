package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

const marker = "[Pipeline Knowledge]"

// sender is a base transport that keeps what it is given and answers.
type sender struct {
	mu   sync.Mutex // guards the rest
	sent []*http.Request
	body [][]byte
}

func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.body = append(s.sent, req), append(s.body, body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// post sends one body through a transport over l and returns what arrived.
func post(t testing.TB, l *middleware.Layer, body string) string {
	t.Helper()
	var base sender
	resp, err := l.Transport(&base, ken.Turn{}).RoundTrip(chatRequest(t, "http://model/v1/chat/completions", strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := base.sent[0].ContentLength; n != int64(len(base.body[0])) {
		t.Errorf("Content-Length is %d, the body %d", n, len(base.body[0]))
	}
	return string(base.body[0])
}

func chatRequest(t testing.TB, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

// Whatever a request looks like, taking the block out gives it back byte for byte.
func TestTransportKeepsEveryByte(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	ask := object("role", "user", "content", question)
	const picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
	thousands := make([]string, 0, 2000)
	for i := range 999 {
		thousands = append(thousands, object("role", "user", "content", "step "+strconv.Itoa(i)), object("role", "assistant", "content", "done"))
	}
	for _, tt := range []struct {
		name, body string
		blocks     int
	}{
		{"question", chatBody([]string{ask}), 1},
		{"spaces", " {\n\t\"messages\" : [ " + ask + " ] ,\r\n \"n\" : 1 } \n", 1},
		{"unknown fields", `{"messages":[{"role":"user","content":"` + question + `","cache_control":{"type":"ephemeral"}}],"provider":{"only":["x"]},"temperature":0.0,"top_p":1E0}`, 1},
		{"escapes", `{"messages":[{"role":"user","content":"\u0048ow often does the payments service \"retry\" a failed transfer \ud83d\ude00 \/ \u003c?"}]}`, 1},
		{"history", chatBody([]string{object("role", "system", "content", "Be brief."), object("role", "user", "content", "hi"), object("role", "assistant", "content", "hello"), ask}), 1},
		{"parts", chatBody([]string{`{"role":"user","content":[` + picture + `,{"type":"text","text":"` + question + `"}]}`}), 1},
		{"a tool loop", chatBody([]string{ask,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"grep","arguments":"{}"}}]}`,
			object("role", "tool", "tool_call_id", "1", "content", "retry.go:1")}), 1},
		{"2,000 messages", chatBody(append(thousands, ask)), 1},
		{"stream", `{"stream":true,"stream_options":{"include_usage":true},"messages":[` + ask + `]}`, 1},
		{"no messages", chatBody(nil), 0},
		{"only a system prompt", chatBody([]string{object("role", "system", "content", question)}), 0},
		{"a picture alone", chatBody([]string{`{"role":"user","content":[` + picture + `]}`}), 0},
		{"content null", chatBody([]string{`{"role":"user","content":null}`}), 0},
		{"thanks", chatBody([]string{object("role", "user", "content", "thanks!")}), 0},
		{"not JSON", `{"messages":[` + ask, 0},
		{"another request", `{"prompt":"` + question + `"}`, 0},
		{"empty", ``, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent := post(t, l, tt.body)
			if n := strings.Count(sent, marker); n != tt.blocks {
				t.Fatalf("%d blocks, want %d: %.2000s", n, tt.blocks, sent)
			}
			n := 0
			for n < len(tt.body) && sent[n] == tt.body[n] {
				n++
			}
			if !strings.HasSuffix(sent, tt.body[n:]) || tt.blocks == 0 && sent != tt.body {
				t.Errorf("changed:\n%.2000s\n%.2000s", tt.body, sent)
			}
			if _, err := wire.Parse(wire.Chat, []byte(sent)); tt.blocks > 0 && err != nil {
				t.Error(err)
			}
		})
	}
}

// In merge mode, the block is at the beginning of the user's message.
func TestTransportMerges(t *testing.T) {
	l := open(t, settings(asMerge))
	learn(t, l, fact(t, "%s", retryFact))
	for name, content := range map[string]string{
		"text":  `"` + question + `"`,
		"parts": `[{"type":"text","text":"` + question + `"}]`,
	} {
		before, err := wire.Parse(wire.Chat, []byte(`{"messages":[{"role":"user","content":`+content+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		after, err := wire.Parse(wire.Chat, []byte(post(t, l, `{"messages":[{"role":"user","content":`+content+`}]}`)))
		if err != nil {
			t.Fatal(err)
		}
		got := after.Messages[0].Text
		if len(after.Messages) != 1 || !strings.HasPrefix(got, marker) || !strings.HasSuffix(got, "\n\n"+before.Messages[0].Text) && name == "text" {
			t.Errorf("%s: got %+v", name, after.Messages)
		}
	}
}

func TestTransportPassesTheRest(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	chat := chatBody([]string{object("role", "user", "content", question)})
	huge := `{"messages":[` + object("role", "user", "content", question) + `],"pad":"` + strings.Repeat("x", 32<<20) + `"}`
	for _, tt := range []struct {
		name, method, path, encoding, body string
		unknownLength                      bool
	}{
		{name: "embeddings", method: "POST", path: "/v1/embeddings", body: chat},
		{name: "responses", method: "POST", path: "/v1/responses", body: chat},
		{name: "GET", method: "GET", path: "/v1/chat/completions"},
		{name: "GET with a body", method: "GET", path: "/v1/chat/completions", body: chat},
		{name: "stored completions", method: "POST", path: "/v1/chat/completions/cmpl-1", body: chat},
		{name: "compressed", method: "POST", path: "/v1/chat/completions", encoding: "gzip", body: "\x1f\x8b\x08rest"},
		{name: "huge", method: "POST", path: "/v1/chat/completions", body: huge},
		{name: "huge, of unknown length", method: "POST", path: "/v1/chat/completions", body: huge, unknownLength: true},
		{name: "empty, of unknown length", method: "POST", path: "/v1/chat/completions", unknownLength: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(context.Background(), tt.method, "http://model"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.encoding != "" {
				req.Header.Set("Content-Encoding", tt.encoding)
			}
			closed := &closing{Reader: strings.NewReader(tt.body)}
			if req.Body = closed; tt.unknownLength {
				req.ContentLength, req.GetBody = -1, nil
			}
			length := req.ContentLength
			var base sender
			resp, err := l.Transport(&base, ken.Turn{}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !bytes.Equal(base.body[0], []byte(tt.body)) {
				t.Errorf("the body changed: %d bytes became %d", len(tt.body), len(base.body[0]))
			}
			if base.sent[0].ContentLength != length || !cmp.Equal(base.sent[0].Header, req.Header) {
				t.Errorf("length %d, header %v", base.sent[0].ContentLength, base.sent[0].Header)
			}
			if !closed.closed {
				t.Error("the body was not closed")
			}
		})
	}
}

// closing notes that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// The header names the session and stays here; the rest of the request is sent
// as it is, and the caller's request is left alone.
func TestTransportHeaders(t *testing.T) {
	var sessions []string
	l := open(t, settings(), func(o *middleware.Options) {
		o.OnReceipt = func(_ context.Context, r ken.Receipt) { sessions = append(sessions, r.Session) }
	})
	learn(t, l, fact(t, "%s", retryFact))
	body := chatBody([]string{object("role", "user", "content", question)})
	var base sender
	tr := l.Transport(&base, ken.Turn{ID: "one for all", Session: "template"})
	for _, session := range []string{"", "mine"} {
		req := chatRequest(t, "http://model/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer k")
		req.Header["X-Odd-case"] = []string{"a", "b"}
		want := req.Header.Clone()
		if session != "" {
			req.Header.Set(middleware.SessionHeader, session)
		}
		before := req.Clone(context.Background())
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if diff := cmp.Diff(want, base.sent[len(base.sent)-1].Header); diff != "" {
			t.Errorf("sent header: %s", diff)
		}
		if !cmp.Equal(before.Header, req.Header) || req.ContentLength != before.ContentLength || req.Body != before.Body {
			t.Error("the caller's request changed")
		}
	}
	if diff := cmp.Diff([]string{"template", "mine"}, sessions); diff != "" {
		t.Error(diff)
	}
	resp, err := tr.RoundTrip(&http.Request{Method: http.MethodGet, URL: base.sent[0].URL, Header: http.Header{middleware.SessionHeader: {"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := base.sent[2].Header; len(h) != 0 {
		t.Errorf("sent with another request: %v", h)
	}
}

// A base that has to send a body twice, or a server that redirects, gets the
// same body again.
func TestTransportBodyCanBeSentAgain(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	body := chatBody([]string{object("role", "user", "content", question)})
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("/old/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, string(b))
		http.Redirect(w, r, "/new/chat/completions", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/new/chat/completions", func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, string(b), r.Header.Get(middleware.SessionHeader))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	base := &again{base: server.Client().Transport}
	client := &http.Client{Transport: l.Transport(base, ken.Turn{})}
	req := chatRequest(t, server.URL+"/old/chat/completions", strings.NewReader(body))
	req.Header.Set(middleware.SessionHeader, "s")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(got) != 3 || !strings.Contains(got[0], marker) || got[1] != got[0] || got[2] != "" {
		t.Errorf("got %q", got)
	}
	for i, b := range base.bodies {
		if b != got[0] {
			t.Errorf("GetBody %d: %q", i, b)
		}
	}
	client.CloseIdleConnections()
	if !base.idle {
		t.Error("CloseIdleConnections does not reach the base")
	}
}

// again reads GetBody before it sends.
type again struct {
	base   http.RoundTripper
	bodies []string
	idle   bool
}

func (a *again) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	a.bodies = append(a.bodies, string(b))
	return a.base.RoundTrip(req)
}

func (a *again) CloseIdleConnections() { a.idle = true }

// Conversations at the same time each get their own knowledge, and each keeps it.
func TestTransportConcurrentConversations(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Retrieval.Deadline = config.Default().Upstream.Timeout / 4 }))
	var claims []ken.Claim
	for i := range 16 {
		claims = append(claims, fact(t, "The port of the service named quokka%d is %d.", i, 7000+i))
	}
	learn(t, l, claims...)
	var base sender
	tr := l.Transport(&base, ken.Turn{})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			msgs := []string{object("role", "user", "content", fmt.Sprintf("What is the port of quokka%d?", i))}
			for range 4 {
				req := chatRequest(t, "http://model/v1/chat/completions", strings.NewReader(chatBody(msgs)))
				req.Header.Set(middleware.SessionHeader, strconv.Itoa(i))
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				msgs = append(msgs, object("role", "assistant", "content", ""), object("role", "tool", "content", "ok"))
			}
		})
	}
	all.Wait()
	if len(base.body) != 64 {
		t.Fatalf("%d requests arrived", len(base.body))
	}
	blocks := map[string]string{}
	for _, body := range base.body {
		msgs := rawMessages(body)
		if !isBlock(msgs[0]) {
			t.Fatalf("no block: %s", body)
		}
		var i int
		fmt.Sscanf(msgs[1], `{"role":"user","content":"What is the port of quokka%d?"}`, &i)
		if !strings.Contains(msgs[0], strconv.Itoa(7000+i)) {
			t.Errorf("conversation %d got %s", i, msgs[0])
		}
		if before, ok := blocks[msgs[1]]; ok && before != msgs[0] {
			t.Errorf("conversation %d got two blocks", i)
		}
		blocks[msgs[1]] = msgs[0]
	}
}

// A request that is cancelled ends, even while the caller still writes its body.
func TestTransportCancel(t *testing.T) {
	l := open(t, settings())
	t.Run("while reading the body", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		in, out := io.Pipe()
		done := make(chan error)
		go func() {
			req := chatRequest(t, "http://model/v1/chat/completions", in).WithContext(ctx)
			resp, err := l.Transport(&sender{}, ken.Turn{}).RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		if _, err := io.WriteString(out, `{"messages":[`); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("while waiting for the server", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		end := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			cancel()
			<-end
		}))
		defer server.Close()
		defer close(end)
		client := &http.Client{Transport: l.Transport(server.Client().Transport, ken.Turn{})}
		req := chatRequest(t, server.URL+"/chat/completions", strings.NewReader(chatBody([]string{object("role", "user", "content", question)})))
		resp, err := client.Do(req.WithContext(ctx))
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTransportErrorsAreTheirOwn(t *testing.T) {
	l := open(t, settings())
	t.Run("body", func(t *testing.T) {
		broken := errors.New("disk on fire")
		in := &closing{Reader: io.MultiReader(strings.NewReader("{"), failing{broken})}
		resp, err := l.Transport(&sender{}, ken.Turn{}).RoundTrip(chatRequest(t, "http://model/chat/completions", in))
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, broken) || !in.closed {
			t.Errorf("got %v, closed %t", err, in.closed)
		}
	})
	t.Run("connection", func(t *testing.T) {
		down := errors.New("no route")
		_, err := l.Transport(failing{down}, ken.Turn{}).RoundTrip(chatRequest(t, "http://model/chat/completions", strings.NewReader("{}"))) //nolint:bodyclose // there is none
		if err != down {
			t.Errorf("got %v", err)
		}
	})
	t.Run("status", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":{"message":"slow down"}}`)
		}))
		defer server.Close()
		client := &http.Client{Transport: l.Transport(server.Client().Transport, ken.Turn{})}
		resp, err := client.Do(chatRequest(t, server.URL+"/chat/completions", strings.NewReader(chatBody(nil))))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "7" || string(body) != `{"error":{"message":"slow down"}}` {
			t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)                        { return 0, f.err }
func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// Events of a stream arrive as the server sends them, not when it is done.
func TestTransportStreams(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{"data: {\"a\":1}\n\n", ": a comment\n\n", "data: [DONE]\n\n"} {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
			<-read // until the client has it
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: l.Transport(server.Client().Transport, ken.Turn{})}
	resp, err := client.Do(chatRequest(t, server.URL+"/chat/completions",
		strings.NewReader(`{"stream":true,"messages":[`+object("role", "user", "content", question)+`]}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, want := range []string{"data: {\"a\":1}\n\n", ": a comment\n\n", "data: [DONE]\n\n"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
		read <- struct{}{}
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

func BenchmarkTransport(b *testing.B) {
	l := open(b, settings())
	learn(b, l, fact(b, "%s", retryFact))
	var msgs []string
	for range 200 {
		msgs = append(msgs, object("role", "user", "content", strings.Repeat("word ", 30)), object("role", "assistant", "content", strings.Repeat("text ", 40)))
	}
	msgs = append(msgs, object("role", "user", "content", question))
	body := chatBody(msgs)
	tr := l.Transport(failing{io.EOF}, ken.Turn{Session: "s"})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		tr.RoundTrip(chatRequest(b, "http://model/chat/completions", strings.NewReader(body))) //nolint:bodyclose // there is none
	}
}
