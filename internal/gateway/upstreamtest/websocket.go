package upstreamtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/websocket"
)

// WebSocket is the Proto of a request that arrived as a message on a WebSocket. Its method, target
// and header are those of the handshake, and its body is the message.
const WebSocket = "websocket"

// maxMessage is the maximum size of a client's message in bytes.
const maxMessage = 64 << 20

// switching returns the answer that accepts a WebSocket. Requests on it are answered by Server.Next
// and Server.Handle: each event of a stream is a message, and an error status is an event of type
// error.
func switching(r *Request) Answer {
	return Answer{Status: http.StatusSwitchingProtocols, Header: []Field{{"Upgrade", "websocket"}, {"Connection", "Upgrade"},
		{"Sec-WebSocket-Accept", websocket.AcceptKey(r.Get("Sec-WebSocket-Key"))}, {"X-Request-Id", "req_websocket"}}}
}

// isHandshake reports whether a request is a WebSocket handshake on the path of responses.
func isHandshake(r *Request) bool {
	return r.Method == http.MethodGet && r.Proto != WebSocket && strings.HasSuffix(r.Path(), "/responses") &&
		strings.EqualFold(r.Get("Upgrade"), "websocket")
}

// opensSocket reports whether a request is a handshake, or a message that only fills the provider's
// cache.
func opensSocket(r *Request) bool {
	return isHandshake(r) || r.Proto == WebSocket && gjson.GetBytes(r.Body, "generate").Type == gjson.False
}

// serveMessages answers the messages of a WebSocket until it is closed.
func (s *Server) serveMessages(c io.WriteCloser, r *bufio.Reader, handshake *Request, number int) {
	var text []byte
	for {
		h, payload, err := websocket.ReadFrame(r, maxMessage)
		if err != nil || !h.Masked {
			return
		}
		switch h.Opcode {
		case websocket.Close:
			_, _ = c.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Close}, payload))
			return
		case websocket.Ping:
			if _, err := c.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Pong}, payload)); err != nil {
				return
			}
		case websocket.Text, websocket.Continuation:
			if text = append(text, payload...); !h.Fin {
				continue
			}
			req := &Request{Method: handshake.Method, Target: handshake.Target, Proto: WebSocket, Header: handshake.Header, Body: text, Conn: number, gone: make(chan struct{})}
			text = nil
			more := awaitMore(r, req)
			if err := sendMessages(c, s.record(req), req); err != nil {
				_ = c.Close()
				<-more
				return
			}
			if !<-more {
				return
			}
		}
	}
}

// awaitMore waits for the byte after a request, which shows at once that the client leaves. The byte
// stays in the reader, for the next request.
func awaitMore(r *bufio.Reader, req *Request) <-chan bool {
	more := make(chan bool, 1)
	go func() {
		_, err := r.Peek(1)
		if err != nil {
			close(req.gone)
		}
		more <- err == nil
	}()
	return more
}

// sendMessages sends an answer up to its ending.
func sendMessages(w io.Writer, a Answer, req *Request) error {
	for _, event := range messages(a) {
		if err := wait(a.Pace, req); err != nil {
			return err
		}
		if _, err := w.Write(websocket.AppendFrame(nil, websocket.Header{Fin: true, Opcode: websocket.Text}, event)); err != nil {
			return err
		}
	}
	switch a.Ending {
	case Keep:
		return nil
	case Stall:
		<-req.gone
	}
	return errGone
}

// messages converts an answer to the messages of a WebSocket.
func messages(a Answer) (out [][]byte) {
	if a.status() != http.StatusOK {
		b, _ := json.Marshal(map[string]any{"type": "error", "status": a.status(), "error": json.RawMessage(gjson.GetBytes(a.Body(), "error").Raw)})
		return [][]byte{b}
	}
	for _, piece := range a.Pieces {
		for line := range bytes.Lines(piece) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				out = append(out, bytes.TrimSpace(data))
			}
		}
	}
	return out
}
