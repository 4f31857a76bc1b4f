package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
)

// added reports that sent is body with n blocks, and nothing else.
func added(t *testing.T, body, sent string, n int) {
	t.Helper()
	if got := strings.Count(sent, marker); got != n {
		t.Fatalf("%d blocks, want %d: %s", got, n, sent)
	}
	rest := sent
	for {
		i := strings.Index(rest, `{"role":"user","content":"[Pipeline Knowledge]`)
		if i < 0 {
			break
		}
		end := strings.Index(rest[i:], `[/Pipeline Knowledge]"},`)
		if end < 0 {
			t.Fatalf("a block without an end: %s", rest)
		}
		rest = rest[:i] + rest[i+end+len(`[/Pipeline Knowledge]"},`):]
	}
	if rest != body {
		t.Fatalf("changed:\n%s\n%s", body, rest)
	}
}

// A conversation with a tool loop, in each dialect. Requests differ from the
// client's only by the blocks, and answers are the model's. The messages of a
// request begin with those of the request before. The journal has every message
// once.
func TestEveryDialectEndToEnd(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		l := open(t, settings())
		learn(t, l, fact(t, "%s", retryFact), fact(t, "Quokka listens on port 7001."))
		m := serveModel(t, d, stream, "I look it up.", "Three times.", "Port 7001.", "Bye.")
		c := dial(t, l, m, ken.Turn{Session: "s1"})
		const second = "Which port does quokka listen on?"
		items := []string{d.user(question)}
		var sent []string
		send := func(blocks int) {
			t.Helper()
			body := d.body(d.system, items...)
			sent = append(sent, c.post(body))
			added(t, body, sent[len(sent)-1], blocks)
		}
		send(1)
		items = append(items, d.call, d.result)
		send(1)
		items = append(append(items, d.said("Three times.")...), d.user(second))
		send(2)
		items = append(items, d.said("Port 7001.")...)
		items = append(items, d.user("Thanks!"))
		send(2)
		for i := 1; i < len(sent); i++ {
			before := sent[i-1][:strings.LastIndex(sent[i-1], "]")]
			if !strings.HasPrefix(sent[i], before) {
				t.Errorf("request %d is not the one before and more:\n%s\n%s", i, before, sent[i])
			}
		}
		wantSaid(t, l, "s1", "user: "+question, "assistant: I look it up.", "assistant: ", "tool: retry.go:1", "assistant: Three times.",
			"user: "+second, "assistant: Port 7001.", "user: Thanks!", "assistant: Bye.")
	})
}

// If chat templates require alternating roles, the block is in the user's message.
func TestEveryDialectMerges(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		l := open(t, settings(asMerge))
		learn(t, l, fact(t, "%s", retryFact))
		m := serveModel(t, d, stream, "Three times.")
		body := d.body(d.system, d.user(question))
		sent := dial(t, l, m, ken.Turn{}).post(body)
		before, err := wire.Parse(d.Dialect, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		after, err := wire.Parse(d.Dialect, []byte(sent))
		if err != nil {
			t.Fatal(err)
		}
		got, want := after.Messages[len(after.Messages)-1].Text, before.Messages[len(before.Messages)-1].Text
		if len(after.Messages) != len(before.Messages) || !strings.HasPrefix(got, marker) || !strings.HasSuffix(got, want) {
			t.Errorf("got %+v", after.Messages)
		}
	})
}

// A request without a question gets no block, and is passed on unchanged.
func TestNothingIsAddedWhereNothingIsAsked(t *testing.T) {
	for d, bodies := range map[int][]string{
		0: {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, `{"messages":[{"role":"user","content":""}]}`, `{"messages":[`,
			`{"messages":[{"role":"assistant","content":"x"}]}`},
		1: {`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}`, `{"input":""}`, `{"input":[]}`, `{"input":"` + question,
			`{"prompt":{"id":"p"}}`, `{"input":[{"type":"item_reference","id":"x"}]}`},
		2: {`{"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`, `{"messages":[{"role":"user","content":[]}]}`, `{"messages":[],}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"` + question + `"}]}]}`},
	} {
		l := open(t, settings())
		learn(t, l, fact(t, "%s", retryFact))
		m := serveModel(t, testDialects[d], false, "x")
		for _, body := range bodies {
			if sent := dial(t, l, m, ken.Turn{Session: "s"}).post(body); sent != body {
				t.Errorf("%s: sent %s", body, sent)
			}
		}
	}
}

