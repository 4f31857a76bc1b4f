package gateway_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
)

// last is what became of one call.
type seen struct {
	mode, policy string
	block, kept  bool // it got a block; its session has a journal
	turn         bool // the answer names a turn
}

// policed serves calls, each in a session of its own, and reports what became of them.
type policed struct {
	t    *testing.T
	gate *gate
	up   *upstreamtest.Server
	info func(session string) bool
	m    *metrics.Metrics
	n    int
}

func police(t *testing.T, change ...func(*gateway.Options)) *policed {
	t.Helper()
	l := layer(t, map[string]string{"default": about})
	p := &policed{t: t, up: upstreamtest.New(t), m: metrics.New()}
	p.gate = start(t, l, p.up.URL, append(change, func(o *gateway.Options) { o.Operator().Metrics = p.m })...)
	p.info = func(session string) bool {
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if session != "" {
			_, err := l.Operator().Journal("").Info(t.Context(), session)
			if err != nil && !errors.Is(err, ken.ErrNotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		all, err := l.Operator().Journal("").List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all) > 0
	}
	return p
}

func (p *policed) call(path, body string, header ...string) seen {
	p.t.Helper()
	p.up.Forget()
	p.n++
	session := "s" + strings.Repeat("x", p.n)
	r := post(p.t, p.gate.URL+path, body, append(header, "X-Ken-Session", session)...)
	return seen{r.Header.Get("X-Ken-Mode"), r.Header.Get("X-Ken-Policy"), strings.Contains(string(p.up.Requests()[0].Body), marker),
		p.info(session), r.Header.Get("X-Ken-Turn") != ""}
}

// What agents send for themselves gets no block, has no session and leaves nothing; what
// they send for their users does. The recordings are of real agents, shortened.
func TestSideCallsOfRealAgents(t *testing.T) {
	files, err := filepath.Glob("testdata/sidecalls/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rec struct {
				Kind, Path string
				UserAgent  string `json:"user_agent"`
				Body       json.RawMessage
			}
			if err := json.Unmarshal(b, &rec); err != nil {
				t.Fatal(err)
			}
			p := police(t)
			sent := string(rec.Body)
			r := post(t, p.gate.URL+rec.Path, sent, "User-Agent", rec.UserAgent, "X-Session-Id", "ses_1")
			mode, policy, sessions := r.Header.Get("X-Ken-Mode"), r.Header.Get("X-Ken-Policy"), p.info("")
			if rec.Kind == "" {
				if mode == "side" || policy != "" || !sessions {
					t.Errorf("a turn is taken for a side call: mode %q, policy %q", mode, policy)
				}
				return
			}
			if mode != "side" || policy != "side:"+rec.Kind || sessions || r.Header.Get("X-Ken-Turn") != "" || string(p.up.Requests()[0].Body) != sent {
				t.Errorf("a side call is taken for a turn: mode %q, policy %q, journaled %v", mode, policy, sessions)
			}
			if out := scraped(t, p); !strings.Contains(out, `ken_policy_total{rule="side:`+rec.Kind+`"} 1`) {
				t.Errorf("it is not counted: %s", out)
			}
		})
	}
}

func scraped(t *testing.T, p *policed) string {
	t.Helper()
	return do(t, request(t, http.MethodGet, p.gate.URL+"/metrics", "")).body
}

