package guardrail

import "strings"

// findAssigned finds the value in password = "…", api_key: … and the like. i is
// inside the name.
func findAssigned(s string, i int) (Finding, bool) {
	const maxName = 40
	from, end := i, i
	for from > 0 && i-from < maxName && wordDash(s[from-1]) {
		from--
	}
	for end < len(s) && end-i < maxName && wordDash(s[end]) {
		end++
	}
	at, ok := assignment(s, from, end)
	if !ok {
		return Finding{}, false
	}
	kind := nameKind(strings.TrimRight(strings.ToLower(s[from:end]), "0123456789"))
	if kind == "" {
		return Finding{}, false
	}
	if kind == "password" && inConnection(s, from) {
		start, end := connectionValue(s, at)
		return Finding{"connection-password", start, end}, chosen("", s[start:end])
	}
	start, end, quoted := value(s, at)
	if !quoted && from > 0 && (s[from-1] == '?' || s[from-1] == '&') { // of a URL
		if n := strings.IndexByte(s[start:end], '&'); n >= 0 {
			end = start + n
		}
	}
	if !credible(s[start:end], quoted, kind == "password" || kind == "secret") {
		return Finding{}, false
	}
	return Finding{kind, start, end}, true
}

// nameKind says what a variable of this name holds, going by how the name ends:
// a password_file or a token_type is no secret.
func nameKind(name string) string {
	if base, ok := cutKey(name); ok {
		switch {
		case strings.Contains(name, "aws") || strings.HasSuffix(base, "secret_access"):
			return "aws-secret-key"
		case strings.HasSuffix(base, "account") || strings.HasSuffix(base, "storage"):
			return "azure-storage-key"
		}
		for _, w := range []string{"api", "access", "secret", "private", "auth", "encryption", "signing", "master"} {
			if strings.HasSuffix(base, w) {
				return "api-key"
			}
		}
		return ""
	}
	for _, k := range [...][2]string{{"password", "password"}, {"passwd", "password"}, {"passphrase", "password"},
		{"pwd", "password"}, {"secret", "secret"}, {"token", "token"}} {
		if strings.HasSuffix(name, k[0]) {
			return k[1]
		}
	}
	return ""
}

func cutKey(name string) (base string, ok bool) {
	base, ok = strings.CutSuffix(name, "key")
	return strings.TrimRight(base, "_-"), ok
}

// assignment skips what stands between the name s[from:end] and its value: a
// closing quote, and =, :, := or =>; for a command-line flag, a space.
func assignment(s string, from, end int) (at int, ok bool) {
	i := end
	if i < len(s) && s[i] == '\\' {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		if i++; i < len(s) && s[i] == ']' {
			i++
		}
	}
	i = blanks(s, i)
	switch rest := s[i:]; {
	case strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "=>"):
		i += 2
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "::"):
		return 0, false
	case strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":"):
		i++
	case i > end && strings.HasPrefix(s[from:], "--"):
	default:
		return 0, false
	}
	return blanks(s, i), true
}

func blanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// value finds the literal or bare word at i.
func value(s string, i int) (start, end int, quoted bool) {
	const maxValue = 256
	if i+1 < len(s) && s[i] == '\\' && s[i+1] == '"' {
		i++
	}
	if i < len(s) && strings.IndexByte("\"'`", s[i]) >= 0 {
		q := s[i]
		for end = i + 1; end < len(s) && end-i < maxValue && s[end] != q && s[end] != '\n'; end++ {
		}
		if end == len(s) || s[end] != q {
			return i, i, true
		}
		stop := end
		if s[end-1] == '\\' { // the quotes are escaped themselves
			stop--
		}
		return i + 1, max(stop, i+1), true
	}
	for end = i; end < len(s) && end-i < maxValue && s[end] > ' ' && strings.IndexByte("\"'`,;<>{}[]()", s[end]) < 0; end++ {
	}
	if end < len(s) && (s[end] == '(' || s[end] == '[' || s[end] == '{') {
		return i, i, false // a call, an index, a template
	}
	return i, end, false
}