// A string input becomes an array of two messages, with the string unchanged.
func TestAStringInputKeepsItsBytes(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	m := serveModel(t, testDialects[1], false, "x")
	const text = `"\u0048ow often does the payments service retry a failed transfer?"`
	sent := dial(t, l, m, ken.Turn{}).post(`{"model":"m", "input" : ` + text + ` }`)
	before, after, ok := strings.Cut(sent, `{"role":"user","content":"`+marker)
	_, rest, ok2 := strings.Cut(after, `[/Pipeline Knowledge]"},`)
	if !ok || !ok2 || before != `{"model":"m", "input" : [` || rest != `{"role":"user","content":`+text+`}] }` {
		t.Errorf("sent %s", sent)
	}
}

// Nothing may come between a call and its result, so the block is behind the
// results, in the same message.
func TestABlockStandsBehindToolResults(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
	d := testDialects[2]
	m := serveModel(t, d, true, "x")
	const result = `{"type":"tool_result","tool_use_id":"c1","content":"no"}`
	text := `{"type":"text","text":` + quoted(question) + `}`
	body := d.body("", d.user("Try it."), d.call, `{"role":"user","content":[`+result+`,`+text+`]}`)
	sent := dial(t, l, m, ken.Turn{Session: "s"}).post(body)
	before, after, _ := strings.Cut(sent, `{"type":"text","text":"`+marker)
	_, rest, _ := strings.Cut(after, `[/Pipeline Knowledge]"},`)
	if before+rest != body || !strings.HasSuffix(before, result+",") {
		t.Errorf("sent %s", sent)
	}
}

// The layer reads usage and the reason for the end in each dialect, and recognises errors.
func TestListen(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		for _, encoding := range []string{"", "gzip", "deflate", "br"} {
			l := open(t, settings())
			m := serveModel(t, d, stream, "Three times.")
			m.encoding = encoding
			got := make(chan wire.Observed, 1)
			x := begin(t, l, d, d.body("", d.user(question)), ken.Turn{Session: "s"})
			resp := send(t, m, x)
			x.Listen(resp, func(h wire.Observed) { got <- h })
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			h := <-got
			if encoding == "br" {
				if h.OK || h.Answer.ID != "" {
					t.Errorf("%s: %+v", encoding, h)
				}
				continue
			}
			id, usage := "id_1", wire.Usage{Input: 7, Output: 3, Cached: 5}
			if d.Dialect == wire.Ollama { // which has neither
				id, usage.Cached = "", 0
			}
			if !h.OK || h.Answer.ID != id || h.Answer.Message.Text != "Three times." || h.Answer.Usage != usage ||
				h.Answer.Finish == "" || h.Answer.Err != "" {
				t.Errorf("%s: %+v", encoding, h)
			}
			wantSaid(t, l, "s", "user: "+question, "assistant: Three times.")
		}
	})
}

func begin(t testing.TB, l *middleware.Layer, d dialect, body string, turn ken.Turn) *middleware.Exchange {
	t.Helper()
	x, err := l.Operator().Begin(context.Background(), d.Dialect, []byte(body), func(*wire.Request) ken.Turn { return turn })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func send(t testing.TB, m *model, x *middleware.Exchange) *http.Response {
	t.Helper()
	req := chatRequest(t, m.URL+m.d.path, bytes.NewReader(x.Body))
	req.Header.Set("Accept-Encoding", "br")
	resp, err := m.Client().Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Anything else in place of an answer is reported once, and never journaled.
func TestListenToNoAnswer(t *testing.T) {
	long := "data: " + strings.Repeat("x", 5<<20) + "\n\n"
	for _, tt := range []struct {
		name   string
		status int
		body   string
		err    string
	}{
		{"an error", 429, `{"error":{"message":"slow down"}}`, "slow down"},
		{"a page", 502, "<html>Bad gateway</html>", ""},
		{"an error as an answer", 200, `{"error":{"message":"no such model"}}`, "no such model"},
		{"an error in a stream", 200, "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", "overloaded"},
		{"an answer with an error's status", 500, testDialects[0].whole("x", "Three times."), ""},
		{"nothing", 200, "", ""},
		{"one line of 5 MB", 200, long, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, settings())
			got := make(chan wire.Observed, 2)
			x := begin(t, l, testDialects[0], testDialects[0].body("", testDialects[0].user("How often?")), ken.Turn{Session: "s"})
			resp := &http.Response{StatusCode: tt.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tt.body))}
			if tt.body == "" {
				resp.Body = http.NoBody
			}
			x.Listen(resp, func(h wire.Observed) { got <- h })
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != tt.body {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			resp.Body.Close()
			resp.Body.Close()
			h := <-got
			if h.Answer.Err != tt.err || h.OK != (tt.status == 500) {
				t.Errorf("heard %+v", h)
			}
			wantSaid(t, l, "s", "user: How often?")
			if len(got) > 0 {
				t.Error("heard twice")
			}
		})
	}
}

