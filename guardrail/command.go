package guardrail

import (
	"slices"
	"strings"
)

// flag is an option of a program that is followed by a password.
type flag struct {
	name     string
	programs []string
	pair     bool // user:password
	attached bool // only where nothing stands between: a space would start something else
}

var flags = []flag{
	{name: "-u", programs: []string{"curl"}, pair: true},
	{name: "-U", programs: []string{"curl"}, pair: true},
	{name: "--user", programs: []string{"curl"}, pair: true},
	{name: "--proxy-user", programs: []string{"curl"}, pair: true},
	{name: "-p", programs: []string{"mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"}, attached: true},
	{name: "-p", programs: []string{"sshpass", "login"}},
	{name: "-p", programs: []string{"7z", "7za"}, attached: true},
	{name: "-P", programs: []string{"zip", "unzip"}},
	{name: "-w", programs: []string{"ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"}},
	{name: "-a", programs: []string{"redis-cli"}},
}

// findFlag finds the password behind a flag of a command line. i is the space
// before it.
func findFlag(s string, i int) (Finding, bool) {
	if s[i] != ' ' && s[i] != '\t' {
		return Finding{}, false
	}
	for _, f := range flags {
		if !strings.HasPrefix(s[i+1:], f.name) {
			continue
		}
		at := i + 1 + len(f.name)
		switch {
		case at == len(s):
			return Finding{}, false
		case f.attached && s[at] <= ' ', len(f.name) > 2 && s[at] > ' ' && s[at] != '=':
			continue
		}
		start, end := word(s, at)
		user := ""
		if f.pair {
			name, _, ok := strings.Cut(s[start:end], ":")
			if !ok {
				continue
			}
			user, start = name, start+len(name)+1
		}
		if chosen(user, s[start:end]) && runs(s, i, f.programs) {
			return Finding{"password", start, end}, true
		}
	}
	return behindUser(s, i)
}

// behindUser finds the password of any program behind "-u NAME -p".
func behindUser(s string, i int) (Finding, bool) {
	const flag = " -p "
	if !strings.HasPrefix(s[i:], flag) || i+len(flag) >= len(s) {
		return Finding{}, false
	}
	before := strings.Fields(s[max(0, i-80):i])
	if n := len(before); n < 2 || before[n-2] != "-u" && before[n-2] != "--username" && before[n-2] != "--user" {
		return Finding{}, false
	}
	start, end := word(s, i+len(flag))
	v := s[start:end]
	return Finding{"password", start, end}, chosen("", v) && letters(v) > 0 && !strings.HasPrefix(v, "-")
}

// word finds the argument at s[at:], behind = or spaces, without its quotes.
func word(s string, at int) (start, end int) {
	const maxWord = 256
	if s[at] == '=' {
		at++
	}
	at = blanks(s, at)
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		if n := strings.IndexByte(s[at+1:min(len(s), at+1+maxWord)], s[at]); n >= 0 {
			return at + 1, at + 1 + n
		}
	}
	for end = at; end < len(s) && end-at < maxWord && s[end] > ' ' && strings.IndexByte("\"'`;|<>", s[end]) < 0; end++ {
	}
	return at, end
}

// runs reports whether the command that s[i] belongs to is one of programs. Lines
// that end in a backslash go on.
func runs(s string, i int, programs []string) bool {
	const reach = 1024
	lo := max(0, i-reach)
	for j := i - 1; j >= lo; j-- {
		if s[j] == ';' || s[j] == '|' || s[j] == '`' || s[j] == '\n' && !strings.HasSuffix(s[:j], "\\") {
			lo = j + 1
			break
		}
	}
	for _, w := range strings.FieldsFunc(s[lo:i], func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'([{$&", r) }) {
		if slices.Contains(programs, w[strings.LastIndexByte(w, '/')+1:]) {
			return true
		}
	}
	return false
}

// findNetrc finds the password of a .netrc entry: machine HOST login USER password
// SECRET, on one line or several. i is inside of the word password.
func findNetrc(s string, i int) (Finding, bool) {
	const reach = 256
	if !strings.HasPrefix(s[i:], "password") || i == 0 || s[i-1] > ' ' {
		return Finding{}, false
	}
	head := s[max(0, i-reach):i]
	if !strings.Contains(head, "login") { // most mentions of a password end here
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

// findPgpass finds the password of a line of .pgpass: host:port:database:user:password.
// i is the colon before the port.
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
