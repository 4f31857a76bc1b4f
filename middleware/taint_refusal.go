package middleware

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// taintCode is what a refusal is called, for programs.
const taintCode = "tainted_tool_call"

// taintValue is the header's value for an answer.
func taintValue(word string, taints []ken.Taint) string {
	return word + "; tool=" + headerToken(taints[0].Tool)
}

// headerToken makes a name fit for a header: a model may have chosen it.
func headerToken(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, s)
}

// refusal says what was refused and what to do. It names the claim and does not quote
// it: a client shows errors to models, too.
func refusal(taints []ken.Taint) string {
	t := taints[0]
	return "ken: the answer was refused: it calls " + headerToken(t.Tool) + " with what the external claim " + t.Claim +
		" says. Look at it with ken history " + t.Claim + ", then forget or verify it, say yourself what is to be done, or set gateway.taint to flag."
}

// errorBody is an error in the API's shape.
func errorBody(d wire.Dialect, text string) []byte {
	var v any = map[string]any{"error": map[string]any{"message": text, "type": "permission_error", "param": nil, "code": taintCode}}
	switch d {
	case wire.Messages:
		v = map[string]any{"type": "error", "error": map[string]any{"type": "permission_error", "message": text}}
	case wire.Ollama:
		v = map[string]any{"error": text}
	}
	b, _ := json.Marshal(v) // strings alone
	return b
}

// refuse puts an error in place of the whole answer.
func (g *guard) refuse(taints []ken.Taint) {
	body := errorBody(g.x.dialect, refusal(taints))
	r, h := g.resp, g.resp.Header
	r.StatusCode = http.StatusForbidden
	r.Status = strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
	for _, name := range []string{"Content-Encoding", "Transfer-Encoding", "Etag", "Content-Md5", "Digest", "Content-Digest", "Trailer"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Ken-Error", taintCode)
	h.Add(TaintHeader, taintValue("refused", taints))
	r.Body, r.ContentLength, r.TransferEncoding, r.Trailer = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil, nil
}

// errorEvents are a refusal in a stream, and its end.
func errorEvents(d wire.Dialect, taints []ken.Taint) []byte {
	text := refusal(taints)
	switch d {
	case wire.Responses:
		b, _ := json.Marshal(map[string]any{"type": "error", "code": taintCode, "message": text, "param": nil})
		return []byte("event: error\ndata: " + string(b) + "\n\n")
	case wire.Messages:
		return []byte("event: error\ndata: " + string(errorBody(d, text)) + "\n\n")
	case wire.Ollama:
		return append(errorBody(d, text), '\n')
	default:
		return []byte("data: " + string(errorBody(d, text)) + "\n\ndata: [DONE]\n\n")
	}
}
