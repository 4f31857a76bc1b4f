package guardrail

import "strings"

// findAssigned finds the value in password = "…", api_key: … and similar assignments. i is
// within the name.
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
		return findApart(s, from, end)
	}
	if isTestResult(s, from, end) {
		return Finding{}, false
	}
	kind := nameKind(strings.TrimRight(strings.ToLower(s[from:end]), "0123456789"))
	if kind == "" && endsInShortName(s[from:end]) {
		kind = "password"
	}
	inQuery := from > 0 && (s[from-1] == '?' || s[from-1] == '&') // of a URL
	if kind == "" && inQuery && strings.EqualFold(s[from:end], "key") {
		kind = "api-key"
	}
	if kind == "" {
		start, stop, _ := value(s, at)
		v, laravel := strings.CutPrefix(s[start:stop], "base64:")
		return Finding{"api-key", start, stop}, laravel && len(v) >= 32 && entropy(v) > 3.5
	}
	if kind == "password" && inConnection(s, from) {
		start, end := connectionValue(s, at, inQuery)
		return Finding{"connection-password", start, end}, chosen("", s[start:end])
	}
	nameEnd := end
	start, end, quoted := value(s, at)
	if xmlText := at > 0 && s[at-1] == '>'; xmlText {
		end = at + max(0, strings.IndexByte(s[at:min(len(s), at+256)], '<'))
		start, quoted = at, true
	}
	if !quoted && inQuery {
		if n := strings.IndexByte(s[start:end], '&'); n >= 0 {
			end = start + n
		}
	}
	v, name := s[start:end], s[from:nameEnd]
	ok = credible(v, quoted, kind == "password" || kind == "secret")
	if lower := strings.ToLower(v); kind == "api-key" && strings.Contains(lower, "key") && (!quoted || strings.HasPrefix(lower, strings.ToLower(name))) {
		return Finding{}, false // the value is the name of another variable
	}
	switch {
	case ok:
	case kind == "password":
		ok = plainPassword(s, from, nameEnd, at, start, end, quoted)
	case isKeyHeader(name):
		ok = headerToken(v, 12)
	case strings.HasSuffix(strings.ToLower(name), "_authtoken"):
		ok = isUUID(v) && !isPlaceholder(v)
	case isStrong(v) && digits(v)+letters(v) < len(v):
		ok = true
	case name == strings.ToUpper(name) && len(v) >= 16 && !strings.ContainsAny(v, " \t\\"): // an environment variable
		ok = !isPlaceholder(v) && distinct(v) >= minDistinct && (digits(v) > 1 || quoted && strings.Count(v, "-") > 2) && !isExpression(strings.NewReplacer("(", "", ")", "").Replace(v))
	}
	return Finding{kind, start, end}, ok
}

// findApart finds the value of the name s[from:end] if there is no assignment sign between
// the two. It recognises a space, as in ENV API_KEY …, and a separate word for the value,
// as in name: DB_PASSWORD, value: … and variable "db_password" { default = … }.
func findApart(s string, from, end int) (Finding, bool) {
	const reach = 64
	if end == len(s) {
		return Finding{}, false
	}
	kind := func() string {
		kind := nameKind(strings.TrimRight(strings.ToLower(s[from:end]), "0123456789"))
		if kind == "" && endsInShortName(s[from:end]) {
			kind = "password"
		}
		return kind
	}
	if s[end] == ' ' && strings.ContainsAny(s[from:end], "_-") {
		start, stop, quoted := value(s, blanks(s, end))
		v := strings.TrimRight(s[start:stop], ".")
		if digits(v) == 0 {
			return Finding{}, false
		}
		k := kind()
		return Finding{k, start, start + len(v)}, k != "" && (looksGenerated(v) || isStrong(v) || quoted && credible(v, quoted, k == "password"))
	}
	hi := min(len(s), end+reach)
	for i := end; i < hi; i++ {
		switch s[i] {
		case ' ', '\t', '\r', '\n', '"', '\'', ',', '{', '\\', '-':
			continue
		}
		w := i
		for w < hi && letter(s[w]) {
			w++
		}
		switch strings.ToLower(s[i:w]) {
		case "value", "default", "defaultvalue", "val":
		case "n": // part of an escaped line end
			continue
		case "type", "string", "sensitive", "true", "description": // attributes of a variable
			for w < hi && strings.IndexByte(" =:", s[w]) >= 0 {
				w++
			}
			i = w - 1
			continue
		default:
			return Finding{}, false
		}
		at, ok := assignment(s, i, w)
		if !ok {
			return Finding{}, false
		}
		start, stop, quoted := value(s, at)
		v, k := s[start:stop], kind()
		plain := k == "password" && len(v) >= 4 && (quoted || digits(v) > 0 || symbols(v) > 0) && !isNoSecret(v) && !isExpression(v) && !strings.ContainsAny(v, " \t")
		return Finding{k, start, stop}, k != "" && (plain || credible(v, quoted, k == "password" || k == "secret") || isStrong(v))
	}
	return Finding{}, false
}

