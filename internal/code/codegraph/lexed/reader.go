package lexed

import (
	"sort"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxDepth is the maximum depth of nested declarations. Deeper ones are left out.
const maxDepth = 100

// tokenFlag marks a token. The readers of declarations set it for the search for uses.
type tokenFlag uint8

const (
	notUse     tokenFlag = 1 << iota // not a use: a declared name, a label, a part of an import
	typed                            // the name of a type
	container                        // a brace that contains declarations
	annotation                       // the name of an annotation or attribute
)

// reader reads one file: first the declarations, with rules for the language, then the names that they use.
type reader struct {
	set  *Set
	lang *language
	src  string
	file *codegraph.File

	toks     []token
	flags    []tokenFlag
	comments []comment
	dirs     []directive

	scope    string // prefix of declared names, without the last dot
	module   bool   // bare names never refer to declarations of other files, unless imported
	places   []place
	declared map[string]int  // qualified name to its first declaration
	names    map[string]name // imported names, by their name in the file
	bindings []binding
	typings  []typing // of values
	titles   []string // titles of tests that are not declarations
	own      []ownUse // uses found in the headings of declarations
	strings  map[string]string
}

// place is the range of tokens of a declaration.
type place struct {
	first, last int32
	test        bool
	bases       []string // base types as written, to resolve inherited members
}

// name is the meaning of an imported name.
type name struct {
	qualified string // empty if it is outside the repository
	module    bool   // it qualifies its members
	viaScopes bool   // it may have another name where it is declared: it is looked up in the scopes
	value     string // with viaScopes: path of the module's default value
}

// ownUse is a use found while reading a declaration.
type ownUse struct {
	from  int
	kind  codegraph.EdgeKind
	first int // range of tokens of the path
	last  int
}

func (r *reader) text(i int) string {
	if i < 0 || i >= len(r.toks) {
		return ""
	}
	return r.src[r.toks[i].start:r.toks[i].end]
}

func (r *reader) is(i int, s string) bool { return r.kind(i) == word && r.text(i) == s }

func (r *reader) kind(i int) kind {
	if i < 0 || i >= len(r.toks) {
		return 0
	}
	return r.toks[i].kind
}

// op returns the punctuation mark at i, or 0.
func (r *reader) op(i int) op {
	if i < 0 || i >= len(r.toks) {
		return 0
	}
	return r.toks[i].op
}

// name reports whether the token is a word that can be a name.
func (r *reader) name(i int) bool { return r.kind(i) == word && !r.lang.keywords[r.text(i)] }

// match returns the last token within the bracket at i; it is at least i.
func (r *reader) match(i int) int {
	if i < 0 || i >= len(r.toks) {
		return i
	}
	return max(i, int(r.toks[i].match))
}

// skip returns the token after i, or after the bracket pair that i opens.
func (r *reader) skip(i int) int {
	if opens(r.op(i)) {
		return r.match(i) + 1
	}
	return i + 1
}

func (r *reader) line(i int) int {
	if len(r.toks) == 0 {
		return 1
	}
	return int(r.toks[min(max(i, 0), len(r.toks)-1)].line)
}

// endLine returns the line on which a token ends. Strings may have several lines.
func (r *reader) endLine(i int) int {
	n := r.line(i)
	if r.kind(i) == text {
		n += strings.Count(r.text(i), "\n")
	}
	return n
}

// markNotUse marks the tokens from i up to end as no uses.
func (r *reader) markNotUse(i, end int) {
	for ; i < end && i < len(r.flags); i++ {
		r.flags[i] |= notUse
	}
}

func (r *reader) mark(i int, f tokenFlag) {
	if i >= 0 && i < len(r.flags) {
		r.flags[i] |= f
	}
}

// intern returns a copy of a piece of the source. Equal texts share one copy.
func (r *reader) intern(s string) string {
	if k, ok := r.strings[s]; ok {
		return k
	}
	k := strings.Clone(s)
	r.strings[k] = k
	return k
}

// joinDotted joins two names with a dot; one of them may be empty.
func joinDotted(scope, name string) string {
	switch {
	case scope == "":
		return name
	case name == "":
		return scope
	}
	return scope + "." + name
}

func lastPart(qualified string) string { return qualified[strings.LastIndexByte(qualified, '.')+1:] }

func (r *reader) problem(line int, s string) {
	if len(r.file.Problems) < maxProblems {
		r.file.Problems = append(r.file.Problems, codegraph.Problem{Line: line, Text: s})
	}
}

// maxProblems is the maximum number of problems reported for one file.
const maxProblems = 20

// angle returns the ">" that ends the list of types beginning at i, or -1 if there is no such list. It examines at most
// 400 tokens.
func (r *reader) angle(i int) int {
	depth := 0
	for k, n := i, 0; k < len(r.toks) && n < 400; k, n = k+1, n+1 {
		switch r.op(k) {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return k
			}
		case opCompare:
			if r.text(k) != ">=" {
				return -1
			}
			if depth--; depth == 0 {
				return k
			}
		case '(', '[', '{':
			if r.op(k) == '{' && r.lang.family != script && r.lang.family != rust {
				return -1
			}
			k = r.match(k)
		case ')', ']', '}', ';', opAssign, opWalrus:
			return -1
		case opLogic:
			if r.lang.family != cfamily || r.text(k) != "&&" {
				return -1
			}
		}
	}
	return -1
}

