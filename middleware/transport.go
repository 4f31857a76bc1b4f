package middleware

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware/wire"
)

// SessionHeader names a request's session to a Transport, which removes it
// before the request is sent.
const SessionHeader = "X-Ken-Session"

// maxRequestBytes bounds the requests that a Transport looks into: 32 MiB, well
// above what any model reads.
const maxRequestBytes = 32 << 20

// Transport puts the layer under any client that speaks the OpenAI protocol. It
// adds blocks to chat completions requests: POST, a path that ends in
// /chat/completions, and a body that is JSON, not compressed, and at most 32 MiB
// long. Blocks are spliced in, and every other byte of the body stays. Anything
// else passes as it is, and so does every response, of which a copy goes to the
// session's journal once the client has read it.
//
// t says whose requests they are: owner, project, session, agent, scopes and
// weight. Its ID, Model, Messages and Tools are not used. A request with the
// header SessionHeader belongs to that session instead. A nil base is
// http.DefaultTransport. A base that signs requests signs what is sent.
//
// The returned RoundTripper is safe for concurrent use, and never changes the
// request that it is given.
func (l *Layer) Transport(base http.RoundTripper, t ken.Turn) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t.ID = ""
	return &transport{l, base, t}
}

type transport struct {
	layer *Layer
	base  http.RoundTripper
	turn  ken.Turn
}

// RoundTrip implements http.RoundTripper.
func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Del(SessionHeader)
	if !isChat(req) {
		return tr.base.RoundTrip(out)
	}
	body, whole, err := take(out)
	if err != nil {
		return nil, err
	}
	var heard func(body []byte, encoding string) // nil: nobody listens
	if whole {
		var extended []byte
		if extended, heard = tr.extend(req.Context(), body, req.Header.Get(SessionHeader)); extended != nil {
			body = extended
			out.ContentLength = int64(len(body))
			if out.Header.Get("Content-Length") != "" {
				out.Header.Set("Content-Length", strconv.Itoa(len(body)))
			}
		}
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody() // it can't fail
	}
	resp, err := tr.base.RoundTrip(out)
	if err == nil && heard != nil && tapped(resp) {
		encoding := encodingOf(resp)
		resp.Body = &tap{body: resp.Body, done: func(body []byte) { heard(body, encoding) }}
	}
	return resp, err
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (tr *transport) CloseIdleConnections() {
	if c, ok := tr.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// extend returns the body with its blocks, nil when it stays as it is, and who
// hears the answer, nil for nobody.
func (tr *transport) extend(ctx context.Context, body []byte, session string) ([]byte, func(body []byte, encoding string)) {
	r, err := wire.Parse(body)
	if err != nil {
		return nil, nil // the server will say what is wrong with it
	}
	t := tr.turn
	if session != "" {
		t.Session = session
	}
	t.Model, t.Messages, t.Tools = r.Model, r.Messages, r.Tools
	a := tr.layer.Assemble(ctx, t)
	listen := func(answer []byte, encoding string) {
		tr.layer.answered(&t, func() (ken.Message, bool) { return wire.ParseAnswer(decoded(answer, encoding)) })
	}
	if !tr.layer.journals(&t) {
		listen = nil
	}
	if len(a.Insertions) == 0 {
		return nil, listen
	}
	ins := make([]wire.Insertion, len(a.Insertions))
	for i := range ins {
		ins[i] = wire.Insertion(a.Insertions[i])
	}
	extended, err := wire.Splice(body, r, ins)
	if err != nil {
		tr.layer.o.Log.Error("the request goes on without knowledge", "cause", err)
		return nil, listen
	}
	return extended, listen
}

func isChat(req *http.Request) bool {
	encoding := req.Header.Get("Content-Encoding")
	return req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/chat/completions") &&
		req.Body != nil && req.Body != http.NoBody && req.ContentLength <= maxRequestBytes &&
		(encoding == "" || encoding == "identity")
}

// take reads a request's body and closes it. A body that turns out to be longer
// than maxRequestBytes is not whole, and is left in the request as it was.
func take(req *http.Request) (body []byte, whole bool, err error) {
	in, ctx := req.Body, req.Context()
	stop := context.AfterFunc(ctx, func() { _ = in.Close() }) // ends a read that hangs
	var b bytes.Buffer
	if req.ContentLength > 0 {
		b.Grow(int(req.ContentLength) + bytes.MinRead)
	}
	_, err = b.ReadFrom(io.LimitReader(in, maxRequestBytes+1))
	if !stop() {
		return nil, false, context.Cause(ctx)
	}
	if b.Len() > maxRequestBytes {
		req.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&b, in), in}
		return nil, false, nil
	}
	_ = in.Close()
	if err != nil {
		return nil, false, fmt.Errorf("read request body: %w", err)
	}
	return b.Bytes(), true, nil
}
