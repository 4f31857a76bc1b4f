package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// Each event is there before the next one is sent, and the headers before the
// first.
func TestEventsComeOneByOne(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/other"} {
		pace := make(chan struct{})
		a := upstreamtest.Recording("chat_stream")
		a.Pace = pace
		up.Next(a)
		resp, err := client(t).Do(request(t, http.MethodPost, g.URL+path, chat(question)))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.Pieces {
			pace <- struct{}{}
			got := make([]byte, len(p))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != string(p) {
				t.Fatalf("%s: event %d: %q, %v", path, i, got, err)
			}
		}
		if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q, %v", path, rest, err)
		}
		resp.Body.Close()
	}
}

// A client that leaves is not waited for: the upstream sees it at once.
func TestClientLeaves(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	for i, a := range []upstreamtest.Answer{upstreamtest.Hang(), upstreamtest.Stalled(upstreamtest.Recording("chat_stream"), 2)} {
		up.Next(a)
		ctx, cancel := context.WithCancel(t.Context())
		req := request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question)).WithContext(ctx)
		ended := make(chan error, 1)
		go func() {
			resp, err := client(t).Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			ended <- err
		}()
		r := up.Wait(t, i)
		cancel()
		<-r.Gone()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A stream that breaks off upstream breaks off for the client: it does not end as
// if all had been said.
func TestUpstreamBreaksOff(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	whole := upstreamtest.Recording("chat_stream")
	for _, n := range []int{0, 1, len(whole.Pieces[0]), len(whole.Pieces[0]) + 20} {
		up.Next(upstreamtest.CutAt(whole, n))
		got := post(t, g.URL+"/v1/chat/completions", chat(question))
		if got.err == nil || got.body != string(whole.Body()[:n]) {
			t.Errorf("cut at %d: %d bytes, %v", n, len(got.body), got.err)
		}
	}
}

func TestUpstreamIsAway(t *testing.T) {
	up := upstreamtest.New(t)
	away := start(t, layer(t, nil), upstreamtest.Refusing(t))
	silent := start(t, layer(t, nil), up.URL)
	up.Next(upstreamtest.HangUp())
	for _, g := range []*gate{away, silent} {
		got := post(t, g.URL+"/v1/chat/completions", chat(question))
		if got.StatusCode != http.StatusBadGateway || got.Header.Get("X-Ken-Error") != "upstream_unreachable" || !strings.Contains(got.body, `"type":"server_error"`) {
			t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
		}
		if strings.Contains(got.body, "127.0.0.1") {
			t.Errorf("the client is told the upstream's address: %s", got.body)
		}
		if !strings.Contains(g.log.String(), `"cause"`) {
			t.Error("the log has no cause")
		}
	}
}

// An upstream that thinks for longer than it may is given up on, and the client is
// told so in its own API's words.
func TestUpstreamTakesTooLong(t *testing.T) {
	up := upstreamtest.New(t)
	up.Next(upstreamtest.Hang())
	g := start(t, layer(t, nil), up.URL, configured(func(c *config.Gateway) { c.Response = 50 * time.Millisecond }))
	got := post(t, g.URL+"/v1/messages", `{"messages":[]}`)
	if got.StatusCode != http.StatusGatewayTimeout || got.Header.Get("X-Ken-Error") != "upstream_timeout" || !strings.Contains(got.body, `"timeout_error"`) {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	<-up.Last(t).Gone()
}

// An upgrade to HTTP/2 on the way to the upstream changes nothing for the client.
func TestHTTP2Upstream(t *testing.T) {
	up, c := upstreamtest.NewHTTP2(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL, transport(c))
	up.Next(upstreamtest.Recording("chat_stream"))
	got := post(t, g.URL+"/v1/chat/completions?x=%2F", chat(question))
	if got.body != string(upstreamtest.Recording("chat_stream").Body()) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if r := up.Last(t); r.Proto != "HTTP/2.0" || r.Target != "/v1/chat/completions?x=%2F" {
		t.Errorf("%s %s", r.Proto, r.Target)
	}
}