// comment reads a comment at a slash, if there is one.
func (s *scanner) comment() bool {
	if s.pos+1 >= len(s.src) || s.lang.family == python {
		return false
	}
	start, line, own := s.pos, s.line, s.atLineStart
	switch s.src[s.pos+1] {
	case '/':
		s.skipLine()
	case '*':
		s.block()
	default:
		return false
	}
	s.note(start, line, own)
	return true
}

// note stores the comment from start to the present position.
func (s *scanner) note(start, line int, own bool) {
	s.comments = append(s.comments, comment{start: int32(start), end: int32(s.pos), line: int32(line), endLine: int32(s.line),
		tok: int32(len(s.toks)), own: own})
}

// skipLine skips to the end of the line. In C, a backslash at the end joins the next line.
func (s *scanner) skipLine() {
	for s.pos < len(s.src) {
		end := strings.IndexByte(s.src[s.pos:], '\n')
		if end < 0 {
			s.pos = len(s.src)
			return
		}
		s.pos += end
		if s.lang.family != cfamily || !strings.HasSuffix(strings.TrimSuffix(s.src[:s.pos], "\r"), "\\") {
			return
		}
		fresh := s.atLineStart
		s.newline()
		s.atLineStart = fresh
	}
}

// block skips a block comment.
func (s *scanner) block() {
	line, depth := s.line, 1
	fresh := s.atLineStart
	for s.pos += 2; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.newline()
			s.pos-- // the loop steps over it
			s.atLineStart = fresh
		case c == '*' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '/':
			s.pos++
			if depth--; depth == 0 {
				s.pos++
				return
			}
		case c == '/' && s.lang.nested && s.pos+1 < len(s.src) && s.src[s.pos+1] == '*':
			s.pos++
			depth++
		}
	}
	s.problem(line, "a comment does not end")
}

// hash reads what begins with a number sign: a comment in Python, a private name in JavaScript, a preprocessor line in
// C and C#, an attribute in Rust.
func (s *scanner) hash() {
	start := s.pos
	switch {
	case s.lang.family == python:
		line, own := s.line, s.atLineStart
		s.skipLine()
		s.note(start, line, own)
	case s.lang.family == script && start+1 < len(s.src) && wordByte[s.src[start+1]] == wordHead:
		s.pos++
		for s.pos < len(s.src) && wordByte[s.src[s.pos]] != 0 {
			s.pos++
		}
		s.emit(word, 0, start, s.line)
	case s.lang.directives && s.atLineStart:
		s.directive()
	default:
		s.punct()
	}
}

// directive reads a preprocessor line. It may be continued by a block comment.
func (s *scanner) directive() {
	d := directive{line: int32(s.line), tok: int32(len(s.toks)), note: -1}
	if n := len(s.comments); n > 0 && s.comments[n-1].own && s.comments[n-1].tok == d.tok && s.comments[n-1].endLine == d.line-1 {
		d.note = n - 1
	}
	start := s.pos + 1
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		switch {
		case s.src[s.pos] == '/' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '*' && s.lang.family == cfamily:
			s.block()
			continue
		case s.src[s.pos] == '/' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '/':
			s.skipLine()
			continue
		case s.src[s.pos] == '\\' && s.lang.family == cfamily:
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] == '\r' {
				s.pos++
			}
			if s.pos < len(s.src) && s.src[s.pos] == '\n' {
				s.newline()
			}
			continue
		}
		s.pos++
	}
	body := strings.TrimLeft(s.src[start:s.pos], " \t")
	end := 0
	for end < len(body) && wordByte[body[end]] != 0 {
		end++
	}
	d.name, d.rest = body[:end], strings.TrimSpace(body[end:])
	s.directives = append(s.directives, d)
	s.atLineStart = true
}

// doc returns the first sentence of the comment above a declaration. The declaration begins at first with its
// annotations; its heading begins at head.
func (r *reader) doc(first, head int) string {
	for i := head; i >= first; i-- {
		if i != head && i != first && r.op(i) != '#' && r.op(i) != '@' && r.op(i) != '[' {
			continue
		}
		if s := r.docAt(i); s != "" {
			return s
		}
	}
	return ""
}