// A listener that panics costs nothing but itself, and Close waits for those that
// are under way.
func TestListenersAndClose(t *testing.T) {
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Config: settings(), Foreground: true})
	if err != nil {
		t.Fatal(err)
	}
	listen := func(heard func(wire.Observed)) {
		x := begin(t, l, testDialects[0], testDialects[0].body("", testDialects[0].user("How often?")), ken.Turn{})
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(testDialects[0].whole("x", "y")))}
		x.Listen(resp, heard)
		io.Copy(io.Discard, resp.Body)
	}
	entered, leave, left := make(chan bool), make(chan bool), false
	listen(func(wire.Observed) { close(entered); <-leave; left = true })
	<-entered
	listen(func(wire.Observed) { panic("mine") })
	go close(leave)
	if err := l.Close(); err != nil || !left {
		t.Errorf("%v, left is %v", err, left)
	}
	listen(func(wire.Observed) { t.Error("heard after Close") })
}

func TestBeginRefuses(t *testing.T) {
	l := open(t, settings())
	for _, body := range []string{"", "{", `{"input":7}`, `{"messages":{}}`} {
		for _, d := range testDialects {
			x, err := l.Operator().Begin(t.Context(), d.Dialect, []byte(body), func(*wire.Request) ken.Turn { t.Error("asked"); return ken.Turn{} })
			if !errors.Is(err, ken.ErrInvalid) || x != nil {
				t.Errorf("%s %q: %v", d, body, err)
			}
		}
	}
	x, err := l.Operator().Begin(t.Context(), wire.Chat, []byte(chatBody([]string{object("role", "user", "content", "hi")})), nil)
	if err != nil || x.Turn.Owner != config.Default().Knowledge.Owner || x.Turn.ID == "" || x.Turn.ID != x.Receipt.Turn || x.Turn.Session != "" {
		t.Errorf("%+v, %v", x, err)
	}
}

// An incognito turn gets its knowledge, and neither it nor its answer is journaled.
func TestIncognitoIsNotJournaled(t *testing.T) {
	each(t, func(t *testing.T, d dialect, stream bool) {
		l := open(t, settings())
		learn(t, l, fact(t, "%s", retryFact))
		m := serveModel(t, d, stream, "Three times.")
		sent := dial(t, l, m, ken.Turn{Session: "s", Incognito: true}).post(d.body("", d.user(question)))
		if !strings.Contains(sent, marker) {
			t.Errorf("sent %s", sent)
		}
		if err := l.End(t.Context(), "", "no such session"); err != nil { // waits for the journal
			t.Fatal(err)
		}
		if tr, err := l.Operator().Journal("").Read(t.Context(), "s"); err == nil && len(tr.Entries) > 0 {
			t.Errorf("journaled: %+v", tr.Entries)
		}
	})
}

