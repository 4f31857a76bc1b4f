package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/internal/websocket"
	"github.com/kenlayer/ken/middleware"
)

// The headers and messages of Codex 0.169.0, without the texts of its instructions and tools.
const (
	codexThread = "01a210c1-8c35-7b91-b6a5-bbf1ee980bf0"

	codexPrepare = `{"type":"response.create","model":"gpt-5-mini","stream":true,"input":[` + codexInstructions + `],` + codexRest + `,"generate":false}`
	codexAsk     = `{"type":"response.create","model":"gpt-5-mini","stream":true,"previous_response_id":"resp_68ff0a10prepared","input":[` + codexSkills + `,` +
		codexEnvironment + `,` + codexQuestion + `],` + codexRest + `}`
	codexTool = `{"type":"response.create","model":"gpt-5-mini","stream":true,"previous_response_id":"resp_68ff0a60tools","input":[` + codexOutput + `],` + codexRest + `}`
	// A connection that goes on with the thread sends all of it again.
	codexAgain = `{"type":"response.create","model":"gpt-5-mini","stream":true,"previous_response_id":"resp_68ff0a10prepared","input":[` + codexSkills + `,` +
		codexEnvironment + `,` + codexQuestion + `,{"type":"function_call","status":"completed","id":"fc_68ff0a13call","name":"read_file","arguments":"{\"path\":\"payments/retry.go\",\"lines\":40}","call_id":"call_Tq31vWb8"},` +
		codexOutput + `,{"type":"message","status":"completed","id":"msg_68ff0a14text","role":"assistant","content":[{"type":"output_text","text":"` + "`retry.go` says so: three attempts, with ten seconds between them." + `"}]},` +
		`{"type":"message","id":"msg_01a210c1-906a-7d61-8aa7-132fa9954abc","role":"user","content":[{"type":"input_text","text":"thanks!"}]}],` + codexRest + `}`

	codexInstructions = `{"type":"message","id":"msg_5971460f-4a9a-5f00-a6e4-65195f47b090","role":"developer","content":[{"type":"input_text","text":"You are a coding agent running in the Codex CLI."}]}`
	codexSkills       = `{"type":"message","id":"msg_01a210c1-8d3a-7cb1-b534-fea3eb9da95b","role":"developer","content":[{"type":"input_text","text":"<skills_instructions>\nNone.\n</skills_instructions>"}]}`
	codexEnvironment  = `{"type":"message","id":"msg_01a210c1-8d3a-7cb1-b534-febdb9bde885","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/src</cwd>\n</environment_context>"}]}`
	codexQuestion     = `{"type":"message","id":"msg_01a210c1-8d45-7e90-8815-0140c285c647","role":"user","content":[{"type":"input_text","text":"` + question + `"}],"internal_chat_message_metadata_passthrough":{"turn_id":"01a210c1-8cbd-7ba2-90f8-231cf705e7f6","create_time":1795577450.6080}}`
	codexOutput       = `{"type":"function_call_output","id":"fco_01a210c1-8de4-74a0-8f4a-2ed2974849f2","call_id":"call_Tq31vWb8","output":"attempts = 3"}`
	codexRest         = `"tools":[{"type":"function","name":"read_file","strict":false,"parameters":{"type":"object"}}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},` +
		`"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"01a210c1-0000-7b91-b6a5-bbf1ee980bf0","client_metadata":{"thread_id":"` + codexThread + `","turn_id":""}`
)

var codexHeader = []string{"Authorization", "Bearer sk-x", "Openai-Beta", "responses_websockets=2026-02-06", "Originator", "codex_exec",
	"Session-Id", codexThread, "Thread-Id", codexThread, "User-Agent", "codex_exec/0.169.0 (Debian 12.0.0; x86_64) unknown (codex_exec; 0.169.0)",
	"X-Codex-Window-Id", codexThread + ":0", "Sec-Websocket-Extensions", "permessage-deflate; client_max_window_bits"}

const socketPath = "/v1/responses"

// wsConn is a client's end of a WebSocket.
type wsConn struct {
	t *testing.T
	net.Conn
	r    *bufio.Reader
	resp *http.Response
}

