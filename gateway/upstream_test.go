package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/kenlayer/ken"
)

func mustURL(s string) *url.URL {
	u, err := url.ParseRequestURI(s)
	if err != nil {
		panic(err)
	}
	return u
}

// The base URL is what clients know as their own base: /v1 stands for all of it.
func TestUpstreamPath(t *testing.T) {
	for _, tt := range []struct{ base, sent, want string }{
		{"https://api.openai.com/v1", "/v1/chat/completions", "/v1/chat/completions"},
		{"https://api.openai.com/v1/", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://localhost:11434", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://localhost:11434/", "/x", "/x"},
		{"https://host/openai/v1beta2", "/v1/models", "/openai/v1beta2/models"},
		{"https://host/openai/v1beta2", "/other", "/openai/other"},
		{"https://host/v1beta/openai", "/v1/models", "/v1beta/openai/models"},
		{"https://host/v1beta/openai", "/other", "/v1beta/openai/other"},
		{"https://host/a%2Fb/v1", "/v1/x", "/a%2Fb/v1/x"},
	} {
		up, err := parseUpstream(tt.base, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := up.path(tt.sent); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.base, tt.sent, got, tt.want)
		}
	}
}

func TestUpstreamThatIsNone(t *testing.T) {
	for _, base := range []string{"localhost:1234", "ftp://host/v1", "https://", "https://user:secret@host/v1", "https://host/v1?a", "https://host/v1#a", "http://%zz",
		"https://host/v1/chat/completions", "https://host/v1/messages/"} {
		_, err := parseUpstream(base, "", false)
		if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// The time of a stage can be read by a browser's tools; a name that is none is left
// out.
func TestTiming(t *testing.T) {
	got := timing(map[string]float64{"total": 1.23456, "retrieve": 0.5, "budget": 0, "bad name;": 1})
	if want := "ken;dur=1.235, ken-budget;dur=0.000, ken-retrieve;dur=0.500"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestUpstreamsThatAreTheSame(t *testing.T) {
	for _, tt := range []struct {
		configured, named string
		same              bool
	}{
		{"https://api.openai.com/v1", "https://api.openai.com/v1/", true},
		{"https://API.openai.com:443/v1", "https://api.openai.com/v1", true},
		{"https://api.anthropic.com", "https://api.anthropic.com/v1", true},
		{"https://api.openai.com/v1", "https://api.openai.com", false},
		{"https://api.openai.com/v1", "http://api.openai.com/v1", false},
		{"https://api.openai.com/v1", "https://api.openai.com.evil.example/v1", false},
		{"http://localhost:1/v1", "http://localhost:2/v1", false},
		{"https://host/openai/v1", "https://host/v1", false},
	} {
		g := &Gateway{}
		var err error
		if g.upstream, err = parseUpstream(tt.configured, "", false); err != nil {
			t.Fatal(err)
		}
		c := &call{g: g, raw: "/v1/chat/completions", r: &http.Request{Header: http.Header{"X-Ken-Upstream": {tt.named}}}}
		if f := c.chooseUpstream(); (f == nil) != tt.same || f != nil && (f.code != "other_upstream" || f.try == "") {
			t.Errorf("%+v: %+v", tt, f)
		}
	}
}
