package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// hasty gives up on a request whose body it still reads, as http.Transport does when
// the upstream takes too long.
type hasty struct{ reads sync.WaitGroup }

// RoundTrip implements http.RoundTripper.
func (h *hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	h.reads.Go(func() { _, _ = io.Copy(io.Discard, r.Body) }) // how it ends is the gateway's to note
	return nil, errors.New("given up")
}

// A body may break off just when the upstream is given up on, and either may be what
// the client is told. That nothing else happens is the race detector's to say.
func TestBodyBreaksOffWhileTheUpstreamIsGivenUp(t *testing.T) {
	h := &hasty{}
	g := start(t, layer(t, nil), "http://upstream", transport(&http.Client{Transport: h}))
	for range 20 { // they meet in some of them
		conn := dial(t, g.URL, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nbroken\r\n")
		b := make([]byte, len("HTTP/1.1 400"))
		if _, err := io.ReadFull(conn, b); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 502") && !strings.HasPrefix(string(b), "HTTP/1.1 400") {
			t.Fatalf("%q, %v", b, err)
		}
		_ = conn.Close()
	}
	g.stop()
	h.reads.Wait()
}