// connect makes a handshake, which may be refused.
func connect(t *testing.T, url, path string, header ...string) *wsConn {
	t.Helper()
	head := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for i := 0; i < len(header); i += 2 {
		head += header[i] + ": " + header[i+1] + "\r\n"
	}
	c := &wsConn{t: t, Conn: dial(t, url, head+"\r\n")}
	c.r = bufio.NewReader(c.Conn)
	var err error
	if c.resp, err = http.ReadResponse(c.r, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// open is connect for a handshake that is accepted.
func open(t *testing.T, url string, header ...string) *wsConn {
	t.Helper()
	c := connect(t, url, socketPath, header...)
	if c.resp.StatusCode != http.StatusSwitchingProtocols || c.resp.Header.Get("Sec-Websocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("%s, %v", c.resp.Status, c.resp.Header)
	}
	return c
}

var clientKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// send sends frames of one message, or a control frame.
func (c *wsConn) send(op websocket.Opcode, parts ...string) {
	c.t.Helper()
	var b []byte
	for i, p := range parts {
		b = websocket.AppendFrame(b, websocket.Header{Fin: i == len(parts)-1, Opcode: op, Masked: true, Key: clientKey}, []byte(p))
		op = websocket.Continuation
	}
	c.write(b)
}

func (c *wsConn) write(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads the next frame.
func (c *wsConn) frame() (websocket.Header, string) {
	c.t.Helper()
	h, payload, err := websocket.ReadFrame(c.r, 64<<20)
	if err != nil {
		c.t.Fatal(err)
	}
	return h, string(payload)
}

// ask sends a message and reads events to the last one.
func (c *wsConn) ask(text string) (events []string) {
	c.t.Helper()
	c.send(websocket.Text, text)
	for {
		_, event := c.frame()
		events = append(events, event)
		switch gjson.Get(event, "type").Str {
		case "response.completed", "response.incomplete", "response.failed", "error":
			return events
		}
	}
}

// patient has a turn wait for what is known, however loaded the machine is.
func patient(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second }

// dataOf are the events of a recording as a WebSocket carries them.
func dataOf(name string) (events []string) {
	for _, p := range upstreamtest.Recording(name).Pieces {
		_, data, _ := bytes.Cut(p, []byte("data: "))
		events = append(events, string(bytes.TrimSpace(data)))
	}
	return events
}

// Codex opens a WebSocket, fills the provider's cache, asks, calls a tool and goes on; later it
// takes the thread up again on another connection.
func TestCodexOverWebSocket(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about}, patient)
	g := start(t, l, up.URL)
	c := open(t, g.URL, codexHeader...)
	if up.Last(t).Get("Sec-WebSocket-Extensions") != "" || up.Last(t).Get("Openai-Beta") != codexHeader[3] || c.resp.Header.Get("X-Request-Id") != "req_websocket" {
		t.Errorf("handshake %v, %v", up.Last(t).Header, c.resp.Header)
	}
	for i, step := range []struct{ ask, answer string }{
		{codexPrepare, "responses_prepared_stream"}, {codexAsk, "responses_tools_stream"}, {codexTool, "responses_after_tools_stream"},
	} {
		if got, want := c.ask(step.ask), dataOf(step.answer); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d: got\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	_ = c.Close() // as Codex does, without a word
	sent := up.Requests()[1:]
	if string(sent[0].Body) != codexPrepare || string(sent[2].Body) != codexTool {
		t.Errorf("changed: %s\n%s", sent[0].Body, sent[2].Body)
	}
	injected(t, codexAsk, sent[1].Body, about)
	if at := gjson.GetBytes(sent[1].Body, "input.2.content").String(); !strings.Contains(at, marker) {
		t.Errorf("the block is not before the question: %s", sent[1].Body)
	}

	again := open(t, g.URL, codexHeader...)
	again.ask(codexPrepare)
	up.Next(upstreamtest.Recording("responses_stream"))
	again.ask(codexAgain)
	resumed := up.Last(t).Body
	injected(t, codexAgain, resumed, about)
	upToQuestion := func(b []byte) string { return string(b[:bytes.Index(b, []byte(question))]) }
	if upToQuestion(resumed) != upToQuestion(sent[1].Body) {
		t.Errorf("the prompt's beginning changed from\n%s\nto\n%s", sent[1].Body, resumed)
	}
	_ = again.Close()

	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := l.Operator().Journal("").Info(t.Context(), codexThread)
	if err != nil || info.Agent != "codex" || info.Parent != "" {
		t.Fatalf("%+v, %v", info, err)
	}
	entries := journaled(t, l, codexThread)
	if got, want := roles(entries), "user assistant tool assistant user assistant"; got != want {
		t.Errorf("journal: %s, want %s: %+v", got, want, entries)
	}
	g.stop()
	if log := g.log.String(); strings.Count(log, `"route":"/v1/responses","status":200`) != 5 || strings.Count(log, `"route":"/v1/responses (websocket)","status":101`) != 2 {
		t.Errorf("log: %s", log)
	}
}

func journaled(t *testing.T, l *middleware.Layer, id string) []session.Entry {
	t.Helper()
	tr, err := l.Operator().Journal("").Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Entries
}

func roles(entries []session.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Message.Role)
	}
	return strings.Join(out, " ")
}

