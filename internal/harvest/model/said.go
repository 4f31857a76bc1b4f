package model

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// said is "URL did something (500): what it said". Some endpoints repeat the
// request in their errors; what does is left out, for errors are logged.
func (c *Client) said(x *exchange, did string, talk []turn) string {
	s := fmt.Sprintf("%s %s (%d)", c.address, did, x.status)
	message := x.message()
	if c.opts.APIKey != "" {
		message = strings.ReplaceAll(message, c.opts.APIKey, "***")
	}
	switch {
	case x.isPage():
		return s + ": it answered with a web page"
	case message == "":
		return s
	case repeats(message, talk):
		return s + ": its message repeats what was sent"
	}
	return s + ": " + message
}

// repeats reports whether a message has a run of characters of what was sent.
func repeats(message string, talk []turn) bool {
	const run = 16 // shorter ones are words that any two texts share
	runes := []rune(strings.ReplaceAll(fold(message), `\n`, " "))
	for _, t := range talk {
		sent := fold(strings.ReplaceAll(t.text, "\n"+linePrefix, "\n"))
		if len(runes) < run {
			continue
		}
		for i := 0; i+run <= len(runes); i++ {
			if strings.Contains(sent, string(runes[i:i+run])) {
				return true
			}
		}
	}
	return false
}

// refuses reports whether a refusal names a field of the request.
func (x *exchange) refuses(field string) bool {
	return x.refusal() && strings.Contains(x.lower(), field)
}

// refusesFormat reports whether a refusal may be about the response format.
// Endpoints say it in many ways, so every refusal may be that is not plainly about
// something else.
func (x *exchange) refusesFormat() bool {
	if !x.refusal() {
		return false
	}
	s := x.lower()
	for _, word := range []string{"response_format", "json", "schema", "grammar", "structured", "guided"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return !x.aboutLength() && !x.aboutModel()
}

func (x *exchange) refusal() bool {
	switch x.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// aboutModel reports whether a refusal is about the model's name. Endpoints
// disagree on the status for it, and some say it with 400.
func (x *exchange) aboutModel() bool {
	s := x.lower()
	return x.refusal() && strings.Contains(s, "model") &&
		(strings.Contains(s, "not found") || strings.Contains(s, "not exist") || strings.Contains(s, "unknown") || strings.Contains(s, "invalid model") || strings.Contains(s, "no such"))
}

// aboutLength reports whether a refusal is about the length of the request.
func (x *exchange) aboutLength() bool {
	s := x.lower()
	return x.refusal() && (strings.Contains(s, "context length") || strings.Contains(s, "context_length") || strings.Contains(s, "context window") ||
		strings.Contains(s, "context size") || strings.Contains(s, "too long") || strings.Contains(s, "maximum context") || strings.Contains(s, "too many tokens"))
}

func (x *exchange) lower() string {
	return strings.ToLower(x.message() + " " + gjson.GetBytes(x.body, "error.code").String() + " " + gjson.GetBytes(x.body, "error.param").String())
}

// isPage reports whether the answer is HTML: a proxy's error page, a login form,
// a path outside of the API.
func (x *exchange) isPage() bool {
	return strings.Contains(x.header.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("<"))
}

// message is what an answer says in words, short enough for one line.
func (x *exchange) message() string {
	if m := x.errorField(); m != "" {
		return m
	}
	if m := gjson.GetBytes(x.body, "detail"); m.Type == gjson.String {
		return clip(m.Str, 200)
	}
	if x.isPage() || x.ok() {
		return ""
	}
	return clip(string(x.body[:min(len(x.body), 1000)]), 200)
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
	return clip(e.Str, 200)
}

// clip makes a stranger's text fit for one line of a terminal: no control
// characters, single spaces, at most limit runes.
func clip(s string, limit int) string {
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
