package gateway_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// Paths and queries arrive as they were sent, decoded, cleaned and escaped by
// nobody, and none that is spelled in another way reaches Ken's own.
func TestPathsPassUnchanged(t *testing.T) {
	up := upstreamtest.New(t)
	called := false
	g := start(t, layer(t, nil), up.URL+"/base/v2", func(o *gateway.Options) {
		o.Operator().API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true })
	})
	for _, tt := range []struct{ sent, arrives string }{
		{"/v1/files/a%2Fb?x=%20&y=a+b;c&z", "/base/v2/files/a%2Fb?x=%20&y=a+b;c&z"},
		{"/v1/../api/claims", "/base/v2/../api/claims"},
		{"/v1/..%2f..%2fapi", "/base/v2/..%2f..%2fapi"},
		{"/v1//api//x/", "/base/v2//api//x/"},
		{"//api/x", "/base//api/x"},
		{"/./api/x", "/base/./api/x"},
		{"/v1/a|b^c", "/base/v2/a|b^c"},
		{"/v1", "/base/v2"},
		{"/v1beta/x", "/base/v1beta/x"},
		{"/", "/base/"},
		{"/x?", "/base/x?"},
		{"/apix", "/base/apix"},
		{"/v1/chat%2Fcompletions", "/base/v2/chat%2Fcompletions"},
		{"/v1/é", "/base/v2/é"},
		{"http://localhost/v1/x%2Fy|é?z", "/base/v2/x%2Fy|é?z"},
		{"http://localhost", "/base/"},
	} {
		up.Forget()
		conn := dial(t, g.URL, "POST "+tt.sent+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
		if b, err := io.ReadAll(conn); err != nil || len(up.Requests()) == 0 {
			t.Errorf("%s: %s, %v", tt.sent, b, err)
			continue
		}
		if got := up.Last(t); got.Target != tt.arrives || got.Method != http.MethodPost || string(got.Body) != "hi" {
			t.Errorf("%s arrived as %s %s with %q, want %s", tt.sent, got.Method, got.Target, got.Body, tt.arrives)
		}
	}
	if called {
		t.Error("one of them reached /api")
	}
}

// The headers that the client sent arrive, no others, and none is missing.
func TestHeadersPassUnchanged(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	for _, path := range []string{"/v1/files", "/v1/chat/completions"} {
		conn := dial(t, g.URL, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\nForwarded: for=a\r\nX-Two: 1\r\nX-Two: 2\r\n"+
			"Cookie: a=b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		if _, err := io.ReadAll(conn); err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, f := range up.Last(t).Header {
			name := textproto.CanonicalMIMEHeaderKey(f.Name)
			got[name] = append(got[name], f.Value)
		}
		want := map[string][]string{"Host": {strings.TrimPrefix(up.URL, "http://")}, "X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=a"},
			"X-Two": {"1", "2"}, "Cookie": {"a=b"}, "Content-Length": {"2"}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", path, d)
		}
	}
}

// Answers come back as the upstream sent them: status, headers, body, trailers.
func TestAnswersPassUnchanged(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, nil), up.URL)
	plain := upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "X-A", Value: "1"}, {Name: "X-A", Value: "2"}}, Pieces: [][]byte{[]byte("<b>no type</b>")}}
	trailed := plain
	trailed.Framing, trailed.Trailer = upstreamtest.Chunked, []upstreamtest.Field{{Name: "X-Sum", Value: "42"}}
	for _, tt := range []struct {
		name string
		a    upstreamtest.Answer
	}{
		{"no type, no date", plain},
		{"trailers", trailed},
		{"rate limited", upstreamtest.Recording("error_429")},
		{"a web page", upstreamtest.Recording("error_500_html")},
		{"gzip", upstreamtest.Gzipped(upstreamtest.Recording("chat"))},
		{"nothing", upstreamtest.Answer{Status: http.StatusNoContent, Framing: upstreamtest.ToClose}.With("Connection", "close")},
		{"an error in the stream", upstreamtest.Recording("chat_error_stream")},
		{"half an event", upstreamtest.HalfEvent(upstreamtest.Recording("chat_stream"))},
		{"a line of a megabyte", upstreamtest.HugeLine(1 << 20)},
	} {
		for _, path := range []string{"/v1/files", "/v1/chat/completions"} {
			t.Run(tt.name+path, func(t *testing.T) {
				up.Next(tt.a, tt.a)
				want := post(t, up.URL+path, chat(question))
				got := post(t, g.URL+path, chat(question))
				want.Header.Del("Connection") // which is between neighbours
				for _, own := range []string{"X-Ken-Turn", "X-Ken-Mode", "Server-Timing"} {
					got.Header.Del(own)
				}
				if got.StatusCode != want.StatusCode || got.body != want.body || got.err != nil {
					t.Errorf("%d with %d bytes, %v; directly %d with %d", got.StatusCode, len(got.body), got.err, want.StatusCode, len(want.body))
				}
				if d := cmp.Diff(want.Header, got.Header); d != "" {
					t.Errorf("headers, -direct +gateway\n%s", d)
				}
				if d := cmp.Diff(want.Trailer, got.Trailer); d != "" {
					t.Errorf("trailers, -direct +gateway\n%s", d)
				}
			})
		}
	}
}

