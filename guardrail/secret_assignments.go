package guardrail

import "strings"

// assigned is a value and the name to which it is assigned.
type assigned struct {
	text          string
	from, nameEnd int  // range of the name
	at            int  // behind the assignment sign
	start, end    int  // range of the value
	quoted        bool // the value is in quotes, or the text of an XML element
	inQuery       bool // the name is a parameter of a URL
}

func (a *assigned) name() string { return a.text[a.from:a.nameEnd] }

func (a *assigned) value() string { return a.text[a.start:a.end] }

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
	a := assigned{text: s, from: from, nameEnd: end, at: at, inQuery: from > 0 && (s[from-1] == '?' || s[from-1] == '&')}
	name := a.name()
	kind := secretKind(name)
	switch {
	case kind == "" && a.inQuery && strings.EqualFold(name, "key"):
		kind = "api-key"
	case kind == "":
		start, stop, _ := value(s, at)
		v, laravel := strings.CutPrefix(s[start:stop], "base64:")
		return Finding{"api-key", start, stop}, laravel && len(v) >= 32 && entropy(v) > 3.5
	case kind == "password" && inConnection(s, from):
		start, end := connectionValue(s, at, a.inQuery)
		return Finding{"connection-password", start, end}, chosen("", s[start:end])
	}
	a.findValue()
	v := a.value()
	if kind == "api-key" && isNameOfKey(v, name, a.quoted) {
		return Finding{}, false
	}
	if ok = credible(v, a.quoted, kind == "password" || kind == "secret"); !ok && kind == "password" {
		ok = a.isPlainPassword()
	} else if !ok {
		ok = fitsName(v, name, a.quoted)
	}
	return Finding{kind, a.start, a.end}, ok
}

// findValue sets the range of the value.
func (a *assigned) findValue() {
	s := a.text
	a.start, a.end, a.quoted = value(s, a.at)
	if xmlText := a.at > 0 && s[a.at-1] == '>'; xmlText {
		a.end = a.at + max(0, strings.IndexByte(s[a.at:min(len(s), a.at+256)], '<'))
		a.start, a.quoted = a.at, true
	}
	if !a.quoted && a.inQuery {
		if n := strings.IndexByte(a.value(), '&'); n >= 0 {
			a.end = a.start + n
		}
	}
}

// isNameOfKey reports whether a value is the name of another variable: api_key = my_api_key.
func isNameOfKey(v, name string, quoted bool) bool {
	lower := strings.ToLower(v)
	return strings.Contains(lower, "key") && (!quoted || strings.HasPrefix(lower, strings.ToLower(name)))
}

// fitsName reports whether a value that is not credible for every name is a secret for this one.
func fitsName(v, name string, quoted bool) bool {
	switch {
	case isKeyHeader(name):
		return headerToken(v, 12)
	case strings.HasSuffix(strings.ToLower(name), "_authtoken"):
		return isUUID(v) && !isPlaceholder(v)
	case isStrong(v) && digits(v)+letters(v) < len(v):
		return true
	case name == strings.ToUpper(name) && len(v) >= 16 && !strings.ContainsAny(v, " \t\\"): // an environment variable
		return !isPlaceholder(v) && distinct(v) >= minDistinct && (digits(v) > 1 || quoted && strings.Count(v, "-") > 2) && !isExpression(strings.NewReplacer("(", "", ")", "").Replace(v))
	}
	return false
}

// findApart finds the value of the name s[from:end] if there is no assignment sign between
// the two. It recognises a space, as in ENV API_KEY …, and a separate word for the value,
// as in name: DB_PASSWORD, value: … and variable "db_password" { default = … }.
func findApart(s string, from, end int) (Finding, bool) {
	if end == len(s) {
		return Finding{}, false
	}
	name := s[from:end]
	if s[end] == ' ' && strings.ContainsAny(name, "_-") {
		start, stop, quoted := value(s, blanks(s, end))
		v := strings.TrimRight(s[start:stop], ".")
		if digits(v) == 0 {
			return Finding{}, false
		}
		kind := secretKind(name)
		return Finding{kind, start, start + len(v)}, kind != "" && (looksGenerated(v) || isStrong(v) || quoted && credible(v, quoted, kind == "password"))
	}
	at, ok := afterValueWord(s, end)
	if !ok {
		return Finding{}, false
	}
	start, stop, quoted := value(s, at)
	v, kind := s[start:stop], secretKind(name)
	plain := kind == "password" && len(v) >= 4 && (quoted || digits(v) > 0 || symbols(v) > 0) && !isNoSecret(v) && !isExpression(v) && !strings.ContainsAny(v, " \t")
	return Finding{kind, start, stop}, kind != "" && (plain || credible(v, quoted, kind == "password" || kind == "secret") || isStrong(v))
}

// afterValueWord returns the position of a value that a separate word after i announces: value: … or
// default = …, possibly after other attributes of a variable.
func afterValueWord(s string, i int) (at int, ok bool) {
	const reach = 64
	for hi := min(len(s), i+reach); i < hi; i++ {
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
			return assignment(s, i, w)
		case "n": // part of an escaped line end
		case "type", "string", "sensitive", "true", "description": // attributes of a variable
			for w < hi && strings.IndexByte(" =:", s[w]) >= 0 {
				w++
			}
			i = w - 1
		default:
			return 0, false
		}
	}
	return 0, false
}

// secretKind returns the kind of secret that a variable with this name holds, "" for none. Digits at the
// end of the name make no difference.
func secretKind(name string) string {
	kind := nameKind(strings.TrimRight(strings.ToLower(name), "0123456789"))
	if kind == "" && endsInShortName(name) {
		return "password"
	}
	return kind
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

// nameKind returns the kind of secret that the words at the end of a name in lower case stand for, "" for none.
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
	i := afterQuote(s, end)
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
	case i > end && isFlag(s, from):
	default:
		return 0, false
	}
	return blanks(s, i), true
}

// afterQuote returns the position after the quote that closes a name at i, if there is one: password\", 'password'].
func afterQuote(s string, i int) int {
	if i < len(s) && s[i] == '\\' {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		if i++; i < len(s) && s[i] == ']' {
			i++
		}
	}
	return i
}

// isFlag reports whether the name at s[from:] is a command-line flag, or an argument whose value is the next one.
func isFlag(s string, from int) bool {
	rest := s[from:]
	return strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "-storepass") || strings.HasPrefix(rest, "-keypass") || strings.HasSuffix(s[:from], "aws configure set ")
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
