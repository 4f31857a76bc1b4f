package guardrail

import "strings"

// isPlainPassword reports whether the value is a password although it is short or a plain word. The
// text around it must be configuration and no code.
func (a *assigned) isPlainPassword() bool {
	v, name := a.value(), a.name()
	if len(v) < 4 || isNoSecret(v) || isExpression(v) || strings.ContainsAny(v, " \t") && !strings.HasSuffix(strings.ToLower(name), "psk") {
		return false
	}
	if a.quoted {
		return len(v) >= 6 || digits(v) > 0
	}
	s := a.text
	lo := strings.LastIndexByte(s[:a.from], '\n') + 1
	hi := len(s)
	if k := strings.IndexByte(s[a.end:min(len(s), a.end+256)], '\n'); k >= 0 {
		hi = a.end + k
	}
	head, tail := strings.TrimLeft(s[lo:a.from], " \t-"), strings.TrimSpace(s[a.end:hi])
	last := tail == "" || tail[0] == '#' // nothing but a comment follows
	switch unspaced, sign := a.at == a.nameEnd+1, s[a.nameEnd]; {
	case unspaced && sign == '=':
		return a.inQuery || name == strings.ToUpper(name) || isUnspacedPassword(v, head, tail)
	case !unspaced && sign == ':' && last && isYAMLKey(head):
		return name == strings.ToUpper(name) || looksMixed(v) || besideUser(s, lo, hi)
	case strings.HasPrefix(name, "-"):
		return true
	}
	// name = value
	return head == "" && last && (symbols(v) > 0 || digits(v) > 1 || tail == "" && besideUser(s, lo, hi))
}

// isUnspacedPassword reports whether v is a password in "password=v". head and tail are the rest of the line.
func isUnspacedPassword(v, head, tail string) bool {
	if isField := strings.HasSuffix(head, ".") && (strings.ContainsAny(head, " \t") || strings.HasPrefix(head, "self.") || strings.HasPrefix(head, "this.")); isField && !looksMixed(v) {
		return false
	}
	inCode := tail != "" && strings.IndexByte(",);", tail[0]) >= 0 || strings.ContainsAny(head, "({,")
	return !inCode || symbols(v) > 0
}

