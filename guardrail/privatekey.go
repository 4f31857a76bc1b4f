package guardrail

import (
	"encoding/base64"
	"strings"
)

const (
	pemLabel = "PRIVATE KEY"
	pemDash  = "-----"
	// minKeyRun is the minimum length of an unbroken run of base64 in a key. Code that only
	// mentions the header has none.
	minKeyRun = 32
	maxLabel  = 48
)

// findPrivateKey finds a PEM block up to its end line. If that is missing, as in a part of a
// file, the finding ends with the key's characters. It never extends into the next block, since
// many blocks without an end would take quadratic time. Line ends may be escaped, as in JSON.
func findPrivateKey(s string, i int) (Finding, bool) {
	start, i, ok := pemLine(s, i, "BEGIN ")
	if !ok {
		return Finding{}, false
	}
	run, longest, end := 0, 0, i
	for ; i < len(s); i++ {
		c := s[i]
		if strings.HasPrefix(s[i:], pemDash+"BEGIN ") {
			break
		}
		if strings.HasPrefix(s[i:], pemDash+"END ") {
			if rest := strings.Index(s[i+len(pemDash):min(len(s), i+2*len(pemDash)+maxLabel)], pemDash); rest >= 0 {
				end = i + 2*len(pemDash) + rest
			} else {
				end = i
			}
			break
		}
		switch {
		case c == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 'r'):
			i++
			run = 0
		case base64Byte(c):
			run++
			longest = max(longest, run)
			end = i + 1
		case strings.IndexByte(" \t\r\n\"'+-:,.\\", c) >= 0: // line ends, concatenated literals, headers of old keys
			run = 0
		case strings.IndexByte(">#|*", c) >= 0 && leadsLine(s, i): // quoted, or in a comment
			run = 0
		default:
			return Finding{"private-key", start, end}, longest >= minKeyRun
		}
	}
	return Finding{"private-key", start, end}, longest >= minKeyRun
}

// findPuTTY finds the lines after "Private-Lines: N" in a PuTTY key. i is within that name.
func findPuTTY(s string, i int) (Finding, bool) {
	const name = "Private-Lines: "
	from := i - len("Priv")
	if from < 0 || !strings.HasPrefix(s[from:], name) {
		return Finding{}, false
	}
	start := strings.IndexByte(s[from:], '\n')
	if start < 0 {
		return Finding{}, false
	}
	start += from + 1
	end := start
	for end < len(s) && (base64Byte(s[end]) || s[end] == '\n' || s[end] == '\r') {
		end++
	}
	if k := strings.LastIndexByte(s[start:end], '\n'); k >= 0 && end < len(s) { // the text before the next name
		end = start + k
	}
	return Finding{"private-key", start, end}, end-start >= minKeyRun
}

// findPrivateKeyEnd finds the rest of a key whose first line is in an earlier part of the file.
func findPrivateKeyEnd(s string, i int) (Finding, bool) {
	line, end, ok := pemLine(s, i, "END ")
	if !ok {
		return Finding{}, false
	}
	start, longest := line, 0
	for start > 0 && s[start-1] == '\n' {
		from := strings.LastIndexByte(s[:start-1], '\n') + 1
		key := strings.TrimSuffix(s[from:start-1], "\r")
		if key == "" || strings.IndexFunc(key, func(r rune) bool { return r > 'z' || !base64Byte(byte(r)) }) >= 0 {
			break
		}
		start, longest = from, max(longest, len(key))
	}
	return Finding{"private-key", start, end}, longest >= minKeyRun
}

// pemLine matches a PEM line of a private key. The last two dashes before verb are at i. It
// returns the start and the end of the line.
func pemLine(s string, i int, verb string) (start, end int, ok bool) {
	start = i - len(pemDash) + 2
	if start < 0 || !strings.HasPrefix(s[start:], pemDash+verb) {
		return 0, 0, false
	}
	label := start + len(pemDash) + len(verb)
	length := strings.Index(s[label:min(len(s), label+maxLabel)], pemDash)
	if length < 0 || !strings.Contains(s[label:label+length], pemLabel) {
		return 0, 0, false
	}
	return start, label + length + len(pemDash), true
}

