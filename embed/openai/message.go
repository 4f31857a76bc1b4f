package openai

import (
	"bytes"
	"net/http"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// aboutModel reports whether an error response is about the model's name. Gateways use
// different statuses for it; some use 400.
func (x *exchange) aboutModel() bool {
	if x.status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(x.message() + " " + gjson.GetBytes(x.body, "error.code").String())
	return strings.Contains(said, "model")
}

// isPage reports whether the answer is HTML: a proxy's error page, a login form,
// a path outside of the API.
func (x *exchange) isPage() bool {
	return strings.Contains(x.header.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("<"))
}

// message returns the error message of a response, short enough for a receipt.
func (x *exchange) message() string {
	if m := x.errorField(); m != "" {
		return m
	}
	if m := gjson.GetBytes(x.body, "detail"); m.Type == gjson.String {
		return clean(m.Str, 200)
	}
	if x.isPage() {
		return ""
	}
	return clean(string(x.body[:min(len(x.body), 1000)]), 200)
}

// errorField reads {"error": {"message": "…"}} and {"error": "…"}.
func (x *exchange) errorField() string {
	if !gjson.ValidBytes(x.body) {
		return ""
	}
	e := gjson.GetBytes(x.body, "error")
	if m := e.Get("message"); m.Exists() {
		e = m
	}
	if e.Type != gjson.String {
		return ""
	}
	return clean(e.Str, 200)
}

// clean makes external text fit for one line of a terminal: no control characters,
// single spaces, at most limit runes.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
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
