package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// A client's key is for the API that the client means: no other gets it.
func TestAClientThatMeansAnotherAPI(t *testing.T) {
	configured, other := upstreamtest.New(t), upstreamtest.New(t)
	g := start(t, layer(t, nil), configured.URL+"/v1")
	got := post(t, g.URL+"/v1/chat/completions", chat("hi"), "Authorization", "Bearer sk-other", "X-Ken-Upstream", other.URL+"/v1")
	if got.StatusCode != http.StatusMisdirectedRequest || got.Header.Get("X-Ken-Error") != "other_upstream" || !strings.Contains(got.body, "ken serve --upstream") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if n := len(configured.Requests()) + len(other.Requests()); n > 0 {
		t.Errorf("%d requests went on", n)
	}
	if got := post(t, g.URL+"/v1/chat/completions", chat("hi"), "X-Ken-Upstream", configured.URL+"/v1"); got.StatusCode != http.StatusOK {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := post(t, g.URL+"/v1/chat/completions", chat("hi"), "X-Ken-Upstream", "nowhere"); got.Header.Get("X-Ken-Error") != "invalid_header" {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// A gateway for one program sends each call where the program says, with a block, below the
// path that the client has, and never with a key that is lent for the configured API.
func TestAnyUpstream(t *testing.T) {
	t.Setenv("LENT", "sk-lent")
	configured, other := upstreamtest.New(t), upstreamtest.New(t)
	key := access.NewKey()
	g := start(t, layer(t, map[string]string{"default": about}, func(c *config.Config) {
		c.Knowledge.Owner = "default"
		c.Gateway.UpstreamKeyEnv = "LENT"
		c.Gateway.Keys = []config.GatewayKey{{Name: "ana", Hash: access.HashKey(key).String()}}
	}), configured.URL+"/v1", func(o *gateway.Options) { o.AnyUpstream = true })
	for sent, arrives := range map[string]string{other.URL + "/openai/v1": "/openai/v1/chat/completions", other.URL: "/chat/completions", other.URL + "/v1": "/v1/chat/completions"} {
		other.Forget()
		post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key, "X-Ken-Upstream", sent)
		last := other.Last(t)
		if last.Target != arrives || !strings.Contains(string(last.Body), about) {
			t.Errorf("%s arrived as %s: %s", sent, last.Target, last.Body)
		}
		for _, f := range last.Header {
			if strings.HasPrefix(f.Name, "X-Ken") || strings.Contains(f.Value, "sk-lent") || strings.Contains(f.Value, key) {
				t.Errorf("%s: %s", f.Name, f.Value)
			}
		}
	}
	away := upstreamtest.Refusing(t)
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key, "X-Ken-Upstream", away+"/v1"); !strings.Contains(got.body, "the API at "+away+" can't be reached") {
		t.Errorf("an API that is away: %s", got.body)
	}
	if len(configured.Requests()) > 0 {
		t.Error("the configured API was asked")
	}
}
