package gateway

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kenlayer/ken/config"
)

// idleConnections is how many connections are kept for the next request: enough
// for several hundred streams that end together, so that those after them need no
// handshake.
const idleConnections = 1024

// newTransport returns connections to the upstream that change nothing: what is
// compressed stays so, and nothing is asked for that the client didn't ask for.
func newTransport(cfg config.Gateway) *http.Transport {
	d := &net.Dialer{Timeout: cfg.Connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           d.DialContext,
		TLSHandshakeTimeout:   cfg.Connect,
		ResponseHeaderTimeout: cfg.Response,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		// A connection that died unnoticed must not swallow a stream for good.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     16 << 10,
	}
}

// sender sends requests to the upstream; those with blocks as the layer does.
type sender struct{ g *Gateway }

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	if x := callOf(req.Context()).exchange; x != nil {
		return x.Send(s.g.o.Transport, req)
	}
	return s.g.o.Transport.RoundTrip(req)
}

// buffers are what answers are copied through.
type buffers struct{}

const bufferSize = 32 << 10

var bufferPool = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte { return bufferPool.Get().(*[bufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) {
	if len(b) == bufferSize {
		bufferPool.Put((*[bufferSize]byte)(b))
	}
}
