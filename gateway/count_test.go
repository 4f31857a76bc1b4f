package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// A request that counts tokens has the block that the model call has, as a client that
// budgets with it needs; it is no turn, and the answer is the upstream's.
func TestCountedTokensIncludeTheBlock(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL)
	for _, tt := range []struct{ count, call, body string }{
		{"/v1/messages/count_tokens", "/v1/messages", `{"model":"claude","messages":[{"role":"user","content":"` + question + `"}]}`},
		{"/v1/messages/count_tokens/?beta=true", "/v1/messages?beta=true", `{"model":"claude","messages":[{"role":"user","content":[{"type":"text","text":"` + question + `"}]}]}`},
		{"/v1/responses/input_tokens", "/v1/responses", `{"model":"gpt-5","input":"` + question + `"}`},
	} {
		up.Next(upstreamtest.Recording("messages_count_tokens"))
		counted := post(t, g.URL+tt.count, tt.body)
		arrived := up.Last(t)
		if arrived.Target != tt.count || counted.body != `{"input_tokens":71}`+"\n" && counted.body != `{"input_tokens":71}` || counted.Header.Get("X-Ken-Turn") != "" {
			t.Errorf("%s: at %s: %s %v", tt.count, arrived.Target, counted.body, counted.Header)
		}
		post(t, g.URL+tt.call, tt.body)
		if sent := up.Last(t); string(sent.Body) != string(arrived.Body) || !strings.Contains(string(sent.Body), "02:00 UTC") {
			t.Errorf("counted as\n%s\nsent as\n%s", arrived.Body, sent.Body)
		}
	}
	for _, header := range [][]string{{"X-Ken", "off"}, {"Content-Encoding", "gzip"}} {
		post(t, g.URL+"/v1/messages/count_tokens", chat(question), header...)
		if got := string(up.Last(t).Body); got != chat(question) {
			t.Errorf("%s: counted as %s", header, got)
		}
	}
	if got := do(t, request(t, http.MethodGet, g.URL+"/v1/responses/input_tokens", "")); got.StatusCode != http.StatusNotFound {
		t.Errorf("a GET: %d", got.StatusCode)
	}
}