// endsInShortName reports whether a name ends with a short word for a password: pass, pw or psk.
func endsInShortName(name string) bool {
	lower := strings.ToLower(strings.TrimRight(name, "0123456789"))
	for _, w := range [...]string{"pass", "pw", "psk"} {
		base, ok := strings.CutSuffix(lower, w)
		if ok && (base == "" || strings.HasSuffix(base, "_") || strings.HasSuffix(base, "-") || base == "ssh" || base == "--store" || base == "-store" || base == "-key" ||
			name[len(base)] < 'a' && name[len(base)-1] >= 'a') {
			return true
		}
	}
	return false
}

// isTestResult reports whether the word s[from:end] says that a test passed, as in
// "--- PASS: TestRetry2 (0.03s)" and "PASS: test_retry_2".
func isTestResult(s string, from, end int) bool {
	if s[from:end] != "PASS" {
		return false
	}
	if end < len(s) && s[end] == ':' {
		end++
	}
	name, _ := wordAt(s, blanks(s, end), len(s))
	upper := len(name) > 4 && 'A' <= name[4] && name[4] <= 'Z'
	return strings.HasSuffix(s[:from], "--- ") || strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "Test") && upper
}

// isKeyHeader reports whether a name is that of an HTTP header with a key.
func isKeyHeader(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "x-") || lower == "private-token" || lower == "job-token" || lower == "api-key"
}

// nameKind returns the kind of secret that a variable with this name holds, "" for none.
// The end of the name decides: a password_file or a token_type is no secret.
func nameKind(name string) string {
	name = strings.TrimSuffix(name, "_base")
	if base, ok := cutKey(name); ok {
		switch {
		case strings.Contains(name, "aws") || strings.HasSuffix(base, "secret_access"):
			return "aws-secret-key"
		case strings.HasSuffix(base, "account") || strings.HasSuffix(base, "storage"):
			return "azure-storage-key"
		}
		for _, w := range []string{"api", "access", "secret", "private", "auth", "encryption", "signing", "master", "shared"} {
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

// assignment skips the text between the name s[from:end] and its value: a closing quote,
// and =, :, := or =>; for a command-line flag, a space.
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
	closed := i > end
	i = blanks(s, i)
	switch rest := s[i:]; {
	case closed && strings.HasPrefix(rest, "value="): // <add key="password" value="…"/>
		i += len("value=")
	case closed && strings.HasPrefix(rest, ",") && strings.HasSuffix(strings.TrimRight(s[:from], " \"'"), "define("):
		i++
	case i == end && strings.HasPrefix(rest, ">") && from > 0 && s[from-1] == '<':
		return i + 1, true
	case strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "=>"):
		i += 2
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "::"):
		return 0, false
	case strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":"):
		i++
	case i > end && (strings.HasPrefix(s[from:], "--") || strings.HasPrefix(s[from:], "-storepass") || strings.HasPrefix(s[from:], "-keypass")):
	case i > end && strings.HasSuffix(s[:from], "aws configure set "):
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

// value returns the range of the literal or bare word at i.
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
		if s[end-1] == '\\' { // the quotes themselves are escaped
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