// echoing is an upstream that sends each frame back as it came, unmasked, and its answer to
// the handshake is header.
func echoing(t *testing.T, header ...string) string {
	return scripted(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			h, payload, err := websocket.ReadFrame(r, 64<<20)
			if err != nil {
				return
			}
			h.Masked, h.Key = false, [4]byte{}
			if _, err := conn.Write(websocket.AppendFrame(nil, h, payload)); err != nil {
				return
			}
		}
	}, header...)
}

// What is no request for a response goes on frame by frame: fragments, pings between them,
// binary messages, 16 MB, and the close code with its reason.
func TestWebSocketFramesPassUntouched(t *testing.T) {
	g := start(t, layer(t, map[string]string{"": about}, patient), echoing(t))
	c := open(t, g.URL)
	long := strings.Repeat("0123456789abcdef", 1<<20)
	for name, frames := range map[string][]byte{
		"text":             clientFrame(websocket.Text, true, `{"type":"session.update"}`),
		"no JSON":          clientFrame(websocket.Text, true, "hello"),
		"empty":            clientFrame(websocket.Text, true, ""),
		"binary":           clientFrame(websocket.Binary, true, `{"type":"response.create"}`),
		"pong":             clientFrame(websocket.Pong, true, "x"),
		"compressed":       append([]byte{0xc1}, clientFrame(websocket.Text, true, "\xaaV\n")[1:]...),
		"long text":        clientFrame(websocket.Text, true, `{"type":"other","x":"`+long+`"}`),
		"long binary":      clientFrame(websocket.Binary, true, long),
		"fragments, pings": bytes.Join([][]byte{clientFrame(websocket.Text, false, `{"type":`), clientFrame(websocket.Ping, true, "p"), clientFrame(websocket.Continuation, false, ""), clientFrame(websocket.Continuation, true, `"x"}`)}, nil),
	} {
		go func() { _, _ = c.Write(frames) }()
		passes(t, c, name, frames)
	}
	closing := clientFrame(websocket.Close, true, "\x0f\xa1bye")
	c.write(closing)
	passes(t, c, "close", closing)
}

// passes fails unless the frames come back.
func passes(t *testing.T, c *wsConn, name string, frames []byte) {
	t.Helper()
	var want []string
	for r := bytes.NewReader(frames); r.Len() > 0; {
		h, payload, err := websocket.ReadFrame(r, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		h.Masked, h.Key = false, [4]byte{}
		want = append(want, string(websocket.AppendFrame(nil, h, payload)))
	}
	var got []string
	for range want {
		h, payload := c.frame()
		got = append(got, string(websocket.AppendFrame(nil, h, []byte(payload))))
	}
	// A control frame may overtake the fragments between which it stands.
	for _, w := range want {
		found := false
		for _, f := range got {
			found = found || f == w
		}
		if !found {
			t.Errorf("%s: %.80q did not come back, but %.200q", name, w, got)
		}
	}
}

func clientFrame(op websocket.Opcode, fin bool, payload string) []byte {
	return websocket.AppendFrame(nil, websocket.Header{Fin: fin, Opcode: op, Masked: true, Key: clientKey}, []byte(payload))
}

// A request may come in fragments with pings between them, and be 16 MB long.
func TestWebSocketRequestInFragments(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}, patient), up.URL)
	c := open(t, g.URL)
	long := `{"type":"response.create","model":"m","metadata":{"x":"` + strings.Repeat("0123456789abcdef", 1<<20) + `"},"input":"` + question + `"}`
	third := len(long) / 3
	for i, part := range []string{long[:third], long[third : 2*third], long[2*third:]} {
		op := websocket.Text
		if i > 0 {
			op = websocket.Continuation
			c.write(clientFrame(websocket.Ping, true, "ping"))
			if h, payload := c.frame(); h.Opcode != websocket.Pong || payload != "ping" {
				t.Fatalf("%+v %q", h, payload)
			}
		}
		c.write(clientFrame(op, i == 2, part))
	}
	for {
		if _, event := c.frame(); gjson.Get(event, "type").Str == "response.completed" {
			break
		}
	}
	got := up.Last(t).Body
	if input := gjson.GetBytes(got, "input.0.content").String(); !strings.Contains(input, about) || !bytes.Contains(got, []byte(long[:third])) {
		t.Errorf("%d bytes, input %s", len(got), input)
	}
}