func (r *reader) docAt(tok int) string {
	end := sort.Search(len(r.comments), func(i int) bool { return int(r.comments[i].tok) > tok })
	from := end
	below := int32(r.line(tok))
	for from > 0 && from > end-maxDocLines {
		c := r.comments[from-1]
		if int(c.tok) != tok || !c.own || c.endLine < below-1 || c.endLine > below {
			break
		}
		s := r.src[c.start:c.end]
		if from < end && strings.HasPrefix(s, "/*") != strings.HasPrefix(r.src[r.comments[from].start:], "/*") {
			break
		}
		below = c.line
		from--
		if strings.HasPrefix(s, "/*") {
			break
		}
	}
	var lines []string
	for _, c := range r.comments[from:end] {
		lines = append(lines, strings.Split(r.src[c.start:c.end], "\n")...)
		if len(lines) > maxDocLines {
			break
		}
	}
	return sentence(lines)
}

// trailing returns the first sentence of a comment after a declaration with a mark for that: "///<", "//!<", "/**<".
func (r *reader) trailing(last int) string {
	i := sort.Search(len(r.comments), func(i int) bool { return int(r.comments[i].tok) > last })
	if i == len(r.comments) || int(r.comments[i].line) != r.line(last) || int(r.comments[i].tok) > last+2 {
		return ""
	}
	s := r.src[r.comments[i].start:r.comments[i].end]
	if len(s) > 3 && s[3] == '<' {
		return sentence([]string{s[:3] + s[4:]})
	}
	return ""
}

// maxDocLines is the number of lines of a comment that are searched for its first sentence.
const maxDocLines = 60

var (
	linkTag  = lazyregexp.New(`\{@\w+\s+([^}]*)\}`)
	crefTag  = lazyregexp.New(`<(?:see|seealso|paramref|typeparamref)\s+\w+="(?:\w:)?([^"]*)"\s*/>`)
	anyTag   = lazyregexp.New(`</?[A-Za-z][^<>]*>`)
	briefTag = lazyregexp.New(`^[@\\](brief|short|description|summary|desc|details)\b:?\s*`)
)

// toolNotes are the beginnings of comments for tools. They don't describe a declaration.
var toolNotes = []string{"eslint", "@ts-", "prettier", "istanbul", "c8 ", "v8 ", "biome-", "tslint", "jshint", "jslint", "global ", "noqa", "type:", "pylint",
	"NOLINT", "clang-format", "webpack", "#region", "region", "endregion", "#__PURE__", "@__PURE__", "!/", "SPDX-", "Copyright", "sourceMappingURL", "rustfmt", "fmt:", "pragma", "nosec"}

// sentence returns the first sentence of a comment's lines, at most maxDoc bytes.
func sentence(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		l = withoutCommentMarks(l)
		if b.Len() == 0 {
			l = strings.TrimSpace(briefTag.ReplaceAllString(l, ""))
		}
		if l == "" || !hasLetters(l) {
			if b.Len() > 0 {
				break
			}
			continue
		}
		if l[0] == '@' || l[0] == '\\' || strings.HasPrefix(l, "# ") || strings.HasPrefix(l, "```") || strings.HasPrefix(l, "<remarks") || strings.HasPrefix(l, "<param") || strings.HasPrefix(l, "<returns") {
			break
		}
		if b.Len() == 0 && toolNote(l) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(l)
		if b.Len() > 8*maxDoc {
			break
		}
	}
	s := b.String()
	if strings.IndexByte(s, '{') >= 0 {
		s = linkTag.ReplaceAllString(s, "$1")
	}
	if strings.IndexByte(s, '<') >= 0 {
		s = anyTag.ReplaceAllString(crefTag.ReplaceAllString(s, "$1"), "")
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return clip(firstSentence(s), maxDoc)
}

func toolNote(l string) bool {
	for _, n := range toolNotes {
		if strings.HasPrefix(l, n) {
			return true
		}
	}
	return false
}

// hasLetters reports whether a line has letters.
func hasLetters(l string) bool {
	for i := range len(l) {
		if wordByte[l[i]] == wordHead && l[i] != '_' {
			return true
		}
	}
	return false
}

// withoutCommentMarks removes comment marks from a line.
func withoutCommentMarks(l string) string {
	l = strings.TrimSpace(l)
	switch {
	case strings.HasPrefix(l, "//"):
		l = strings.TrimLeft(l, "/!<")
	case strings.HasPrefix(l, "/*"):
		l = strings.TrimLeft(l, "/*!<")
	case strings.HasPrefix(l, "*"):
		l = strings.TrimLeft(l, "*")
	case strings.HasPrefix(l, "#"):
		l = strings.TrimLeft(l, "#:")
	}
	return strings.TrimSpace(strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(l), "*/"), "*"))
}

// firstSentence returns the text up to a full stop before a blank, unless the stop ends an abbreviation.
func firstSentence(s string) string {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '.' && s[i] != '!' && s[i] != '?' || s[i+1] != ' ' {
			continue
		}
		head := s[:i]
		if strings.HasSuffix(head, "e.g") || strings.HasSuffix(head, "i.e") || strings.HasSuffix(head, "vs") || strings.HasSuffix(head, "etc") || strings.HasSuffix(head, "cf") {
			continue
		}
		return s[:i+1]
	}
	return s
}
