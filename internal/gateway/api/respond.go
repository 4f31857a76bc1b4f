package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/store"
)

// Media types.
const (
	mediaJSON    = "application/json"
	mediaLines   = "application/x-ndjson"
	mediaProblem = "application/problem+json"
)

// reply is the result of a handler.
type reply struct {
	status int    // 0 means the route's status
	body   any    // encoded as JSON; nil if there is none
	raw    []byte // the body if it is already encoded
	etag   string // "" if there is none
	next   string // the cursor of the next page; "" if there is none
	header map[string]string
	// stream writes the body in parts. flush sends what was written so far.
	stream func(ctx context.Context, w io.Writer, flush func()) error
}

// encode returns v as JSON on one line, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return b.Bytes(), nil
}

func (a *API) send(w http.ResponseWriter, r *http.Request, c *call, rep *reply) {
	h := w.Header()
	for name, value := range rep.header {
		h.Set(name, value)
	}
	if rep.etag != "" {
		h.Set("ETag", rep.etag)
		if !hasBody(r.Method) && r.Method != http.MethodDelete && notModified(r, rep.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if rep.next != "" {
		q := r.URL.Query()
		q.Set(pCursor.name, rep.next)
		h.Set("Link", "<"+r.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
	}
	status := rep.status
	if status == 0 { // OPTIONS has a status and no route
		status = c.route.status
	}
	if rep.stream != nil {
		h.Set("Content-Type", c.route.mediaType())
		a.stream(w, r, c, rep)
		return
	}
	body := rep.raw
	if rep.body != nil {
		var err error
		if body, err = encode(rep.body); err != nil {
			a.refuse(w, r, c, err)
			return
		}
	}
	if body == nil {
		w.WriteHeader(status)
		return
	}
	h.Set("Content-Type", c.route.mediaType())
	write(w, r, status, body)
}

// stream sends a body while it is produced. After a part was sent, an error can only be reported by
// breaking the connection: otherwise the body would look complete.
func (a *API) stream(w http.ResponseWriter, r *http.Request, c *call, rep *reply) {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	out := &startedWriter{w: w}
	err := rep.stream(r.Context(), out, out.flush)
	switch {
	case err == nil && !out.started:
		w.WriteHeader(http.StatusOK)
	case err != nil && !out.started:
		a.refuse(w, r, c, err)
	case err != nil:
		if r.Context().Err() == nil {
			a.o.Log.Error("an answer was cut short", "route", c.route.id, "cause", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// startedWriter records whether anything was written.
type startedWriter struct {
	w       http.ResponseWriter
	started bool
}

func (s *startedWriter) Write(b []byte) (int, error) {
	s.started = true
	return s.w.Write(b)
}

// flush sends the header and what was written so far.
func (s *startedWriter) flush() {
	s.started = true
	_ = http.NewResponseController(s.w).Flush() // a writer that can't flush sends at the end
}

// refuse answers with an error as a problem.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, c *call, err error) {
	p, header, mustLog := problemOf(err)
	if mustLog && r.Context().Err() == nil {
		id := ""
		if c.route != nil {
			id = c.route.id
		}
		a.o.Log.Error("a request failed", "route", id, "cause", err, "try", ken.Hint(err))
	}
	p.Instance = r.URL.EscapedPath()
	h := w.Header()
	for _, name := range []string{"ETag", "Link"} {
		h.Del(name)
	}
	for name, value := range header {
		h.Set(name, value)
	}
	body, err := encode(p)
	if err != nil { // impossible: it consists of strings
		panic(err)
	}
	h.Set("Content-Type", mediaProblem)
	write(w, r, p.Status, body)
}

func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// etagOf returns the strong ETag of a body: a hash of it.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// withETag returns a reply with the ETag of its body.
func withETag(v any) (*reply, error) {
	body, err := encode(v)
	if err != nil {
		return nil, err
	}
	return &reply{raw: body, etag: etagOf(body)}, nil
}

// listTag returns the weak ETag of a list. It depends on the log, the query, the hour, because
// tiers decay over time, and the process, whose configuration affects tiers.
func (c *call) listTag(s store.Engine) string {
	sum := sha256.Sum256([]byte(c.who.Owner + "\x00" + c.r.URL.RequestURI() + "\x00" + c.api.instance))
	return fmt.Sprintf(`W/"%d-%d-%s"`, s.Seq(), c.api.o.Now().Unix()/int64(time.Hour/time.Second), hex.EncodeToString(sum[:8]))
}

// notModified reports whether If-None-Match contains this ETag, by weak comparison.
func notModified(r *http.Request, etag string) bool {
	return slices.ContainsFunc(parseETags(r.Header.Values("If-None-Match")), func(t string) bool { return t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(etag, "W/") })
}

// checkIfMatch returns an error if If-Match does not contain the ETag of the claim's current
// version, by strong comparison. Without the header, every version matches.
func (c *call) checkIfMatch(v inspect.Claim) error {
	given := c.r.Header.Values("If-Match")
	if len(given) == 0 {
		return nil
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	etag := etagOf(body)
	for _, t := range parseETags(given) {
		if t == "*" || t == etag {
			return nil
		}
	}
	p := problemf(codePrecondition, "The claim is not the version that If-Match names any more.")
	p.Try, p.header = "Read it again, look at what has changed, and repeat the request with its new ETag.", map[string]string{"ETag": etag}
	return p
}

// parseETags parses a list of ETags and ignores everything else in it.
func parseETags(lines []string) (out []string) {
	for _, line := range lines {
		for line != "" {
			line = strings.TrimLeft(line, " \t,")
			if rest, ok := strings.CutPrefix(line, "*"); ok {
				out, line = append(out, "*"), rest
				continue
			}
			weak := ""
			if rest, ok := strings.CutPrefix(line, "W/"); ok {
				weak, line = "W/", rest
			}
			if !strings.HasPrefix(line, `"`) {
				_, line, _ = strings.Cut(line, ",")
				continue
			}
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				break
			}
			out, line = append(out, weak+line[:end+2]), line[end+2:]
		}
	}
	return out
}