// Compression is negotiated away. An upstream that compresses all the same is passed through.
func TestWebSocketCompressionPasses(t *testing.T) {
	g := start(t, layer(t, nil), echoing(t, "Sec-WebSocket-Extensions", "permessage-deflate"))
	c := open(t, g.URL, "Sec-WebSocket-Extensions", "permessage-deflate")
	if got := c.resp.Header.Get("Sec-WebSocket-Extensions"); got != "permessage-deflate" {
		t.Errorf("extensions %q", got)
	}
	frame := append([]byte{0xc1}, clientFrame(websocket.Text, true, "\xaaV*\xa9,HU\xb2R*J-.\xc8\xcf+NU\xd2QJ.JM,I\x05\x00")[1:]...)
	c.write(frame)
	passes(t, c, "compressed", frame)
}

// An upstream that takes no WebSocket says so itself, and so does Ken where it would look into
// HTTP alone: clients then send their requests over HTTP.
func TestWebSocketRefused(t *testing.T) {
	up := upstreamtest.New(t)
	up.Next(upstreamtest.Recording("error_429"))
	g := start(t, layer(t, map[string]string{"": about}, patient), up.URL)
	c := connect(t, g.URL, socketPath, codexHeader...)
	body, err := io.ReadAll(c.resp.Body)
	if want := upstreamtest.Recording("error_429"); err != nil || c.resp.StatusCode != 429 || string(body) != string(want.Body()) || c.resp.Header.Get("Retry-After") != want.Get("Retry-After") {
		t.Errorf("%s: %s, %v", c.resp.Status, body, err)
	}
	for range 2 {
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			c := connect(t, g.URL, path)
			body, err := io.ReadAll(c.resp.Body)
			if err != nil || c.resp.StatusCode != http.StatusUpgradeRequired || c.resp.Header.Get("X-Ken-Error") != "no_websocket" || !json.Valid(body) {
				t.Errorf("%s: %s: %s, %v", path, c.resp.Status, body, err)
			}
		}
	}
	if n := len(up.Requests()); n != 1 {
		t.Errorf("%d requests went on", n)
	}
	g.stop()
	if n := strings.Count(g.log.String(), "asked for a WebSocket"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// X-Ken: off leaves a WebSocket alone, and so its compression.
func TestWebSocketOff(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}, patient), up.URL)
	c := open(t, g.URL, "X-Ken", "off", "Sec-WebSocket-Extensions", "permessage-deflate")
	if up.Last(t).Get("Sec-WebSocket-Extensions") != "permessage-deflate" {
		t.Errorf("%v", up.Last(t).Header)
	}
	c.ask(codexAsk)
	if got := up.Last(t).Body; string(got) != codexAsk {
		t.Errorf("changed: %s", got)
	}
}

// A client that sends no more still gets its answer.
func TestWebSocketHalfClose(t *testing.T) {
	g := start(t, layer(t, map[string]string{"": about}, patient), scripted(t, func(conn net.Conn, r *bufio.Reader) {
		_, _, _ = websocket.ReadFrame(r, 1<<20)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the end did not arrive: %v", err)
		}
		for _, e := range dataOf("responses_stream") {
			_, _ = conn.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Text}, []byte(e)))
		}
	}))
	c := open(t, g.URL)
	c.send(websocket.Text, codexAsk)
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range dataOf("responses_stream") {
		c.frame()
	}
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("after the last event: %v", err)
	}
}

// scripted is an upstream that accepts a WebSocket and then does as told.
func scripted(t *testing.T, script func(net.Conn, *bufio.Reader), header ...string) string {
	return upgradingTo(t, func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Accept", websocket.AcceptKey(r.Header.Get("Sec-WebSocket-Key")))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		script(conn, rw.Reader)
	})
}