// Listening costs a copy: far less than 20 microseconds an event.
func BenchmarkListen(b *testing.B) {
	l := open(b, settings())
	event := []byte(`data: {"id":"chatcmpl-9","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n")
	for _, d := range testDialects {
		b.Run(d.String(), func(b *testing.B) {
			for b.Loop() {
				const events = 1000
				x := begin(b, l, d, d.body("", d.user("hi")), ken.Turn{Session: "s"})
				body := &eventReader{event: event, left: events}
				resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(body)}
				x.Listen(resp, nil)
				start := b.Elapsed()
				buf := make([]byte, 32<<10)
				for n, err := 0, error(nil); err == nil; n++ {
					_, err = resp.Body.Read(buf)
				}
				b.ReportMetric(float64((b.Elapsed()-start).Nanoseconds())/events, "ns/event")
			}
		})
	}
}

// eventReader gives one event a read.
type eventReader struct {
	event []byte
	left  int
}

func (r *eventReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	return copy(p, r.event), nil
}

// If a client leaves in the middle of a stream, the journal has the part that it
// read, and nothing continues from an answer that was not given.
func TestAClientThatGoesAway(t *testing.T) {
	for _, d := range testDialects {
		t.Run(d.String(), func(t *testing.T) {
			l := open(t, settings())
			x := begin(t, l, d, d.body("", d.user("How often?")), ken.Turn{Session: "s"})
			body := d.stream("id_1", "Three times.")
			in, out := io.Pipe()
			resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1, Body: in}
			x.Listen(resp, nil)
			upto := strings.Index(body, "Three times.") + len("Three times.")
			upto += strings.Index(body[upto:], "\n") + 1
			go io.WriteString(out, body)
			if _, err := io.ReadFull(resp.Body, make([]byte, upto)); err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			wantSaid(t, l, "s", "user: How often?", "assistant: Three times.")
		})
	}
}

// refusals are what servers say to two user messages in a row.
var refusals = []struct {
	name, body string
	status     int
}{
	{"vLLM", `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/... Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}}`, 400},
	{"llama.cpp", `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 47, column 32 in source:\n...== 0) %}↵            {{- raise_exception('After the optional system message, con...\n                                           ^\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.","type":"server_error"}}`, 500},
	{"LM Studio", `{"error":"Error rendering prompt with jinja template: \"Conversation roles must alternate user/assistant/user/assistant/...\""}`, 400},
	{"TGI", `{"error":"Template error: invalid operation: Conversation roles must alternate user/assistant/user/assistant/... (in <string>:1)","error_type":"template_error"}`, 422},
	{"Perplexity", `{"error":{"message":"After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).","type":"invalid_message","code":400}}`, 400},
	{"Perplexity, before", `{"error":{"message":"After the (optional) system message(s), user and assistant roles should be alternating.","type":"invalid_message","code":400}}`, 400},
	{"DeepSeek", `{"error":{"message":"deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, 400},
	{"Anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"}}`, 400},
	{"Bedrock", `{"message":"A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."}`, 400},
}

// strict is a model that refuses two messages of a role in a row as one of refusals does.
type strict struct {
	*httptest.Server
	calls atomic.Int64
	last  atomic.Value // what it took
}

func newStrict(t *testing.T, status int, refusal string) *strict {
	s := &strict{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		before := ""
		for _, m := range gjson.GetBytes(body, "messages").Array() {
			role := m.Get("role").Str
			if role == before || int64(len(body)) != r.ContentLength {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				io.WriteString(w, refusal)
				return
			}
			before = role
		}
		s.last.Store(string(body))
		io.WriteString(w, testDialects[0].whole("id_1", "Three times."))
	}))
	t.Cleanup(s.Close)
	return s
}

// If a chat template refuses two user messages in a row, one request of the model is
// repeated. The client gets its answer, and the next requests are merged at once.
func TestBlocksAreMergedWhereTheModelInsists(t *testing.T) {
	for _, refusal := range refusals {
		t.Run(refusal.name, func(t *testing.T) {
			l := open(t, settings())
			learn(t, l, fact(t, "The payments service retries three times."))
			m := newStrict(t, refusal.status, refusal.body)
			d := testDialects[0]
			turn := ken.Turn{Session: "s"}
			first := []string{d.user("How often does the payments service retry?")}
			for i, items := range [][]string{first, append(append(first[:1:1], d.said("Three times.")...), d.user("And the ledger, how often?"))} {
				got := postBody(t, l, m.URL+d.path, d.body(`"model":"gemma",`, items...), turn)
				if got.StatusCode != http.StatusOK || !strings.Contains(got.body, "Three times.") {
					t.Fatalf("call %d: %d %s", i, got.StatusCode, got.body)
				}
				if n := m.calls.Load(); n != int64(i+2) {
					t.Errorf("%d requests after call %d", n, i)
				}
				sent := m.last.Load().(string)
				if n := gjson.Get(sent, "messages.#").Int(); int(n) != len(items) || !strings.Contains(gjson.Get(sent, "messages.0.content").Str, "retries three times.") {
					t.Errorf("call %d was sent as %s", i, sent)
				}
			}
			wantSaid(t, l, "s", "user: How often does the payments service retry?", "assistant: Three times.", "user: And the ledger, how often?")
			m.calls.Store(0)
			if postBody(t, l, m.URL+d.path, d.body(`"model":"mistral",`, first...), ken.Turn{}); m.calls.Load() != 2 {
				t.Errorf("%d requests for a model that is new", m.calls.Load())
			}
			if p := preview(t, l, d, d.body(`"model":"gemma",`, first...), func(*wire.Request) ken.Turn { return turn }); gjson.Get(p, "messages.#").Int() != 1 {
				t.Errorf("it is counted as %s", p)
			}
		})
	}
}