// What looks like a side call and is none keeps its knowledge.
func TestNoFalseSideCalls(t *testing.T) {
	p := police(t)
	title := `{"role":"system","content":"You are a title generator. You output ONLY a thread title. Nothing else."},`
	asks := `{"role":"user","content":"` + question + `"}`
	tools := `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],`
	claude := []string{"User-Agent", "claude-cli/2.1.197 (external, cli)"}
	opencode := []string{"User-Agent", "opencode/1.18.33"}
	for name, tt := range map[string]struct {
		path, body string
		header     []string
		side       string
	}{
		"title of opencode":       {chatPath, `{"messages":[` + title + asks + `]}`, opencode, "side:title"},
		"with tools":              {chatPath, `{` + tools + `"messages":[` + title + asks + `]}`, opencode, ""},
		"of another program":      {chatPath, `{"messages":[` + title + asks + `]}`, nil, ""},
		"asked for":               {chatPath, `{"messages":[` + title + asks + `]}`, append(opencode, "X-Ken", "on"), ""},
		"a question":              {chatPath, `{"messages":[` + asks + `]}`, nil, ""},
		"a short answer":          {chatPath, `{"max_tokens":1,"messages":[` + asks + `]}`, nil, ""},
		"JSON":                    {chatPath, `{"response_format":{"type":"json_object"},"messages":[{"role":"system","content":"Answer as JSON."},` + asks + `]}`, nil, ""},
		"extraction":              {chatPath, `{"response_format":{"type":"json_object"},"messages":[{"role":"system","content":"Extract the invoice's fields."},` + asks + `]}`, nil, "side:extraction"},
		"extraction in words":     {chatPath, `{"messages":[{"role":"system","content":"Extract the invoice's fields."},` + asks + `]}`, nil, ""},
		"quota":                   {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`, claude, "side:quota"},
		"quota of anybody":        {"/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`, nil, ""},
		"a page":                  {"/v1/messages", `{"model":"m","max_tokens":512,"messages":[{"role":"user","content":"Web page content:\n---\nPaymentService"}]}`, claude, "side:page"},
		"a title of Open WebUI":   {chatPath, `{"messages":[{"role":"user","content":"### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:"}]}`, nil, "side:title"},
		"somebody who quotes one": {chatPath, `{"messages":[{"role":"user","content":"What does ### Task:\nGenerate a concise, 3-5 word title do? And ` + question + `"}]}`, nil, ""},
	} {
		got := p.call(tt.path, tt.body, tt.header...)
		want := seen{mode: "side", policy: tt.side}
		if tt.side == "" {
			want = seen{got.mode, "", got.block, true, true}
			if got.mode == "side" || strings.Contains(tt.body, question) && !got.block {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The first rule that fits decides, by model, path, agent, key and tools.
func TestPolicyDecides(t *testing.T) {
	ana, anas := keyFor("ana", "default", "chat", "operate")
	ben, bens := keyFor("ben", "default")
	var cfg config.Gateway
	p := police(t, configured(func(c *config.Gateway) {
		defer func() { cfg = *c }()
		c.Keys = []config.GatewayKey{ana, ben}
		c.Policy = []config.PolicyRule{
			{Model: "acme/*-embed*", Knowledge: new(false), Learn: new(false)},
			{Agent: "opencode"},
			{Agent: "nightly-*", Learn: new(false)},
			{Key: "ben", Tools: new(true), Knowledge: new(false)},
			{Path: "*/messages", Knowledge: new(false), Learn: new(false)},
		}
	}))
	ask := func(model, rest string) string {
		return `{"model":"` + model + `",` + rest + `"messages":[{"role":"user","content":"` + question + `"}]}`
	}
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],`
	title := `{"messages":[{"role":"system","content":"You are a title generator. You output ONLY a thread title. Nothing else."},{"role":"user","content":"` + question + `"}]}`
	for name, tt := range map[string]struct {
		path, body, key string
		header          []string
		want            seen
	}{
		"nothing fits":                 {chatPath, ask("m", ""), anas, nil, seen{"hybrid", "", true, true, true}},
		"by model":                     {chatPath, ask("ACME/text-embed-3", ""), anas, nil, seen{"none", "policy[0]", false, false, false}},
		"a rule without effects":       {chatPath, title, anas, []string{"User-Agent", "opencode/1.18.33"}, seen{"hybrid", "policy[1]", true, true, true}},
		"by User-Agent":                {chatPath, ask("m", ""), anas, []string{"User-Agent", "nightly-report/2"}, seen{"hybrid", "policy[2]", true, false, true}},
		"by X-Ken-Agent":               {chatPath, ask("m", ""), anas, []string{"X-Ken-Agent", "nightly-report"}, seen{"hybrid", "policy[2]", true, false, true}},
		"by key and tools":             {chatPath, ask("m", tools), bens, nil, seen{"none", "policy[3]", false, true, true}},
		"by key, without tools":        {chatPath, ask("m", ""), bens, nil, seen{"hybrid", "", true, true, true}},
		"by path":                      {"/v1/messages", ask("m", `"max_tokens":9,`), anas, nil, seen{"none", "policy[4]", false, false, false}},
		"by path, with a slash":        {"/v1/messages/", ask("m", `"max_tokens":9,`), anas, nil, seen{"none", "policy[4]", false, false, false}},
		"X-Ken: on takes back no rule": {"/v1/messages", ask("m", `"max_tokens":9,`), anas, []string{"X-Ken", "on"}, seen{"none", "policy[4]", false, false, false}},
	} {
		if got := p.call(tt.path, tt.body, append(tt.header, "X-Ken-Key", tt.key)...); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	out := do(t, request(t, http.MethodGet, p.gate.URL+"/metrics", "", "X-Ken-Key", anas)).body
	if !strings.Contains(out, `ken_policy_total{rule="policy[2]"} 2`) {
		t.Error(out)
	}
	cfg.Policy = nil
	if _, err := p.gate.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	if got := p.call(chatPath, ask("acme/text-embed-3", ""), "X-Ken-Key", anas); got.policy != "" || !got.block {
		t.Errorf("after a reload: %+v", got)
	}
}
