package middleware

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// SessionHeader is the request header that sets the session. A Transport removes it from the request.
const SessionHeader = "X-Ken-Session"

// maxRequestBytes is the maximum size of requests that a Transport reads: 32 MiB, well above what any model accepts.
const maxRequestBytes = 32 << 20

// Transport adds the layer to any client of OpenAI's, Anthropic's or Ollama's API. It inserts blocks into model calls.
// These are POST requests whose path ends in /chat/completions, /responses, /messages or /api/chat, with a JSON body of
// at most 32 MiB without compression. All other bytes of the body stay the same, and other requests pass unchanged.
// Responses pass unchanged too, except for those that call a tool: see Options.Taint. A copy of each goes to the
// session's journal after the client has read it.
//
// If a Responses request continues a response or a conversation of this layer, the layer knows the messages that the
// request does not carry.
//
// t sets the requests' owner, project, session, agent, scopes and weight. Its ID, Model, Messages and Tools are not
// used. A turn in the request's context replaces t: see ken.WithTurn. A request with the header SessionHeader belongs
// to that session instead. Where nothing names a session, ids in the request do, or else the conversation's first
// message and answer tell it from others. A nil base means http.DefaultTransport. If base signs requests, it signs what is sent.
//
// The returned RoundTripper is safe for concurrent use and does not change the requests passed to it.
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
	dialect, ok := dialectOf(req)
	if !ok {
		return tr.base.RoundTrip(out)
	}
	body, whole, err := readBody(out)
	if err != nil {
		return nil, err
	}
	var x *Exchange // nil if the request passes unchanged
	if whole {
		x, err = tr.layer.Operator().Begin(req.Context(), dialect, body, func(r *wire.Request) ken.Turn {
			t := tr.turn
			if own, ok := ken.TurnFrom(req.Context()); ok {
				own.Owner = cmp.Or(own.Owner, t.Owner)
				t = own
			}
			if session := req.Header.Get(SessionHeader); session != "" {
				t.Session = session
			}
			if t.Session == "" {
				t.Session = wire.SessionOf(tr.layer.ownerOrDefault(t.Owner), "", r)
			}
			return t
		})
		if err != nil {
			x = nil
		} else if len(x.Body) != len(body) {
			body = x.Body
			setLength(out, len(body))
		}
		setBody(out, body)
	}
	if x == nil {
		return tr.base.RoundTrip(out)
	}
	resp, err := x.Send(tr.base, out)
	if err == nil {
		x.Guard(resp, tr.layer.taintAction(), nil)
		x.Listen(resp, nil)
	}
	return resp, err
}

// CloseIdleConnections implements the interface that http.Client.CloseIdleConnections looks for.
func (tr *transport) CloseIdleConnections() {
	if c, ok := tr.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func setBody(req *http.Request, body []byte) {
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody() // GetBody of a byte reader never fails
}

// setLength declares the length of a request's body in bytes.
func setLength(req *http.Request, n int) {
	req.ContentLength = int64(n)
	if req.Header.Get("Content-Length") != "" {
		req.Header.Set("Content-Length", strconv.Itoa(n))
	}
}

// dialectOf returns the API of a request; false if the request passes unchanged.
func dialectOf(req *http.Request) (wire.Dialect, bool) {
	encoding := req.Header.Get("Content-Encoding")
	if req.Method != http.MethodPost || req.Body == nil || req.Body == http.NoBody || req.ContentLength > maxRequestBytes ||
		encoding != "" && encoding != "identity" {
		return 0, false
	}
	return wire.DialectOf(req.URL.Path)
}

// readBody reads a request's body and closes it. If the body is longer than maxRequestBytes, whole is false and the
// request keeps its body.
func readBody(req *http.Request) (body []byte, whole bool, err error) {
	in, ctx := req.Body, req.Context()
	stop := context.AfterFunc(ctx, func() { _ = in.Close() }) // unblocks a read that hangs
	var b bytes.Buffer
	if req.ContentLength > 0 {
		b.Grow(int(req.ContentLength) + bytes.MinRead)
	}
	_, err = b.ReadFrom(io.LimitReader(in, maxRequestBytes+1))
	if !stop() {
		return nil, false, context.Cause(ctx)
	}
	if b.Len() > maxRequestBytes {
		req.Body = rejoinedBody{io.MultiReader(&b, in), in}
		return nil, false, nil
	}
	_ = in.Close()
	if err != nil {
		return nil, false, fmt.Errorf("read request body: %w", err)
	}
	return b.Bytes(), true, nil
}

// segment is one message of a request as it was sent.
type segment struct {
	print fingerprint
	block string // the inserted block; "" for the client's own message
	bytes int64
}

// countCached sets the receipt's CachedBytes and NewBytes. blocks are the inserted blocks, by rising
// Before. A provider's prompt cache keeps the longest prefix that two requests share, so a session's
// request is compared with the session's previous one. Without a session, the first message
// identifies the conversation.
func (l *Layer) countCached(t *ken.Turn, p *fingerprints, blocks []Insertion, r *ken.Receipt) {
	at, sizes := p.full, p.sizes
	if len(at) == 0 {
		return
	}
	now := make([]segment, 0, len(at)+len(blocks))
	next := 0
	for i := range at {
		for ; next < len(blocks) && blocks[next].Before == i; next++ {
			text := blocks[next].Text
			now = append(now, segment{block: text, bytes: int64(len(text))})
		}
		now = append(now, segment{print: at[i], bytes: sizes[i]})
	}
	before, _ := l.lastRequests.Put(sessionKey{t.Owner, cmp.Or(t.Session, "\x00"+string(at[0][:]))}, now)
	shared := true
	for i, s := range now {
		shared = shared && i < len(before) && before[i] == s
		if shared {
			r.CachedBytes += s.bytes
		} else {
			r.NewBytes += s.bytes
		}
	}
}
