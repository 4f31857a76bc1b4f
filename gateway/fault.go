package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// errorFormat is the API whose error format the client expects.
type errorFormat uint8

const (
	openAI errorFormat = iota
	anthropic
	ollama
	problem // RFC 9457, for paths of Ken itself
)

// errorFormatOf returns the error format that the client of a request expects.
func errorFormatOf(r route, path string, h http.Header) errorFormat {
	switch {
	case r.own():
		return problem
	case strings.HasPrefix(path, "/api/"):
		return ollama
	case h.Get("Anthropic-Version") != "", strings.HasPrefix(path, "/v1/messages"):
		return anthropic
	}
	return openAI
}

// fault is an error answer that the gateway itself sends.
type fault struct {
	status int
	code   string // machine-readable, for the header X-Ken-Error
	msg    string
	try    string
	retry  int // seconds for Retry-After; 0 sends none
}

// faultOf converts an error to a fault. If it is not a ken.Error, the client does not see its
// message, only the log does.
func faultOf(err error) *fault {
	f := &fault{status: http.StatusInternalServerError, code: string(ken.CodeInternal), msg: "the gateway failed", try: ken.Hint(err)}
	var e *ken.Error
	if !errors.As(err, &e) {
		return f
	}
	f.code, f.msg = string(e.Code), e.Msg
	if e.Field != "" {
		f.msg = e.Field + ": " + e.Msg
	}
	switch e.Code {
	case ken.CodeInvalid:
		f.status = http.StatusBadRequest
	case ken.CodeNotFound:
		f.status = http.StatusNotFound
	case ken.CodeRefused:
		f.status = http.StatusForbidden
	case ken.CodeExists:
		f.status = http.StatusConflict
	case ken.CodeUnavailable, ken.CodeHeld:
		f.status, f.retry = http.StatusServiceUnavailable, 1
	}
	return f
}

func (f *fault) write(w http.ResponseWriter, d errorFormat) {
	h := w.Header()
	h.Set("X-Ken-Error", f.code)
	h.Set("Content-Type", "application/json")
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retry))
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	text := f.msg
	if f.try != "" {
		text += ". " + f.try
	}
	var body any
	switch d {
	case anthropic:
		body = map[string]any{"type": "error", "error": map[string]string{"type": anthropicType(f.status), "message": "ken: " + text}}
	case ollama:
		body = map[string]string{"error": "ken: " + text}
	case problem:
		h.Set("Content-Type", "application/problem+json")
		p := map[string]any{"type": "/api/problems/" + f.code, "title": http.StatusText(f.status), "status": f.status, "detail": f.msg, "code": f.code}
		if f.try != "" {
			p["try"] = f.try
		}
		body = p
	default:
		body = map[string]any{"error": map[string]any{"message": "ken: " + text, "type": openAIType(f.status), "param": nil, "code": f.code}}
	}
	b, _ := json.Marshal(body) // strings and numbers can always be marshaled
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.status)
	_, _ = w.Write(b) // the client may be gone
}

func openAIType(status int) string { return errorType(openAITypes, status, "server_error") }

func anthropicType(status int) string { return errorType(anthropicTypes, status, "api_error") }

var (
	openAITypes = map[int]string{http.StatusTooManyRequests: "rate_limit_error", http.StatusUnauthorized: "authentication_error",
		http.StatusForbidden: "permission_error"}
	anthropicTypes = map[int]string{http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
		http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusServiceUnavailable: "overloaded_error", http.StatusGatewayTimeout: "timeout_error"}
)

// errorType returns the type of an error in an API. server is that of statuses from 500 on.
func errorType(types map[int]string, status int, server string) string {
	if t := types[status]; t != "" {
		return t
	}
	if status >= http.StatusInternalServerError {
		return server
	}
	return "invalid_request_error"
}
