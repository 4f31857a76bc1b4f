package gateway_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

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
