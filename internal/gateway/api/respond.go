package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Media types.
const (
	mediaJSON    = "application/json"
	mediaLines   = "application/x-ndjson"
	mediaProblem = "application/problem+json"
)

// reply is what a handler wants to be sent.
type reply struct {
	status int    // 0 is the route's
	body   any    // encoded as JSON; nil for none
	raw    []byte // the body, encoded already
	etag   string // "" for none
	next   string // the cursor of the page after; "" for none
	header map[string]string
	// stream writes the body as it goes; flush hands on what was written.
	stream func(ctx context.Context, w io.Writer, flush func()) error
}

// encode writes v as JSON in one line, without escaping what HTML would need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return b.Bytes(), nil
}

// send writes a reply.
func (a *API) send(w http.ResponseWriter, r *http.Request, c *call, rep *reply) {
	h := w.Header()
	for name, value := range rep.header {
		h.Set(name, value)
	}
	if rep.etag != "" {
		h.Set("ETag", rep.etag)
		if !bodied(r.Method) && r.Method != http.MethodDelete && unchanged(r, rep.etag) {
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
	if status == 0 {
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

// stream sends a body as it is made. Once a part of it is out, an error can only be
// told by breaking the connection: an end that looks whole would be a lie.
func (a *API) stream(w http.ResponseWriter, r *http.Request, c *call, rep *reply) {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	out := &started{w: w}
	err := rep.stream(r.Context(), out, out.flush)
	switch {
	case err == nil && !out.yes:
		w.WriteHeader(http.StatusOK)
	case err != nil && !out.yes:
		a.refuse(w, r, c, err)
	case err != nil:
		if r.Context().Err() == nil {
			a.o.Log.Error("an answer was cut short", "route", c.route.id, "cause", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// started knows whether anything was written.
type started struct {
	w   http.ResponseWriter
	yes bool
}

func (s *started) Write(b []byte) (int, error) {
	s.yes = true
	return s.w.Write(b)
}

// flush sends what was written, and the header before it.
func (s *started) flush() {
	s.yes = true
	_ = http.NewResponseController(s.w).Flush() // a writer that can't flush sends at the end
}

// refuse sends an error as a problem.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, c *call, err error) {
	p, header, tell := problemOf(err)
	if tell && r.Context().Err() == nil {
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
	if err != nil { // it is made of strings
		panic(err)
	}
	h.Set("Content-Type", mediaProblem)
	write(w, r, p.Status, body)
}

func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone, if it fails
	}
}

// Problem is an error as RFC 9457 has it, with the field at fault and what to do.
type Problem struct {
	Type     string `json:"type" jsonschema:"which problem it is: a stable reference, below /api/problems/"`
	Title    string `json:"title" jsonschema:"the problem in general; the same for every problem of the type"`
	Status   int    `json:"status" jsonschema:"the status of the answer"`
	Detail   string `json:"detail,omitempty" jsonschema:"what happened this time"`
	Instance string `json:"instance,omitempty" jsonschema:"the path that was asked for"`
	Field    string `json:"field,omitempty" jsonschema:"the parameter or the field of the body at fault"`
	Try      string `json:"try,omitempty" jsonschema:"what to do about it"`
}

// problemCode is the last part of a problem's type.
type problemCode string

// The closed set of problems. Those of the vocabulary keep their names.
const (
	codeInvalid      = problemCode(ken.CodeInvalid)
	codeNotFound     = problemCode(ken.CodeNotFound)
	codeExists       = problemCode(ken.CodeExists)
	codeRefused      = problemCode(ken.CodeRefused)
	codeHeld         = problemCode(ken.CodeHeld)
	codeCorrupt      = problemCode(ken.CodeCorrupt)
	codeUnavailable  = problemCode(ken.CodeUnavailable)
	codeInternal     = problemCode(ken.CodeInternal)
	codeNoRoute      = problemCode("no_route")
	codeMethod       = problemCode("method_not_allowed")
	codeUnauthorized = problemCode("unauthorized")
	codeForbidden    = problemCode("forbidden")
	codeCrossSite    = problemCode("cross_site")
	codeAccept       = problemCode("not_acceptable")
	codeMedia        = problemCode("unsupported_media_type")
	codeTooLarge     = problemCode("too_large")
	codePrecondition = problemCode("precondition_failed")
)

// ProblemType says what a problem's type means.
type ProblemType struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	About  string `json:"about"`
}

const typePrefix = Prefix + "problems/"

// problems is the one place where errors become statuses.
var problems = map[problemCode]ProblemType{
	codeInvalid:      {"", "The request is wrong", http.StatusBadRequest, "Something in the request can't be as it is; field says what, try says what to do."},
	codeUnauthorized: {"", "Nobody is named", http.StatusUnauthorized, "The request carries no key of the gateway, or one that it does not know."},
	codeForbidden:    {"", "The key lacks a right", http.StatusForbidden, "Who asks may not do this; detail names the right."},
	codeCrossSite:    {"", "Another site asks", http.StatusForbidden, "A browser sent this for a page of another site, which may not change anything here."},
	codeNotFound:     {"", "There is no such thing", http.StatusNotFound, "The owner has nothing of that id. Whether another owner has is not said."},
	codeNoRoute:      {"", "There is nothing at this path", http.StatusNotFound, "The path is none of the description's."},
	codeMethod:       {"", "The method is not served here", http.StatusMethodNotAllowed, "The header Allow lists those that are."},
	codeAccept:       {"", "The answer can't be had in that form", http.StatusNotAcceptable, "The header Accept excludes the only form that there is."},
	codeExists:       {"", "It exists with other content", http.StatusConflict, "The id or the key is taken."},
	codeRefused:      {"", "A rule forbids it", http.StatusConflict, "The state in which something is does not allow it, such as a step that a claim's life cycle does not have."},
	codePrecondition: {"", "It was changed meanwhile", http.StatusPreconditionFailed, "What If-Match names is not the present version."},
	codeTooLarge:     {"", "The body is too large", http.StatusRequestEntityTooLarge, "The body is longer than is accepted."},
	codeMedia:        {"", "The body is of another type", http.StatusUnsupportedMediaType, "Bodies are JSON, and are marked as such: application/json."},
	codeHeld:         {"", "Another process holds the store", http.StatusServiceUnavailable, "It can be tried again; Retry-After says when."},
	codeUnavailable:  {"", "Something is down, slow or full", http.StatusServiceUnavailable, "It can be tried again; Retry-After says when."},
	codeCorrupt:      {"", "What is stored can't be read", http.StatusInternalServerError, "It was not changed; the log says more."},
	codeInternal:     {"", "A fault of ours", http.StatusInternalServerError, "The log says more."},
}

// typeOf is a problem type as it is shown.
func typeOf(code problemCode) (ProblemType, bool) {
	t, ok := problems[code]
	t.Type = typePrefix + string(code)
	return t, ok
}

// failure is an error that is a problem already.
type failure struct {
	code   problemCode
	detail string
	field  string
	Try    string
	header map[string]string
}

func (f *failure) Error() string { return string(f.code) + ": " + f.detail }

func problemf(code problemCode, format string, args ...any) *failure {
	return &failure{code: code, detail: fmt.Sprintf(format, args...)}
}

// problemOf makes a problem of an error, and says with which headers and whether the
// log must hear of it.
func problemOf(err error) (p Problem, header map[string]string, tell bool) {
	code := codeInternal
	var f *failure
	var e *ken.Error
	switch {
	case errors.As(err, &f):
		code, p.Detail, p.Field, p.Try, header = f.code, f.detail, f.field, f.Try, f.header
	case errors.As(err, &e):
		if _, known := problems[problemCode(e.Code)]; known {
			code = problemCode(e.Code)
		}
		p.Detail, p.Field, p.Try = sentence(e), e.Field, ken.Hint(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code, p.Detail = codeUnavailable, "It was not done in time."
	}
	switch code {
	case codeInternal: // what it says is for operators
		p.Detail, p.Field, p.Try, tell = "", "", "Look at the log of the process that answered.", true
	case codeCorrupt:
		tell = true
	case codeHeld, codeUnavailable:
		header = map[string]string{"Retry-After": "1"}
	}
	t, _ := typeOf(code)
	p.Type, p.Title, p.Status = t.Type, t.Title, t.Status
	return p, header, tell
}

// sentence joins the messages of an error and of the errors of ours that caused it.
// What others say in a cause is for operators.
func sentence(e *ken.Error) string {
	var parts []string
	for e != nil {
		switch {
		case e.Msg == "":
		case len(parts) > 0 && e.Field != "":
			parts = append(parts, e.Field+": "+e.Msg)
		default:
			parts = append(parts, e.Msg)
		}
		next := (*ken.Error)(nil)
		if !errors.As(e.Err, &next) {
			break
		}
		e = next
	}
	return strings.Join(parts, ": ")
}

// acceptable reports an Accept header that excludes the only type that there is.
func acceptable(r *http.Request, media string) error {
	lines := r.Header.Values("Accept")
	if len(lines) == 0 {
		return nil
	}
	kind, _, _ := strings.Cut(media, "/")
	best, weight := 0, 0.0 // how exactly a range fits, and what it is worth
	for _, part := range strings.Split(strings.Join(lines, ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		exact := map[string]int{"*/*": 1, kind + "/*": 2, media: 3}[name]
		if exact < best || exact == 0 {
			continue
		}
		q := 1.0
		if given, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
				continue
			}
		}
		if exact > best || q > weight {
			best, weight = exact, q
		}
	}
	if best > 0 && weight > 0 {
		return nil
	}
	p := problemf(codeAccept, "This is served as %s alone.", media)
	p.Try = "Accept " + media + "."
	return p
}

// sameSite refuses a change that a browser sends for a page of another site. Those
// that no browser sent have neither header. A page of the same site but another
// origin, such as another port of this machine, is another site here.
func sameSite(r *http.Request) error {
	if http.NewCrossOriginProtection().Check(r) == nil {
		return nil
	}
	p := problemf(codeCrossSite, "A page of another origin asked a browser to send this.")
	p.Try = "Send it from a program, or from a page of this origin."
	return p
}

// isJSON reports whether a content type is JSON in UTF-8. A form can't send it, so
// that a page of another site can't without being refused first.
func isJSON(contentType string) bool {
	name, params, err := mime.ParseMediaType(contentType)
	charset, given := params["charset"]
	return err == nil && name == mediaJSON && (!given || strings.EqualFold(charset, "utf-8"))
}

// tagOf is the strong version of a body: a hash of it.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// tagged is a reply with its body's version.
func tagged(v any) (*reply, error) {
	body, err := encode(v)
	if err != nil {
		return nil, err
	}
	return &reply{raw: body, etag: tagOf(body)}, nil
}

// listTag is the weak version of what follows from the log and the query alone, known
// without making it. Tiers decay as time passes, so an hour is part of it; so is the
// process, whose configuration has a say in them.
func (c *call) listTag(s store.Engine) string {
	sum := sha256.Sum256([]byte(c.who.Owner + "\x00" + c.r.URL.RequestURI() + "\x00" + c.api.instance))
	return fmt.Sprintf(`W/"%d-%d-%s"`, s.Seq(), c.api.o.Now().Unix()/int64(time.Hour/time.Second), hex.EncodeToString(sum[:8]))
}

// unchanged reports whether If-None-Match names this version, by weak comparison.
func unchanged(r *http.Request, etag string) bool {
	for _, t := range tags(r.Header.Values("If-None-Match")) {
		if t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// current reports an If-Match that does not name the claim's present version, by
// strong comparison. Without the header, every version will do.
func (c *call) current(v middleware.ClaimView) error {
	given := c.r.Header.Values("If-Match")
	if len(given) == 0 {
		return nil
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	etag := tagOf(body)
	for _, t := range tags(given) {
		if t == "*" || t == etag {
			return nil
		}
	}
	p := problemf(codePrecondition, "The claim is not the version that If-Match names any more.")
	p.Try, p.header = "Read it again, look at what has changed, and repeat the request with its new ETag.", map[string]string{"ETag": etag}
	return p
}

// tags reads a list of versions. What is none is left out.
func tags(lines []string) (out []string) {
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
