// Package exchange sends requests for go-openai and keeps the responses. The library's
// errors lack a response that it could not decode; here an error can quote it.
package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/embed"
)

// ErrTooLong is the error for a response that is longer than Exchange.Limit.
var ErrTooLong = errors.New("the answer is too long")

var _ openai.HTTPDoer = (*Exchange)(nil)

// Exchange is one request and its response. It is the HTTP client of a go-openai client
// that makes one request.
type Exchange struct {
	HTTP  *http.Client
	Limit int64 // maximum size of a response, in bytes

	Status int // 0 if there was no response
	Header http.Header
	Body   []byte
}

// Do sends the request. It implements openai.HTTPDoer.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := x.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, x.Limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > x.Limit {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLong, x.Limit>>20)
	}
	x.Status, x.Header, x.Body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// OK reports whether the response says that it is a success.
func (x *Exchange) OK() bool { return x.Status >= 200 && x.Status < 300 }

// IsPage reports whether the response is HTML, such as a proxy's error page, a login
// form, or a page outside of the API.
func (x *Exchange) IsPage() bool {
	return strings.Contains(x.Header.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimSpace(x.Body), []byte("<"))
}

// Message returns the error message of a response, as Clip returns it.
func (x *Exchange) Message() string {
	if m := x.ErrorField(); m != "" {
		return m
	}
	if m := gjson.GetBytes(x.Body, "detail"); m.Type == gjson.String {
		return Clip(m.Str, 200)
	}
	if x.IsPage() || x.OK() {
		return ""
	}
	return Clip(string(x.Body[:min(len(x.Body), 1000)]), 200)
}

// ErrorField returns the message in {"error": {"message": "…"}} or {"error": "…"}. A
// response that says it is a success may have one.
func (x *Exchange) ErrorField() string {
	if !gjson.ValidBytes(x.Body) {
		return ""
	}
	e := gjson.GetBytes(x.Body, "error")
	if m := e.Get("message"); m.Exists() {
		e = m
	}
	if e.Type != gjson.String {
		return ""
	}
	return Clip(e.Str, 200)
}

// Throttled returns an *embed.Throttled with the time in Retry-After, at most a day, or
// nil if the response has none.
func (x *Exchange) Throttled() error {
	value := x.Header.Get("Retry-After")
	if s, err := strconv.Atoi(value); err == nil && s >= 0 {
		return &embed.Throttled{After: time.Duration(min(s, 86400)) * time.Second}
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return nil
	}
	now, err := http.ParseTime(x.Header.Get("Date")) // the date is relative to the server's clock
	if err != nil {
		now = time.Now()
	}
	return &embed.Throttled{After: min(max(until.Sub(now), 0), 24*time.Hour)}
}

// Clip makes an untrusted text safe for one line of a terminal: no control characters,
// single spaces, at most limit runes.
func Clip(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r) && r != utf8.RuneError:
			return r
		}
		return -1
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	return s
}

// Unreachable says why a request to the address had no response, and whether that is
// because time ran out.
func Unreachable(address string, err error) (msg string, late bool) {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + address, false
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no host of the name in " + address, false
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return address + " did not answer in time", true
	}
	return "can't reach " + address, false
}
