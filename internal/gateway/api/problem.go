package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kenlayer/ken"
)

// Problem is an error in the format of RFC 9457, with the field at fault and a hint.
type Problem struct {
	Type     string `json:"type" jsonschema:"which problem it is: a stable reference, below /api/problems/"`
	Title    string `json:"title" jsonschema:"the problem in general; the same for every problem of the type"`
	Status   int    `json:"status" jsonschema:"the status of the answer"`
	Code     string `json:"code" jsonschema:"the last part of type, to branch on"`
	Detail   string `json:"detail,omitempty" jsonschema:"what happened this time"`
	Instance string `json:"instance,omitempty" jsonschema:"the path that was asked for"`
	Field    string `json:"field,omitempty" jsonschema:"the parameter or the field of the body at fault"`
	Try      string `json:"try,omitempty" jsonschema:"what to do about it"`
}

// problemCode is the last segment of a problem's type.
type problemCode string

// All problem codes. Those of package ken keep their names.
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
	// Those of the gateway, which answers before the API does.
	codeInvalidHeader = problemCode("invalid_header")
	codeMissingKey    = problemCode("missing_key")
	codeUnknownKey    = problemCode("unknown_key")
	codeExpiredKey    = problemCode("expired_key")
	codeForeignOrigin = problemCode("foreign_origin")
	codeUnknownHost   = problemCode("unknown_host")
	codeRateLimited   = problemCode("rate_limited")
	codeTooMany       = problemCode("too_many_requests")
)

// ProblemType describes a type of problem.
type ProblemType struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	About  string `json:"about"`
}

const typePrefix = Prefix + "problems/"

// problems maps each error code to its status and texts.
var problems = map[problemCode]ProblemType{
	codeInvalid:       {"", "The request is wrong", http.StatusBadRequest, "Something in the request can't be as it is; field says what, try says what to do."},
	codeUnauthorized:  {"", "Nobody is named", http.StatusUnauthorized, "The request carries no key of the gateway, or one that it does not know."},
	codeForbidden:     {"", "The key lacks a right", http.StatusForbidden, "Who asks may not do this; detail names the right."},
	codeCrossSite:     {"", "Another site asks", http.StatusForbidden, "A browser sent this for a page of another site, which may not change anything here."},
	codeNotFound:      {"", "There is no such thing", http.StatusNotFound, "The owner has nothing of that id. Whether another owner has is not said."},
	codeNoRoute:       {"", "There is nothing at this path", http.StatusNotFound, "The path is none of the description's."},
	codeMethod:        {"", "The method is not served here", http.StatusMethodNotAllowed, "The header Allow lists those that are."},
	codeAccept:        {"", "The answer can't be had in that form", http.StatusNotAcceptable, "The header Accept excludes the only form that there is."},
	codeExists:        {"", "It exists with other content", http.StatusConflict, "The id or the key is taken."},
	codeRefused:       {"", "A rule forbids it", http.StatusConflict, "The state in which something is does not allow it, such as a step that a claim's life cycle does not have."},
	codePrecondition:  {"", "It was changed meanwhile", http.StatusPreconditionFailed, "What If-Match names is not the present version."},
	codeTooLarge:      {"", "The body is too large", http.StatusRequestEntityTooLarge, "The body is longer than is accepted."},
	codeMedia:         {"", "The body is of another type", http.StatusUnsupportedMediaType, "Bodies are JSON, and are marked as such: application/json."},
	codeInvalidHeader: {"", "A header can't be read", http.StatusBadRequest, "detail names the header, try says what it may have."},
	codeMissingKey:    {"", "No key came along", http.StatusUnauthorized, "The gateway needs a key: send one in the header Authorization or X-Ken-Key."},
	codeUnknownKey:    {"", "The key is wrong", http.StatusUnauthorized, "The gateway does not have this key."},
	codeExpiredKey:    {"", "The key has ended", http.StatusUnauthorized, "The time of this key is over; its owner can make another one."},
	codeForeignOrigin: {"", "Another site asks", http.StatusForbidden, "A browser sent this for a page of another site."},
	codeUnknownHost:   {"", "The gateway has another name", http.StatusMisdirectedRequest, "The header Host names none of gateway.hosts."},
	codeRateLimited:   {"", "The key asks too often", http.StatusTooManyRequests, "It can be tried again; Retry-After says when."},
	codeTooMany:       {"", "Too many requests at once", http.StatusServiceUnavailable, "It can be tried again; Retry-After says when."},
	codeHeld:          {"", "Another process holds the store", http.StatusServiceUnavailable, "It can be tried again; Retry-After says when."},
	codeUnavailable:   {"", "Something is down, slow or full", http.StatusServiceUnavailable, "It can be tried again; Retry-After says when."},
	codeCorrupt:       {"", "What is stored can't be read", http.StatusInternalServerError, "It was not changed; the log says more."},
	codeInternal:      {"", "A fault of ours", http.StatusInternalServerError, "The log says more."},
}

// typeOf returns a problem type with its complete reference.
func typeOf(code problemCode) (ProblemType, bool) {
	t, ok := problems[code]
	t.Type = typePrefix + string(code)
	return t, ok
}

// failure is an error with a problem code.
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

// problemOf converts an error to a problem. mustLog reports whether the error must be logged.
func problemOf(err error) (p Problem, header map[string]string, mustLog bool) {
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
	case codeInternal: // the error's text is for operators only
		p.Detail, p.Field, p.Try, mustLog = "", "", "Look at the log of the process that answered.", true
	case codeCorrupt:
		mustLog = true
	case codeHeld, codeUnavailable:
		header, mustLog = map[string]string{"Retry-After": "1"}, f == nil && e != nil // its cause is for operators only
	}
	t, _ := typeOf(code)
	p.Type, p.Title, p.Status, p.Code = t.Type, t.Title, t.Status, string(code)
	return p, header, mustLog
}

// ProblemOf converts an error to the problem with which the API answers. Its reader is an operator,
// so Detail has the error's complete text.
func ProblemOf(err error) Problem {
	p, _, _ := problemOf(err)
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		p.Field, p.Try = e.Field, ken.Hint(err)
	}
	p.Detail = err.Error()
	if p.Field != "" {
		p.Detail = strings.TrimPrefix(p.Detail, p.Field+": ")
	}
	return p
}

// sentence joins the messages of an error and of the ken.Errors that caused it. Other causes are
// for operators only.
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
