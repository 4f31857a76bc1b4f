package middleware

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// SessionHeader names a request's session to a Transport, which removes it from the request.
const SessionHeader = "X-Ken-Session"

// maxRequestBytes bounds the requests that a Transport reads: 32 MiB, well above what any model
// takes.
const maxRequestBytes = 32 << 20

// Transport puts the layer under any client of OpenAI's API, Anthropic's or Ollama's. It adds
// blocks to model calls: POST, a path that ends in /chat/completions, /responses, /messages or
// /api/chat, and a JSON body of at most 32 MiB without compression. Every other byte of the
// body stays. All other requests pass unchanged. So does every response, of which a copy goes
// to the session's journal once the client has read it; the exception is a response that calls
// a tool: see Options.Taint.
//
// A Responses request that continues a response, or a conversation, of this layer is known with
// everything that was said before.
//
// t says whose requests they are: owner, project, session, agent, scopes and weight. Its ID,
// Model, Messages and Tools are not used. A turn in the request's context takes its place: see
// ken.WithTurn. A request with the header SessionHeader belongs to that session instead. A nil base means http.DefaultTransport. A base that signs requests
// signs what is sent.
//
// The returned RoundTripper is safe for concurrent use, and never changes the request that it
// is given.
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
	var x *Exchange // nil for a request that passes unchanged
	if whole {
		x, err = tr.layer.Operator().Begin(req.Context(), dialect, body, func(*wire.Request) ken.Turn {
			t := tr.turn
			if own, ok := ken.TurnFrom(req.Context()); ok {
				t = own
			}
			if session := req.Header.Get(SessionHeader); session != "" {
				t.Session = session
			}
			return t
		})
		if err != nil {
			x = nil
		} else if len(x.Body) != len(body) {
			body = x.Body
			out.ContentLength = int64(len(body))
			if out.Header.Get("Content-Length") != "" {
				out.Header.Set("Content-Length", strconv.Itoa(len(body)))
			}
		}
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody() // it can't fail
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

// CloseIdleConnections supports http.Client.CloseIdleConnections.
func (tr *transport) CloseIdleConnections() {
	if c, ok := tr.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// dialectOf returns the dialect of a request that the layer can read.
func dialectOf(req *http.Request) (wire.Dialect, bool) {
	encoding := req.Header.Get("Content-Encoding")
	if req.Method != http.MethodPost || req.Body == nil || req.Body == http.NoBody || req.ContentLength > maxRequestBytes ||
		encoding != "" && encoding != "identity" {
		return 0, false
	}
	return wire.DialectOf(req.URL.Path)
}

// readBody reads a request's body and closes it. A body that is longer than maxRequestBytes is
// not whole, and is left in the request as it was.
func readBody(req *http.Request) (body []byte, whole bool, err error) {
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

// maxConversations bounds the conversations of which something is remembered in memory.
const maxConversations = 1024

// promptCacheCounter counts what a provider's prompt cache can serve. Such a cache keeps the
// longest beginning that two requests share, so that is compared.
type promptCacheCounter struct {
	mu   sync.Mutex // guards last
	last map[string][]segment
}

// makeRoom deletes any one entry of a map that has reached its limit.
func makeRoom[K comparable, V any](m map[K]V, limit int) {
	if len(m) < limit {
		return
	}
	for key := range m {
		delete(m, key)
		return
	}
}

// segment is one message of a request as it was sent.
type segment struct {
	print fingerprint
	block string // the inserted block; "" for the client's own message
	bytes int64
}

func newPromptCacheCounter() *promptCacheCounter {
	return &promptCacheCounter{last: map[string][]segment{}}
}

// count fills in the receipt's CachedBytes and NewBytes, for a conversation with the blocks in
// it, by rising Before. A session's request is compared with the session's last one. Without a
// session, the first message identifies the conversation.
func (tr *promptCacheCounter) count(t *ken.Turn, p *fingerprints, blocks []Insertion, r *ken.Receipt) {
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
	name := t.Owner + "\x00" + t.Session
	if t.Session == "" {
		name += string(at[0][:])
	}
	tr.mu.Lock()
	before := tr.last[name]
	if before == nil {
		makeRoom(tr.last, maxConversations)
	}
	tr.last[name] = now
	tr.mu.Unlock()
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