// leadsLine reports whether a line starts before s[i], with only a few signs or spaces between.
func leadsLine(s string, i int) bool {
	const most = 8
	for lo := max(0, i-most); i > lo; i-- {
		if c := s[i-1]; c == '\n' || c == 'n' && i > 1 && s[i-2] == '\\' {
			return true
		} else if alnum(c) {
			return false
		}
	}
	return i == 0
}

// knownPasswords are passwords in documentation and test set-ups, which are no secrets.
const knownPasswords = "|password|passwd|passw0rd|pass|pswd|secret|root|admin|guest|test|postgres|mysql|hunter2|pass123|port|token|"

// chosen reports whether a password in a place that only holds passwords is a secret. Even a
// plain word is, unless it is a placeholder or a known password.
func chosen(user, pass string) bool {
	return len(pass) >= 4 && user != pass && !isPlaceholder(pass) && !strings.Contains(knownPasswords, "|"+strings.ToLower(pass)+"|")
}

// findURLPassword finds the password in scheme://user:password@host, and a token that stands
// there alone.
func findURLPassword(s string, i int) (Finding, bool) {
	const maxUserinfo = 256
	if !strings.HasPrefix(s[i:], "://") || i == 0 || !alnum(s[i-1]) {
		return Finding{}, false
	}
	start := i + len("://")
	colon := -1
	at := -1
scan:
	for j := start; j < len(s) && j < start+maxUserinfo; j++ {
		switch c := s[j]; {
		case c == ':' && colon < 0:
			colon = j
		case c == '@':
			at = j
		case c <= ' ' || c >= 0x7f || strings.IndexByte("/\"'`<>\\", c) >= 0:
			break scan
		}
	}
	if at < colon || at < 0 {
		return Finding{}, false
	}
	if colon < 0 {
		return Finding{"url-password", start, at}, headerToken(s[start:at], 20)
	}
	user, pass := s[start:colon], s[colon+1:at]
	if !chosen(user, pass) || strings.ContainsAny(pass, "${}%[]*()") && !strings.Contains(pass, "%2") {
		return Finding{}, false
	}
	return Finding{"url-password", colon + 1, at}, true
}

// findDSN finds the password in user:password@tcp(host:port)/db, the format of Go's driver for
// MySQL.
func findDSN(s string, i int) (Finding, bool) {
	const maxUserinfo = 256
	rest := s[i+1:]
	if s[i] != '@' || !strings.HasPrefix(rest, "tcp(") && !strings.HasPrefix(rest, "tcp6(") && !strings.HasPrefix(rest, "unix(") {
		return Finding{}, false
	}
	start := i
	for start > 0 && i-start < maxUserinfo && s[start-1] > ' ' && strings.IndexByte("\"'`<>", s[start-1]) < 0 {
		start--
	}
	user, _, ok := strings.Cut(s[start:i], ":")
	colon := start + len(user)
	if k := strings.LastIndexByte(user, '='); k >= 0 { // DSN=user:…
		user = user[k+1:]
	}
	if !ok || user == "" || !chosen(user, s[colon+1:i]) {
		return Finding{}, false
	}
	return Finding{"connection-password", colon + 1, i}, true
}

// findOracle finds the password in jdbc:oracle:thin:user/password@host.
func findOracle(s string, i int) (Finding, bool) {
	const maxUserinfo = 128
	if !strings.HasSuffix(s[:i], "oracle:t") || !strings.HasPrefix(s[i:], "hin:") {
		return Finding{}, false
	}
	start := i + len("hin:")
	user, rest, ok := strings.Cut(s[start:min(len(s), start+maxUserinfo)], "/")
	pass, _, more := strings.Cut(rest, "@")
	if !ok || !more || strings.ContainsAny(user+pass, " \t\n\"'@") || !chosen(user, pass) {
		return Finding{}, false
	}
	return Finding{"connection-password", start + len(user) + 1, start + len(user) + 1 + len(pass)}, true
}

