package trace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Span is one timed operation. It is safe for concurrent use. The caller must end
// it. A nil Span records nothing.
type Span struct {
	span   trace.Span
	tracer *Tracer
	begin  time.Time
	server bool
}

// Request starts the server span of a request, as a child of the span in the
// request's traceparent header. It returns the request's context with the span. The
// request is not changed.
func (t *Tracer) Request(ctx context.Context, r *http.Request) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	method := method(r.Method)
	ctx = incoming.Extract(ctx, propagation.HeaderCarrier(r.Header))
	ctx, s := t.start(ctx, method, trace.SpanKindServer, semconv.HTTPRequestMethodKey.String(method), semconv.URLScheme(scheme))
	if r.Pattern != "" {
		s.Route(r.Pattern)
	}
	return ctx, s
}

// Route records the pattern that a request matched, such as "POST /v1/messages". The
// path itself is not recorded, because it may contain ids.
func (s *Span) Route(pattern string) {
	if s == nil {
		return
	}
	pattern = clip(pattern)
	path := pattern[strings.IndexByte(pattern, ' ')+1:]
	s.span.SetName(pattern)
	s.span.SetAttributes(semconv.HTTPRoute(path))
}

// Session records the owner and the session of a request.
func (s *Span) Session(owner, session string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("ken.owner", clip(owner)))
	if session != "" {
		s.span.SetAttributes(semconv.GenAIConversationID(clip(session)))
	}
}

// End ends the span. status is the HTTP status, 0 if there is none. Of err only the
// type is recorded. On a server span, a status below 500 is not an error, because it
// is the client's.
func (s *Span) End(status int, err error) {
	if s == nil {
		return
	}
	if status > 0 {
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	kind := ""
	switch {
	case err != nil:
		kind = errorType(err)
	case status >= 500, status >= 400 && !s.server:
		kind = strconv.Itoa(status)
	}
	if kind != "" {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End(trace.WithTimestamp(s.tracer.now()))
}

// errorType returns a word for the kind of an error. The error's text is not used,
// because an upstream's error may quote the request.
func errorType(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &dns):
		return "name_resolution"
	case errors.As(err, &op):
		return op.Op // dial, read, write
	}
	return fmt.Sprintf("%T", err)
}

// method returns a request's method, or a fixed word for an unknown one, as the
// semantic conventions require.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions,
		http.MethodConnect, http.MethodTrace:
		return m
	}
	return "_OTHER"
}

// maxValue limits an attribute value that comes from outside, in bytes.
const maxValue = 256

func clip(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue]
	}
	return strings.ToValidUTF8(s, "�")
}
