package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
)

// filled is a route's path with something for each of its variables.
func filled(path string) string {
	for {
		open := strings.IndexByte(path, '{')
		if open < 0 {
			return path
		}
		name := path[open : open+strings.IndexByte(path[open:], '}')+1]
		with := "0198c0de-0000-7000-8000-000000000001"
		if name == "{$}" {
			with = ""
		}
		path = strings.Replace(path, name, with, 1)
	}
}

// Whoever lacks a route's right gets nothing of it, and a change is refused before
// anything is looked up.
func TestEveryRouteAsksForItsRight(t *testing.T) {
	c := open(t)
	for _, rt := range console.Routes() {
		path := filled(rt.Path)
		if rt.Right == "" {
			continue
		}
		if rt.Method == http.MethodPost && rt.Right != access.Operate {
			t.Errorf("%s changes something and needs only %s", rt.Path, rt.Right)
		}
		ask := func(who access.Principal) int {
			var status int
			if rt.Method == http.MethodPost {
				status, _ = post(t, c, path, url.Values{}, who)
			} else if strings.HasSuffix(path, "/events") {
				return http.StatusForbidden // TestStreamsAreForReaders
			} else {
				status, _ = get(t, c, path, who)
			}
			return status
		}
		if status := ask(nobody); status != http.StatusForbidden {
			t.Errorf("%s %s gives nobody %d", rt.Method, path, status)
		}
		weak := access.Principal{Name: "weak", Owner: reader.Owner, Rights: []access.Right{access.Chat, access.Write}}
		if rt.Right == access.Operate {
			weak.Rights = append(weak.Rights, access.Read)
		}
		if status := ask(weak); status != http.StatusForbidden {
			t.Errorf("%s %s gives one without %s %d", rt.Method, path, rt.Right, status)
		}
	}
}

// A form without the visit's token, or from a page of another origin, does nothing.
func TestEveryChangeAsksForTheToken(t *testing.T) {
	c := open(t)
	for _, rt := range console.Routes() {
		if rt.Method != http.MethodPost {
			continue
		}
		path := filled(rt.Path)
		send := func(token string, header ...string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(url.Values{"token": {token}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			status, _ := c.send(t, r, nil)
			return status
		}
		good := console.TokenOf(c.con)
		for name, status := range map[string]int{
			"another site":               send(good, "Sec-Fetch-Site", "cross-site"),
			"another port of this host":  send(good, "Sec-Fetch-Site", "same-site"),
			"an origin without metadata": send(good, "Origin", "https://evil.example"),
		} {
			if status != http.StatusForbidden {
				t.Errorf("%s from %s: %d", path, name, status)
			}
		}
		if rt.Right == "" { // to log in, to log out and to choose colours need none
			continue
		}
		for _, token := range []string{"", "x", strings.Repeat("0", len(good)), good[:len(good)-1]} {
			if status := send(token); status != http.StatusForbidden {
				t.Errorf("%s with token %q: %d", path, token, status)
			}
		}
	}
}

// For an unknown path and a wrong method, a page says so.
func TestNoSuchPage(t *testing.T) {
	c := open(t, bare)
	for _, path := range []string{"/console/nothing", "/console/claims/x/y/z", "/console/assets/0/none.css", "/console/assets/0/..%2fdoc.go"} {
		status, p := get(t, c, path)
		if status != http.StatusNotFound || len(p.all("h1")) != 1 {
			t.Errorf("%s: %d %s", path, status, p.text())
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/console/claims", nil)
	if status, p := c.send(t, r, nil); status != http.StatusNotFound || len(p.all("h1")) != 1 {
		t.Errorf("DELETE: %d", status)
	}
}

// Every answer says what a browser may do with it.
func TestHeaders(t *testing.T) {
	c := open(t, bare)
	_, home := get(t, c, "/console/")
	style := attr(home.one(`link[rel="stylesheet"]`), "href")
	for _, path := range []string{"/console/", "/console", style, "/console/nothing", console.LoginPath} {
		_, p := get(t, c, path)
		policy := p.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy %q lets something unsafe in", path, policy)
		}
		if p.header.Get("X-Content-Type-Options") != "nosniff" || p.header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", path, p.header)
		}
		if kept := strings.Contains(p.header.Get("Cache-Control"), "immutable"); kept != (path == style) {
			t.Errorf("%s: Cache-Control %q", path, p.header.Get("Cache-Control"))
		}
	}
	if _, p := get(t, c, strings.Replace(style, "/assets/", "/assets/old", 1)); strings.Contains(p.header.Get("Cache-Control"), "immutable") {
		t.Error("an asset by a hash that is not its own is kept for ever")
	}
}