// Other refusals are the client's to read, byte for byte, and so is the one of a
// conversation that does not alternate by itself. They answer the client's own request.
func TestOtherRefusalsAnswerTheClientsRequest(t *testing.T) {
	d := testDialects[0]
	twice := d.body(`"model":"gemma",`, d.user("How often does the payments service retry?"), d.user("How often does the payments service retry?"))
	for _, tt := range []struct {
		name, refusal, body string
		status              int
		calls               int64
	}{
		{"another refusal", `{"error":{"message":"unknown field"}}`, twice, 400, 2},
		{"another status", refusals[0].body, twice, 403, 1},
		{"too long", strings.Repeat(" ", 70<<10) + refusals[0].body, twice, 400, 2},
		{"the client's own", refusals[0].body, twice, 400, 3},
	} {
		l := open(t, settings())
		learn(t, l, fact(t, "The payments service retries three times."))
		m := newStrict(t, tt.status, tt.refusal)
		for i := range int64(2) {
			if got := postBody(t, l, m.URL+d.path, tt.body, ken.Turn{}); got.StatusCode != tt.status || got.body != tt.refusal || m.calls.Load() != (i+1)*tt.calls {
				t.Errorf("%s: %d after %d requests: %.200s", tt.name, got.StatusCode, m.calls.Load(), got.body)
			}
		}
	}
}

// A request that only its block makes too long for the model is answered all the same, and its
// receipt says that the block was not in it.
func TestABlockThatDoesNotFitLosesNoTurn(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		l := open(t, settings())
		learn(t, l, fact(t, "The payments service retries three times."))
		d := testDialects[0]
		body := d.body(`"model":"small",`, d.user("How often does the payments service retry?"))
		var calls atomic.Int64
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			if got, _ := io.ReadAll(r.Body); string(got) != body {
				w.WriteHeader(status)
				io.WriteString(w, `{"error":{"message":"This model's maximum context length is 40 tokens. However, you requested 81 tokens."}}`)
				return
			}
			io.WriteString(w, d.whole("id_1", "Three times."))
		}))
		t.Cleanup(up.Close)
		got := postBody(t, l, up.URL+d.path, body, ken.Turn{Session: "s"})
		if got.StatusCode != http.StatusOK || got.body != d.whole("id_1", "Three times.") || calls.Load() != 2 {
			t.Fatalf("%d after %d requests: %s", got.StatusCode, calls.Load(), got.body)
		}
		wantSaid(t, l, "s", "user: How often does the payments service retry?", "assistant: Three times.")
		receipts, _, err := l.Operator().Receipts("").List(t.Context(), receipt.Query{})
		if err != nil || len(receipts) != 1 || len(receipts[0].Degraded) != 1 || !strings.HasPrefix(receipts[0].Degraded[0], "blocks: the server refused") || receipts[0].Context.Knowledge != 0 {
			t.Errorf("receipts %+v, %v", receipts, err)
		}
	}
}

// postBody posts a body through the layer.
func postBody(t *testing.T, l *middleware.Layer, url, body string, turn ken.Turn) reply {
	t.Helper()
	base := &http.Transport{DisableCompression: true}
	defer base.CloseIdleConnections()
	resp, err := (&http.Client{Transport: l.Transport(base, turn)}).Do(chatRequest(t, url, strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(b)}
}
