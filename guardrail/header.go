package guardrail

import (
	"encoding/base64"
	"strings"
)

// findAuthorization finds the credentials of an Authorization header, or of
// Proxy-Authorization: in a request, in a program that sets it, in JSON. i is where
// the word starts.
func findAuthorization(s string, i int) (Finding, bool) {
	const name = "authorization"
	if i+len(name) >= len(s) || !strings.EqualFold(s[i:i+len(name)], name) {
		return Finding{}, false
	}
	at := i + len(name)
	for n := 0; at < len(s) && n < 12 && strings.IndexByte("\\\"'` \t:=,>)]", s[at]) >= 0; n++ {
		at++
	}
	if at == i+len(name) {
		return Finding{}, false
	}
	first, end := headerWord(s, at)
	second, last := headerWord(s, blanks(s, end))
	if end < len(s) && s[end] == ' ' && scheme(first) != "" {
		start := last - len(second)
		switch kind := scheme(first); kind {
		case "basic-auth":
			return Finding{kind, start, last}, basic(second)
		default:
			return Finding{kind, start, last}, headerToken(second, 12)
		}
	}
	return Finding{"authorization", at, end}, headerToken(first, 16)
}

// headerWord reads a token as RFC 7235 has it.
func headerWord(s string, at int) (w string, end int) {
	for end = at; end < len(s) && tokenByte(s[end]); end++ {
	}
	return s[at:end], end
}

// scheme is the kind of credentials that a scheme has; "" for one that has none to
// be kept secret, or that is none.
func scheme(name string) string {
	switch strings.ToLower(name) {
	case "basic":
		return "basic-auth"
	case "bearer":
		return "bearer-token"
	case "token", "apikey", "api-key", "key", "genie-key", "bot", "pve", "oauth":
		return "authorization"
	}
	return ""
}

// basic reports a user and a password in base64.
func basic(v string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil {
		return false
	}
	user, pass, ok := strings.Cut(string(b), ":")
	for _, c := range b {
		ok = ok && ' ' <= c && c != 0x7f
	}
	return ok && (pass == "" && len(user) >= 16 || chosen(user, pass))
}

// headerToken reports a token of at least this length that is made by a machine.
func headerToken(v string, least int) bool {
	return len(v) >= least && digits(v) >= 2 && letters(v) >= 2 && entropy(v) > 2.75 && !placeholder(v)
}
