package gateway_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

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
		o.API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true })
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