// When the client leaves, the upstream's connection is closed, and what had come is journaled.
func TestWebSocketClientLeaves(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about}, patient)
	g := start(t, l, up.URL, configured(func(c *config.Gateway) { c.Drain = 0 }))
	c := open(t, g.URL, codexHeader...)
	up.Next(upstreamtest.Stalled(upstreamtest.Recording("responses_stream"), 12))
	c.send(websocket.Text, strings.Replace(codexAsk, "resp_68ff0a10prepared", "resp_unknown", 1))
	for range 12 {
		c.frame()
	}
	_ = c.Close()
	<-up.Last(t).Gone()
	g.stop()
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := journaled(t, l, codexThread)
	if roles(entries) != "user assistant" || !strings.HasPrefix("The payments service retries a failed transfer", strings.TrimSpace(entries[1].Message.Text)) {
		t.Errorf("%+v", entries)
	}
}

// A key that is taken away asks for nothing more, on a connection that is open.
func TestWebSocketKeyTakenAway(t *testing.T) {
	up := upstreamtest.New(t)
	entry, key := keyFor("ana", "ana")
	other, _ := keyFor("kim", "kim")
	g := start(t, layer(t, nil), up.URL, withKeys(entry, other))
	if c := connect(t, g.URL, socketPath); c.resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %s", c.resp.Status)
	}
	c := open(t, g.URL, "X-Ken-Key", key)
	c.ask(codexAsk)
	cfg := config.Default().Gateway
	cfg.Keys = []config.GatewayKey{other}
	if _, err := g.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	n := len(up.Requests())
	c.send(websocket.Text, codexTool)
	if _, _, err := websocket.ReadFrame(c.r, 1<<20); err == nil {
		t.Error("the connection goes on")
	}
	if len(up.Requests()) != n {
		t.Error("the request went on")
	}
}

// With no room for a body it goes on as it is, and its answer as well.
func TestWebSocketWithoutRoom(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}, patient), up.URL, configured(func(c *config.Gateway) { c.LookBytes = 64 << 10 }))
	c := open(t, g.URL)
	long := strings.Replace(codexAsk, `"model"`, `"metadata":{"x":"`+strings.Repeat("x", 100<<10)+`"},"model"`, 1)
	c.ask(long)
	if got := up.Last(t).Body; string(got) != long {
		t.Errorf("changed: %d bytes", len(got))
	}
	c.ask(codexAsk)
	injected(t, codexAsk, up.Last(t).Body, about)
}

// A response whose last event is too long to be looked into is over all the same: the next
// one is heard.
func TestWebSocketLongEvent(t *testing.T) {
	l := layer(t, map[string]string{"": about}, patient)
	text := func(s string) []byte {
		return websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Text}, []byte(s))
	}
	g := start(t, l, scripted(t, func(conn net.Conn, r *bufio.Reader) {
		for _, size := range []int{5 << 20, 1} {
			if _, _, err := websocket.ReadFrame(r, 1<<20); err != nil {
				return
			}
			said := strings.Repeat("x", size)
			_, _ = conn.Write(text(`{"type":"response.completed","response":{"id":"a","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said + `"}]}]}}`))
		}
		_, _ = r.ReadByte()
	}))
	c := open(t, g.URL, "X-Ken-Session", "s")
	for _, ask := range []string{question, "And when does it pay?"} {
		c.ask(`{"type":"response.create","model":"m","input":` + jsonOf(ask) + `}`)
	}
	_ = c.Close()
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries := journaled(t, l, "s"); roles(entries) != "user user assistant" || entries[2].Message.Text != "x" {
		t.Errorf("%+v", entries)
	}
}

// What is asked over a WebSocket counts like what is asked over HTTP: each request once, with
// the tokens that its answer names. The handshake is none.
func TestUsageOverAWebSocket(t *testing.T) {
	u, err := usage.Open("", usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, layer(t, map[string]string{"": about}, patient), upstreamtest.New(t).URL, func(o *gateway.Options) { o.Operator().Usage = u })
	c := open(t, g.URL, codexHeader...)
	var input, output int64
	for _, ask := range []string{codexPrepare, codexAsk, codexTool} {
		events := c.ask(ask)
		last := gjson.Get(events[len(events)-1], "response.usage")
		input, output = input+last.Get("input_tokens").Int(), output+last.Get("output_tokens").Int()
	}
	_ = c.Close()
	g.stop()
	var sum usage.Row
	for _, r := range u.Totals() {
		if r.Key != "local" || r.Model == "" {
			t.Errorf("%+v", r)
		}
		sum.Add(&r)
	}
	if sum.Requests != 3 || sum.Input != input || sum.Output != output || input == 0 || output == 0 || sum.Unpriced != 3 {
		t.Errorf("%+v, the answers say %d and %d", sum, input, output)
	}
}