// isYAMLKey reports whether the text before the last part of a key is the rest of that key, as in "db.password: …".
func isYAMLKey(head string) bool {
	return strings.TrimRight(head, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}

// looksMixed reports whether v has a sign, or letters and digits.
func looksMixed(v string) bool { return symbols(v) > 0 || digits(v) > 0 && letters(v) > 0 }

// besideUser reports whether the line before or after s[lo:hi] names a user or a server, as
// configuration does.
func besideUser(s string, lo, hi int) bool {
	beside := func(line string) bool {
		name, value, ok := strings.Cut(strings.TrimLeft(line, " \t-"), ":")
		if n, v, eq := strings.Cut(strings.TrimLeft(line, " \t-"), "="); eq && len(n) < len(name) || !ok {
			name, value, ok = n, v, eq
		}
		name = strings.ToLower(strings.Trim(name, " \"'"))
		value = strings.TrimSpace(value)
		if !ok || value == "" || strings.ContainsAny(value, "(){},;") || isNoSecret(value) && !strings.Contains(knownPasswords, "|"+value+"|") {
			return false
		}
		for _, w := range [...]string{"user", "login", "host", "server", "url", "database", "port", "email", "domain"} {
			if strings.HasPrefix(name, w) || strings.HasSuffix(name, w) || strings.HasSuffix(name, w+"name") {
				return true
			}
		}
		return false
	}
	before := strings.TrimSuffix(s[:lo], "\n")
	if beside(before[strings.LastIndexByte(before, '\n')+1:]) {
		return true
	}
	if hi >= len(s) {
		return false
	}
	next, _, _ := strings.Cut(s[hi+1:min(len(s), hi+257)], "\n")
	return beside(next)
}

// manifests are the parts of a text that are Kubernetes manifests of kind Secret. They are in
// order and don't overlap, so that each is parsed once, however often it contains the word
// kind.
type manifests []manifest

type manifest struct {
	lo, hi int
	closed bool // it ends with a line of three hyphens
}

// add records the manifest around i, which is at the word kind, if its kind is Secret.
func (m *manifests) add(s string, i int) {
	const reach, line = 64 << 10, "\n---"
	rest := strings.TrimLeft(strings.TrimPrefix(s[i:min(len(s), i+32)], "kind"), "\"' \t\\")
	rest, ok := strings.CutPrefix(rest, ":")
	if !ok || !strings.HasPrefix(strings.TrimLeft(rest, "\"' \t\\"), "Secret") {
		return
	}
	if rest = strings.TrimLeft(rest, "\"' \t\\")[len("Secret"):]; rest != "" && alnum(rest[0]) {
		return
	}
	x, goesOn := manifest{lo: max(0, i-reach), hi: i}, false
	if n := len(*m); n > 0 {
		last := (*m)[n-1]
		if last.closed && i < last.hi {
			return
		}
		goesOn = !last.closed && x.lo <= last.hi && (i < last.hi || !strings.Contains(s[max(last.lo, last.hi-len(line)):i], line))
		if goesOn {
			x, *m = last, (*m)[:n-1]
		} else {
			x.lo = max(x.lo, last.hi)
		}
	}
	if !goesOn {
		if k := strings.LastIndex(s[x.lo:i], line); k >= 0 {
			x.lo += k + 1
		}
	}
	from := max(i, x.hi-len(line))
	x.hi = max(x.hi, min(len(s), i+reach))
	if k := strings.Index(s[from:x.hi], line); k >= 0 {
		x.hi, x.closed = from+k, true
	}
	*m = append(*m, x)
}

// find appends the secrets in the manifest.
func (m manifest) find(found []Finding, s string) []Finding {
	lo, hi := m.lo, m.hi
	for _, name := range [...]string{"data", "stringData"} {
		for at := lo; at < hi; {
			k := strings.Index(s[at:hi], name)
			if k < 0 {
				break
			}
			from := at + k
			at = from + len(name)
			if from > lo && (wordDash(s[from-1]) || s[from-1] == '.') {
				continue
			}
			j := at
			for j < hi && strings.IndexByte("\"'\\ \t", s[j]) >= 0 {
				j++
			}
			if j >= hi || s[j] != ':' {
				continue
			}
			if j = blanks(s, j+1); j < hi && s[j] == '{' {
				found, at = inBraces(found, s, j, hi)
			} else {
				found, at = inBlock(found, s, from, j, hi)
			}
		}
	}
	return found
}

// inBraces appends the values of the JSON object at s[j], and returns its end.
func inBraces(found []Finding, s string, j, hi int) ([]Finding, int) {
	value := false
	for j++; j < hi && s[j] != '}'; j++ {
		switch s[j] {
		case ':':
			value = true
		case ',':
			value = false
		case '"':
			end := strings.IndexByte(s[j+1:hi], '"')
			if end < 0 {
				return found, hi
			}
			stop := j + 1 + end
			if v := strings.TrimSuffix(s[j+1:stop], "\\"); value && len(v) >= 4 && !isPlaceholder(v) {
				found = append(found, Finding{"kubernetes-secret", j + 1, j + 1 + len(v)})
			}
			j = stop
		}
	}
	return found, min(j, hi)
}

// inBlock appends the values of the YAML lines that are indented below the key at s[from],
// and returns their end. Keys on the same line as that key are handled by the caller.
func inBlock(found []Finding, s string, from, j, hi int) ([]Finding, int) {
	depth := from - (strings.LastIndexByte(s[:from], '\n') + 1)
	text := -1 // depth of the key of the current text block; -1 for none
	for k := strings.IndexByte(s[j:hi], '\n'); k >= 0; k = strings.IndexByte(s[j:hi], '\n') {
		j += k + 1
		line, _, _ := strings.Cut(s[j:hi], "\n")
		body := strings.TrimLeft(line, " ")
		d := len(line) - len(body)
		switch {
		case strings.TrimSpace(body) == "":
			continue
		case d <= depth:
			return found, j
		case text >= 0 && d > text:
			if !isPlaceholder(body) {
				found = append(found, Finding{"kubernetes-secret", j + d, j + len(strings.TrimRight(line, " \r"))})
			}
			continue
		}
		text = -1
		name, v, ok := strings.Cut(body, ":")
		if !ok || strings.HasPrefix(body, "#") {
			continue
		}
		start := j + d + len(name) + 1
		if v = strings.TrimSpace(v); strings.HasPrefix(v, "|") || strings.HasPrefix(v, ">") {
			text = d
			continue
		}
		start = blanks(s, start)
		if v = strings.Trim(v, "\"'"); len(v) >= 4 && !isPlaceholder(v) {
			start += strings.Index(s[start:], v)
			found = append(found, Finding{"kubernetes-secret", start, start + len(v)})
		}
	}
	return found, j
}

// findTelegram finds the token of a bot: its number, a colon, AA and 33 more characters. i is
// the colon.
func findTelegram(s string, i int) (Finding, bool) {
	from, end := i, i+1
	for from > 0 && '0' <= s[from-1] && s[from-1] <= '9' {
		from--
	}
	for end < len(s) && wordDash(s[end]) {
		end++
	}
	if n := i - from; n < 8 || n > 10 || end-i-1 < 33 || end-i-1 > 37 || s[i+1] != 'A' || s[i+2] != 'A' || distinct(s[i+1:end]) < minDistinct {
		return Finding{}, false
	}
	return Finding{"telegram-bot-api-token", from, end}, true
}

// findCookie finds cookies with generated values in a header. i is at the word cookie.
func findCookie(s string, i int) (Finding, bool) {
	const name = "cookie"
	end := i + len(name)
	if end >= len(s) || !strings.EqualFold(s[i:end], name) || s[end] != ':' {
		return Finding{}, false
	}
	set := i >= 4 && strings.EqualFold(s[i-4:i], "set-")
	upTo := func(at int, more byte) int {
		for at < len(s) && s[at] >= ' ' && strings.IndexByte("\"'`", s[at]) < 0 && s[at] != more {
			at++
		}
		return at
	}
	for at := blanks(s, end+1); ; {
		part := s[at:upTo(at, ';')]
		n, v, ok := strings.Cut(part, "=")
		if colon := strings.IndexByte(n, ':'); colon >= len(name) && strings.EqualFold(n[colon-len(name):colon], name) {
			break // another header, which is checked separately
		}
		start := at + len(n) + 1
		if ok && headerToken(v, 16) {
			if set {
				return Finding{"cookie", start, start + len(v)}, true
			}
			return Finding{"cookie", start, upTo(start, 0)}, true
		}
		if at += len(part); set || at >= len(s) || s[at] != ';' {
			break
		}
		at = blanks(s, at+1)
	}
	return Finding{}, false
}

// findQuotedAfter returns a detector for the literal after words that only a password
// follows.
func findQuotedAfter(words string) detector {
	return func(s string, i int) (Finding, bool) {
		k := len(words) - 4
		if i < k || i+5 > len(s) || s[i+4] != '\'' && s[i+4] != '"' || !strings.EqualFold(s[i-k:i+4], words) {
			return Finding{}, false
		}
		at := i + 4
		v, _, ok := strings.Cut(s[at+1:min(len(s), at+130)], s[at:at+1])
		return Finding{"password", at + 1, at + 1 + len(v)}, ok && chosen("", v) && !strings.Contains(v, "\n")
	}
}

// lineStart returns the start of the line of i, but at most 4 KB before i.
func lineStart(s string, i int) int {
	const longest = 4 << 10
	from := max(0, i-longest)
	return from + strings.LastIndexByte(s[from:i], '\n') + 1
}

// findPiped finds a password that is piped to chpasswd or is an argument of htpasswd. i is
// within the word.
func findPiped(s string, i int) (Finding, bool) {
	if i < 2 || s[i-1] != 'h' && s[i-1] != 't' {
		return Finding{}, false
	}
	switch {
	case strings.HasSuffix(s[:i], "ch") && strings.HasPrefix(s[i:], "passwd"):
		lo := lineStart(s, i)
		head := s[min(lo, i-2) : i-2]
		head, ok := strings.CutSuffix(strings.TrimRight(strings.TrimSuffix(strings.TrimRight(head, " "), "sudo"), " "), "|")
		head = strings.TrimRight(head, " \"'")
		start := strings.LastIndexAny(head, " \"'") + 1
		user, pass, found := strings.Cut(head[start:], ":")
		start += len(user) + 1 + lo
		return Finding{"password", start, start + len(pass)}, ok && found && chosen(user, pass)
	case i >= 2 && strings.HasSuffix(s[:i], "ht") && strings.HasPrefix(s[i:], "passwd -"):
		at, args, batch := i+len("passwd"), 0, false
		for at < len(s) && s[at] == ' ' {
			start, end := word(s, at)
			v := s[start:end]
			if end == start {
				break
			}
			if at = end; strings.HasPrefix(v, "-") {
				batch = batch || strings.Contains(v, "b")
			} else if args++; args == 3 {
				return Finding{"password", start, end}, batch && chosen("", v)
			}
		}
	}
	return Finding{}, false
}

// findHash finds the hash of a password in the format of crypt(3): $6$salt$hash. i is the
// colon before it.
func findHash(s string, i int) (Finding, bool) {
	i++
	end := i
	for end < len(s) && (alnum(s[end]) || strings.IndexByte("$./", s[end]) >= 0) {
		end++
	}
	v := s[i:end]
	return Finding{"password-hash", i, end}, len(v) >= 25 && strings.Count(v, "$") >= 3 && distinct(v) > minDistinct
}

// findSpoken finds a password that is a separate word of a command: the community of SNMP,
// the user of net use, the standard input of sudo -S.
func findSpoken(s string, i int) (Finding, bool) {
	lo := lineStart(s, i)
	next := func(at int) (Finding, bool) {
		start, end := word(s, min(at, len(s)-1))
		return Finding{"password", start, end}, end > start && chosen("", s[start:end]) && !isExpression(s[start:end])
	}
	switch rest := s[i:]; {
	case strings.HasPrefix(rest, "community ") && strings.HasSuffix(s[lo:i], "snmp-server "):
		if f, ok := next(i + len("community ")); ok && !strings.EqualFold(s[f.Start:f.End], "public") && !strings.EqualFold(s[f.Start:f.End], "private") {
			return f, true
		}
	case strings.HasPrefix(rest, "/user:") && strings.Contains(s[lo:i], "net use "):
		_, end := word(s, i)
		if end < len(s) && s[end] == ' ' && end+1 < len(s) && s[end+1] != '/' && s[end+1] != '*' {
			return next(end)
		}
	case strings.HasPrefix(rest, "sudo -S") || strings.HasPrefix(rest, "sudo -kS"):
		head, ok := strings.CutSuffix(strings.TrimRight(s[lo:i], " "), "|")
		if k := strings.LastIndex(head, "echo "); ok && k >= 0 {
			start, end := word(s, lo+k+len("echo "))
			return Finding{"password", start, end}, end <= lo+len(head) && chosen("", s[start:end]) && s[start] != '$'
		}
	}
	return Finding{}, false
}

// findBasicAuth finds a user and a password in base64 with the name auth, as in the
// configuration of Docker and npm. i is at the word.
func findBasicAuth(s string, i int) (Finding, bool) {
	from, end := i, i+len("auth")
	for from > 0 && i-from < 40 && wordDash(s[from-1]) {
		from--
	}
	if name := strings.TrimLeft(s[from:i], "_"); name != "" && !strings.HasSuffix(name, "_") {
		return Finding{}, false
	}
	at, ok := assignment(s, from, end)
	if !ok {
		return Finding{}, false
	}
	start, stop, _ := value(s, at)
	return Finding{"basic-auth", start, stop}, stop-start >= 8 && isBasicAuth(s[start:stop])
}

// columns maps the names of columns that hold secrets to the kind of secret.
var columns = map[string]string{
	"password": "password", "passwort": "password", "kennwort": "password", "passwd": "password", "pwd": "password", "pw": "password", "pass": "password",
	"passphrase": "password", "contraseña": "password", "mot de passe": "password", "senha": "password",
	"secret access key": "api-key", "secret key": "api-key", "secret_key": "api-key", "secret": "secret", "api key": "api-key", "api_key": "api-key",
	"access token": "token", "api token": "token", "token": "token",
}

// findColumns finds the values below a column of passwords in a table: of Markdown, or
// separated by commas, semicolons or tabs. i is within the column's name. end is the end of
// the table, or i if there is none; cells of a table are not checked as heads of another one.
func findColumns(s string, i int) (found []Finding, end int) {
	const reach = 256
	start := i
	for start > 0 && strings.IndexByte(" \"'*`", s[start-1]) >= 0 {
		start--
	}
	if start > 0 && strings.IndexByte("|\t;,\n", s[start-1]) < 0 { // i is not at the start of a cell
		return nil, i
	}
	lo := strings.LastIndexByte(s[max(0, i-reach):i], '\n') + 1 + max(0, i-reach)
	k := strings.IndexByte(s[i:min(len(s), i+reach)], '\n')
	if k < 0 || lo > 0 && s[lo-1] != '\n' {
		return nil, i
	}
	head := strings.TrimRight(s[lo:i+k], "\r")
	for _, sep := range []string{"|", "\t", ";", ","} {
		cells := strings.Split(head, sep)
		column, kind := secretColumn(cells)
		if column < 0 || len(cells) < 2 || sep == "," && (len(cells) < 3 || strings.Contains(head, ", ")) && !strings.Contains(strings.ToLower(head), "user") {
			continue
		}
		return findBelow(s, i+k+1, sep, len(cells), column, kind)
	}
	return nil, i
}

// secretColumn returns the first of the columns with these names that holds secrets, and their kind. column
// is -1 if there is none, or if the names are code or a sentence.
func secretColumn(names []string) (column int, kind string) {
	column = -1
	for n, name := range names {
		name = strings.ToLower(strings.Trim(name, " \"'*`"))
		if name == "" && n > 0 && n < len(names)-1 || strings.ContainsAny(name, "(){}[]=<>.:") || len(name) > 24 {
			return -1, ""
		}
		if k := columns[name]; k != "" && column < 0 {
			column, kind = n, k
		}
	}
	return column, kind
}

// findBelow finds the values of a column in the rows from at on, and returns the end of the table.
func findBelow(s string, at int, sep string, width, column int, kind string) (found []Finding, end int) {
	const most = 1000
	for range most {
		line, _, more := strings.Cut(s[at:], "\n")
		row := strings.Split(strings.TrimRight(line, "\r"), sep)
		if len(row) != width {
			break
		}
		start := at
		for n := range column {
			start += len(row[n]) + len(sep)
		}
		v := strings.Trim(row[column], " \t\"'`*")
		if len(v) >= 4 && !strings.Contains(v, " ") && !isPlaceholder(v) && !isNoSecret(v) && (digits(v) > 0 || symbols(v) > 0) {
			start += strings.Index(row[column], v)
			found = append(found, Finding{kind, start, start + len(v)})
		}
		if at += len(line) + 1; !more {
			break
		}
	}
	return found, at
}

// findNetrc finds the password of a .netrc entry, which has the words machine, login and password,
// on one line or several. i is within the word password.
func findNetrc(s string, i int) (Finding, bool) {
	const reach = 256
	if !strings.HasPrefix(s[i:], "password") || i == 0 || s[i-1] > ' ' {
		return Finding{}, false
	}
	head := s[max(0, i-reach):i]
	if !strings.Contains(head, "login") { // most mentions of a password return here
		return Finding{}, false
	}
	at := i + len("password")
	start := at
	for start < len(s) && s[start] <= ' ' {
		start++
	}
	end := start
	for end < len(s) && end-start < reach && s[end] > ' ' {
		end++
	}
	entry := strings.Fields(head)
	m := max(lastIndex(entry, "machine"), lastIndex(entry, "default"))
	l := lastIndex(entry, "login")
	if start == at || m < 0 || l < m || l != len(entry)-2 || !chosen(entry[l+1], s[start:end]) {
		return Finding{}, false
	}
	return Finding{"password", start, end}, true
}

func lastIndex(words []string, w string) int {
	for i := len(words) - 1; i >= 0; i-- {
		if words[i] == w {
			return i
		}
	}
	return -1
}

// findPgpass finds the password in a line of .pgpass: host:port:database:user:password. i is
// the colon before the port.
func findPgpass(s string, i int) (Finding, bool) {
	const reach = 256
	from := i
	for from > 0 && i-from < reach && (wordDash(s[from-1]) || s[from-1] == '.' || s[from-1] == '*') {
		from--
	}
	if s[i] != ':' || from == i || from > 0 && s[from-1] != '\n' && s[from-1] > ' ' && strings.IndexByte("\"'`", s[from-1]) < 0 {
		return Finding{}, false
	}
	end := i
	for end < len(s) && end-i < reach && s[end] > ' ' && strings.IndexByte("\"'`", s[end]) < 0 {
		end++
	}
	f := strings.SplitN(s[i+1:end], ":", 4)
	if len(f) < 4 || f[0] != "*" && digits(f[0]) != len(f[0]) || f[1] == "" || f[2] == "" || strings.ContainsAny(f[1]+f[2], "/()@") || !chosen(f[2], f[3]) {
		return Finding{}, false
	}
	return Finding{"password", end - len(f[3]), end}, true
}
