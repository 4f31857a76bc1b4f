package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
)

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
		io.WriteString(w, spoken[0].whole("id_1", "Three times."))
	}))
	t.Cleanup(s.Close)
	return s
}

// A chat template that refuses two user messages in a row costs one request for a model:
// the client gets its answer, and the next requests go out merged at once.
func TestBlocksAreMergedWhereTheModelInsists(t *testing.T) {
	for _, refusal := range refusals {
		t.Run(refusal.name, func(t *testing.T) {
			l := open(t, settings(patient))
			learn(t, l, fact(t, "The payments service retries three times."))
			m := newStrict(t, refusal.status, refusal.body)
			d := spoken[0]
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
// conversation that does not alternate by itself.
func TestOtherRefusalsAreNotTriedAgain(t *testing.T) {
	d := spoken[0]
	twice := d.body(`"model":"gemma",`, d.user("How often does the payments service retry?"), d.user("How often does the payments service retry?"))
	once := d.body(`"model":"gemma",`, d.user("How often does the payments service retry?"))
	for _, tt := range []struct {
		name, refusal, body string
		status              int
		calls               int64
	}{
		{"another refusal", `{"error":{"message":"unknown field"}}`, once, 400, 1},
		{"another status", refusals[0].body, once, 403, 1},
		{"too long", strings.Repeat(" ", 70<<10) + refusals[0].body, once, 400, 1},
		{"the client's own", refusals[0].body, twice, 400, 2},
	} {
		l := open(t, settings(patient))
		learn(t, l, fact(t, "The payments service retries three times."))
		m := newStrict(t, tt.status, tt.refusal)
		for i := range int64(2) {
			if got := postBody(t, l, m.URL+d.path, tt.body, ken.Turn{}); got.StatusCode != tt.status || got.body != tt.refusal || m.calls.Load() != (i+1)*tt.calls {
				t.Errorf("%s: %d after %d requests: %.200s", tt.name, got.StatusCode, m.calls.Load(), got.body)
			}
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
