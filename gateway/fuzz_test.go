package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
)

// FuzzIdentify checks that no header opens a door that it shouldn't: without a key
// that is known nobody comes in, the owner is the key's or a name that is no path,
// and what is for Ken never goes on.
func FuzzIdentify(f *testing.F) {
	key := access.NewKey()
	for _, s := range [][6]string{
		{key, "", "", "ana", "repo:a/b,project:c", "off"},
		{"", "Bearer " + key, "", "../x", "run:", "on"},
		{"", "Basic " + key, key, ".", "x", ""},
		{"", "bearer  " + key + " ", "", "a\x00b", ",,", "OFF"},
		{"ken_", "Bearer", "sk-x", strings.Repeat("a", 300), "repo:" + strings.Repeat("b", 300), "0"},
	} {
		f.Add(s[0], s[1], s[2], s[3], s[4], s[5])
	}
	open := &authenticator{owner: "default"}
	ring, err := newRing([]config.GatewayKey{{Name: "k", Hash: access.HashKey(key).String(), Owner: "kim"}}, "default")
	if err != nil {
		f.Fatal(err)
	}
	keyed := &authenticator{ring: ring, owner: "default"}
	allowed := []ken.Scope{{Type: ken.ScopeRepo, ID: "a/b"}}
	f.Fuzz(func(t *testing.T, kenKey, authorization, apiKey, owner, scopes, off string) {
		h := http.Header{"X-Ken-Key": {kenKey}, "Authorization": {authorization}, "X-Api-Key": {apiKey}, "X-Ken-Owner": {owner},
			"X-Ken-Scopes": {scopes}, "X-Ken": {off}, "X-Ken-Session": {owner}}
		brought := strings.Contains(kenKey+authorization+apiKey, key)
		if p, fault := keyed.identify(h); fault == nil && (!brought || p.Owner != "kim" || p.Name != "k" || p.Can(access.Operate)) {
			t.Fatalf("%+v came in with %v", p, h)
		}
		p, fault := open.identify(h)
		if fault == nil && (p.Owner == "" || p.Owner == "." || p.Owner == ".." || strings.ContainsAny(p.Owner, "/\\\x00 ")) {
			t.Fatalf("owner %q", p.Owner)
		}
		var a turnHeaders
		if a.parse(h, allowed) == nil {
			if len(a.scopes) == 0 {
				t.Fatal("scopes were asked for, and all are seen")
			}
			for _, s := range a.scopes {
				if s != allowed[0] && s != noScope {
					t.Fatalf("scope %v is beyond %v", s, allowed)
				}
			}
		}
		stripHeaders(h)
		for name, values := range h {
			for _, v := range values {
				if strings.HasPrefix(name, "X-Ken") || isKey(credential(name, v)) {
					t.Fatalf("%s: %q goes on", name, v)
				}
			}
		}
	})
}

// FuzzUpstreamPath checks that a path goes on below the upstream's base, or beside
// it, with every byte that came.
func FuzzUpstreamPath(f *testing.F) {
	for _, s := range []string{"/v1/chat/completions", "/v1", "/v1x", "//a", "/", "/v1/../x", "/%zz", "/v1/é", "/\x7f"} {
		f.Add(s)
	}
	up, err := parseUpstream("https://api.example/base/v4", "", false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# \r\n") {
			return
		}
		r := &http.Request{Method: http.MethodGet, RequestURI: path + "?q=%zz&a;b"}
		in, out := mustURL("/x?q=%zz&a;b"), &http.Request{Header: http.Header{}}
		up.point(out, rawPath(r), in)
		want := "/base" + path
		if rest, ok := strings.CutPrefix(path, "/v1"); ok && (rest == "" || rest[0] == '/') {
			want = "/base/v4" + rest
		}
		if got := out.URL.RequestURI(); got != want+"?q=%zz&a;b" || out.URL.Host != "api.example" || out.Host != "" {
			t.Fatalf("%q goes to %q at %q, want %q", path, got, out.URL.Host, want)
		}
	})
}
