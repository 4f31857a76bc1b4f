package shell

import "strings"

// maxLine is the maximum length of a line that is parsed, in bytes. Nobody
// would want to run a longer command again.
const maxLine = 16 << 10

// word is one word of a simple command.
type word struct {
	raw   string // as written, with its quotes
	value string // without quotes
}

// simple is one command of a line. op is the operator after it: "&&", "||",
// ";", "|", "&", or "" at the end of the line.
type simple struct {
	words []word
	op    string
}

func (s *simple) value(i int) string {
	if i < len(s.words) {
		return s.words[i].value
	}
	return ""
}

// parsed is a parsed line.
type parsed struct {
	commands []simple
	// heredoc is the text of the first here-document without its end marker.
	// hasHeredoc says that there is one.
	heredoc    string
	hasHeredoc bool
	script     bool // more than one line, a loop or a function: no plain command
}

// lexer scans a line from left to right.
type lexer struct {
	s   string
	i   int
	raw strings.Builder // the current word as written
	val strings.Builder
	in  bool // a word has begun, maybe an empty one in quotes
	cur simple
	out parsed
}

func parse(line string) parsed {
	if len(line) > maxLine {
		return parsed{script: true}
	}
	l := &lexer{s: strings.TrimSpace(strings.ReplaceAll(line, "\\\n", " "))}
	for l.i < len(l.s) {
		l.step()
	}
	l.endWord()
	l.endCommand("")
	for _, c := range l.out.commands {
		l.out.script = l.out.script || compound[c.value(0)]
	}
	return l.out
}

// compound holds the words that begin a compound command.
var compound = set("for while until if case select function { ( [[ ((")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func (l *lexer) step() {
	c := l.s[l.i]
	switch {
	case c == '\\' && l.i+1 < len(l.s):
		l.take(l.s[l.i:l.i+2], l.s[l.i+1:l.i+2])
	case c == '\'':
		end := strings.IndexByte(l.s[l.i+1:], '\'')
		if end < 0 {
			end = len(l.s) - l.i - 1
		}
		l.take(l.s[l.i:min(l.i+end+2, len(l.s))], l.s[l.i+1:l.i+1+end])
	case c == '"':
		l.double()
	case c == '`':
		end := strings.IndexByte(l.s[l.i+1:], '`')
		l.takeAll(end + 2)
	case strings.HasPrefix(l.s[l.i:], "$("):
		l.takeAll(closing(l.s[l.i:]))
	case c == '#' && !l.in:
		end := strings.IndexByte(l.s[l.i:], '\n')
		if end < 0 {
			end = len(l.s) - l.i
		}
		l.i += end
	case c == ' ' || c == '\t' || c == '\r':
		l.endWord()
		l.i++
	case c == '\n':
		l.endWord()
		if l.heredocBody() {
			return
		}
		if len(l.cur.words) > 0 {
			l.out.script = true
		}
		l.endCommand(";")
		l.i++
	default:
		l.operator(c)
	}
}

// operator scans an operator between commands, or one ordinary byte.
func (l *lexer) operator(c byte) {
	rest := l.s[l.i:]
	switch {
	case strings.HasPrefix(rest, "&>"), strings.HasPrefix(rest, ">&"):
		l.take(rest[:2], rest[:2])
	case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"):
		l.endWord()
		l.endCommand(rest[:2])
		l.i += 2
	case c == ';', c == '|', c == '&':
		l.endWord()
		l.endCommand(string(c))
		l.i++
		if c == '|' && strings.HasPrefix(rest[1:], "&") {
			l.i++
		}
	default:
		l.take(rest[:1], rest[:1])
	}
}

// double scans text in double quotes.
func (l *lexer) double() {
	var val strings.Builder
	i := l.i + 1
	for i < len(l.s) && l.s[i] != '"' {
		if l.s[i] == '\\' && i+1 < len(l.s) && strings.IndexByte("\"\\$`\n", l.s[i+1]) >= 0 {
			i++
		}
		val.WriteByte(l.s[i])
		i++
	}
	l.take(l.s[l.i:min(i+1, len(l.s))], val.String())
}

func (l *lexer) take(raw, val string) {
	l.raw.WriteString(raw)
	l.val.WriteString(val)
	l.in = true
	l.i += len(raw)
}

// takeAll takes n bytes verbatim; n below 2 means the rest of the line.
func (l *lexer) takeAll(n int) {
	if n < 2 || l.i+n > len(l.s) {
		n = len(l.s) - l.i
	}
	l.take(l.s[l.i:l.i+n], l.s[l.i:l.i+n])
}

// closing returns the length of a substitution $(…), 0 if it is not closed.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func (l *lexer) endWord() {
	if l.in {
		l.cur.words = append(l.cur.words, word{l.raw.String(), l.val.String()})
	}
	l.raw.Reset()
	l.val.Reset()
	l.in = false
}

func (l *lexer) endCommand(op string) {
	if len(l.cur.words) == 0 {
		return
	}
	l.cur.op = op
	l.out.commands = append(l.out.commands, l.cur)
	l.cur = simple{}
}

// heredocBody scans the lines of a here-document if one of the commands has
// "<<", and reports whether there was one.
func (l *lexer) heredocBody() bool {
	mark := ""
	commands := append(l.out.commands, l.cur)
	for _, c := range commands {
		for i, w := range c.words {
			rest, ok := strings.CutPrefix(w.value, "<<")
			if !ok || strings.HasPrefix(rest, "<") || mark != "" {
				continue
			}
			if rest = strings.TrimPrefix(rest, "-"); rest == "" {
				rest = c.value(i + 1)
			}
			mark = rest
		}
	}
	if mark == "" || l.out.hasHeredoc {
		return false
	}
	l.out.hasHeredoc = true
	body := l.s[l.i+1:]
	l.out.heredoc, l.i = body, len(l.s)
	at := 0
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) == mark {
			l.out.heredoc = body[:at]
			l.i = len(l.s) - len(body) + at + len(strings.TrimRight(line, "\n"))
			break
		}
		at += len(line)
	}
	return true
}