func TestInterimAnswersPass(t *testing.T) {
	up := upstreamtest.New(t)
	a := upstreamtest.Recording("chat")
	a.Interim = []upstreamtest.Interim{{Status: http.StatusEarlyHints, Header: []upstreamtest.Field{{Name: "Link", Value: "</x>"}}}}
	up.Next(a)
	g := start(t, layer(t, nil), up.URL)
	hints := ""
	req := request(t, http.MethodPost, g.URL+"/v1/chat/completions", chat(question))
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
		hints = h.Get("Link")
		return nil
	}}))
	if got := do(t, req); hints != "</x>" || got.Header.Get("X-Ken-Turn") == "" {
		t.Errorf("hints %q, headers %v", hints, got.Header)
	}
}

// What the client accepts is what the upstream is told it accepts.
func TestCompressionIsTheClients(t *testing.T) {
	up := upstreamtest.New(t)
	up.Next(upstreamtest.Gzipped(upstreamtest.Recording("chat")))
	g := start(t, layer(t, nil), up.URL)
	got := post(t, g.URL+"/v1/chat/completions", chat(question), "Accept-Encoding", "gzip;q=0.9")
	if up.Last(t).Get("Accept-Encoding") != "gzip;q=0.9" {
		t.Errorf("sent %v", up.Last(t).Header)
	}
	z, err := gzip.NewReader(strings.NewReader(got.body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != string(upstreamtest.Recording("chat").Body()) {
		t.Errorf("%q, %v", b, err)
	}
}

// A connection that changes its protocol carries bytes both ways, as the realtime
// API does.
func TestUpgrade(t *testing.T) {
	up := upgrading(t)
	g := start(t, layer(t, nil), up, configured(func(c *config.Gateway) { c.Drain = 0 }))
	conn := dial(t, g.URL, "GET /v1/realtime?model=x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("%v, %v", resp, err)
	}
	defer resp.Body.Close()
	for _, line := range []string{"ping\n", "pong\n"} {
		if _, err := io.WriteString(conn, line); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadString('\n'); err != nil || got != line {
			t.Fatalf("%q, %v", got, err)
		}
	}
	// It ends with the gateway.
	g.stop()
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection outlived the gateway")
	}
}

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

// A client that begins with HTTP/2 on a connection without TLS is served as any other.
func TestHTTP2WithoutTLS(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	for _, path := range []string{"/v1/chat/completions", "/v1/files", "/readyz"} {
		resp, err := tr.RoundTrip(request(t, http.MethodPost, g.URL+path, chat(question)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.ProtoMajor != 2 || err != nil || len(b) == 0 {
			t.Errorf("%s: %s, %s, %v", path, resp.Proto, b, err)
		}
	}
	injected(t, chat(question), up.Requests()[0].Body, "02:00 UTC")
	if up.Requests()[0].Proto != "HTTP/1.1" {
		t.Errorf("arrived over %s", up.Requests()[0].Proto)
	}
}

// A client that offers HTTP/2 in a request is answered in HTTP/1.1, and the upstream does
// not hear of the offer: it could not keep it.
func TestOfferOfHTTP2IsNotPassedOn(t *testing.T) {
	g := start(t, layer(t, nil), upgrading(t))
	conn := dial(t, g.URL, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
	b, err := io.ReadAll(conn)
	if err != nil || len(b) < 12 || string(b[:12]) == "HTTP/1.1 101" {
		t.Errorf("%s, %v", b, err)
	}
}

// A slash behind a route's path changes nothing but the path that the upstream sees.
func TestTrailingSlashes(t *testing.T) {
	up := upstreamtest.New(t)
	l := layer(t, map[string]string{"": about})
	g := start(t, l, up.URL+"/v1", withAPI(l))
	up.Handle(func(*upstreamtest.Request) upstreamtest.Answer { return upstreamtest.Recording("chat") })
	for _, path := range []string{"/v1/chat/completions/", "/v1/messages/", "/api/chat//"} {
		post(t, g.URL+path, chat(question))
		if up.Last(t).Target != path {
			t.Errorf("%s arrived at %s", path, up.Last(t).Target)
		}
		injected(t, chat(question), up.Last(t).Body, "02:00 UTC")
	}
	post(t, g.URL+"/v1/embeddings/", `{"model":"ken","input":"x"}`)
	if n := len(up.Requests()); n != 3 {
		t.Errorf("%d requests: Ken's own embeddings have a slash, too", n)
	}
}

// upgrading is an upstream that takes any offer of another protocol and then sends
// back what it gets.
func upgrading(t *testing.T) string {
	return upgradingTo(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, rw) // until the other end is gone
	})
}

// upgradingTo is an upstream whose connections end with the test.
func upgradingTo(t *testing.T, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