// connectionKeys are keys of connection strings other than the password, in lower case and
// without spaces.
var connectionKeys = []string{"server=", "datasource=", "host=", "address=", "addr=", "userid=", "uid=", "user=", "username=",
	"database=", "dbname=", "initialcatalog=", "port="}

// inConnection reports whether the name at s[from:] is a key of a connection string, in the
// format of ADO.NET, JDBC and ODBC (after ; ? or &) or of libpq (after a space). There must be
// two other keys near it. The arguments of a call are recognised by their commas and brackets.
func inConnection(s string, from int) bool {
	const reach = 256
	const borders = "\n\"'`<>"
	lo, hi := max(0, from-reach), min(len(s), from+reach)
	if k := strings.LastIndexAny(s[lo:from], borders); k >= 0 {
		lo += k + 1
	}
	if k := strings.IndexAny(s[from:hi], borders); k >= 0 {
		hi = from + k
	}
	before := strings.TrimRight(s[lo:from], " ")
	listed := before != "" && strings.IndexByte(";?&", before[len(before)-1]) >= 0 || before == "" && strings.Contains(s[from:hi], ";")
	spaced := before != s[lo:from] || before == ""
	code := "()[]{}\\"
	if strings.Contains(strings.ToLower(s[lo:from]), "driver={") {
		code = "[]\\"
	}
	if !listed {
		code += ",;\t"
	}
	if !listed && !spaced || strings.ContainsAny(s[lo:hi], code) || !listed && strings.Contains(s[lo:hi], " = ") {
		return false
	}
	part := strings.ToLower(strings.ReplaceAll(s[lo:hi], " ", ""))
	found := 0
	if strings.Contains(part, "jdbc:") {
		found = 2
	}
	for _, k := range connectionKeys {
		if strings.Contains(part, k) {
			found++
		}
	}
	return found >= 2
}

// connectionValue returns the range of the value at s[at:] in a connection string. In a URL, &
// ends it.
func connectionValue(s string, at int, url bool) (start, end int) {
	ends := ";\"'`<>"
	if url {
		ends += "&"
	}
	const maxValue = 256
	if at < len(s) && (s[at] == '\'' || s[at] == '"') {
		if n := strings.IndexByte(s[at+1:min(len(s), at+1+maxValue)], s[at]); n >= 0 {
			return at + 1, at + 1 + n
		}
	}
	for end = at; end < len(s) && end-at < maxValue && s[end] > ' ' && strings.IndexByte(ends, s[end]) < 0; end++ {
	}
	return at, end
}

// findEncodedKey finds a PEM block in base64, as in a kubeconfig's client-key-data. The text
// may be wrapped; line ends may be escaped.
func findEncodedKey(s string, i int) (Finding, bool) {
	const begin = "LS0tLS1CRUdJTi" // -----BEGIN
	const head = 64                // bytes that hold the label; a wrapped line is as long or longer
	const widest = 80              // bytes of a line; a longer one is not wrapped
	if !strings.HasPrefix(s[i:], begin) || i > 0 && base64Byte(s[i-1]) || len(s) < i+head {
		return Finding{}, false
	}
	plain, err := base64.StdEncoding.DecodeString(s[i : i+head])
	if err != nil || !strings.Contains(string(plain), pemLabel) {
		return Finding{}, false
	}
	end, first := i, 0
	for at := i; ; at = lineEnd(s, end) {
		stop := at
		for stop < len(s) && base64Byte(s[stop]) {
			stop++
		}
		if stop == at {
			break
		}
		end = stop
		if first = max(first, stop-at); stop-at < first || first > widest { // the last line is shorter
			break
		}
	}
	return Finding{"private-key", i, end}, true
}

// lineEnd returns the position after a line end at i and the indentation that follows; i if
// there is none.
func lineEnd(s string, i int) int {
	for _, eol := range [...]string{"\r\n", "\n", `\r\n`, `\n`} {
		if strings.HasPrefix(s[i:], eol) {
			return blanks(s, i+len(eol))
		}
	}
	return i
}
