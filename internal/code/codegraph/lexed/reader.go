package lexed

import (
	"slices"
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
	depth    int // of nested declarations
}

// place is the range of tokens of a declaration.
type place struct {
	first, last int32
	test        bool
	derived     bool // it has base types
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

// tok returns a token; one without a kind if i is outside of the file.
func (r *reader) tok(i int) *token {
	if i < 0 || i >= len(r.toks) {
		return &absent
	}
	return &r.toks[i]
}

var absent = token{indent: -1, match: -1}

func (r *reader) text(i int) string {
	t := r.tok(i)
	return r.src[t.start:t.end]
}

func (r *reader) is(i int, s string) bool { return r.kind(i) == word && r.text(i) == s }

func (r *reader) kind(i int) kind { return r.tok(i).kind }

// op returns the punctuation mark at i, or 0.
func (r *reader) op(i int) op { return r.tok(i).op }

// name reports whether the token is a word that can be a name.
func (r *reader) name(i int) bool { return r.kind(i) == word && !r.lang.keywords[r.text(i)] }

// match returns the last token within the bracket at i; it is at least i.
func (r *reader) match(i int) int { return max(i, int(r.tok(i).match)) }

// skip returns the token after i, or after the bracket pair that i opens.
func (r *reader) skip(i int) int {
	if opens(r.op(i)) {
		return r.match(i) + 1
	}
	return i + 1
}

// past returns the token after i, after the bracket pair, or after the list of types up to end that i opens.
func (r *reader) past(i, end int) int {
	if after := r.afterTypes(i); after > i && after <= end {
		return after
	}
	return r.skip(i)
}

// afterTypes returns the token after the list of types at i; i if there is none.
func (r *reader) afterTypes(i int) int {
	if r.op(i) == '<' {
		if shut := r.angle(i); shut > 0 {
			return shut + 1
		}
	}
	return i
}

// find returns the first of the marks from i on that is outside of inner brackets; end, or a token behind it, if there
// is none.
func (r *reader) find(i, end int, marks ...op) int {
	for i < end && !slices.Contains(marks, r.op(i)) {
		i = r.skip(i)
	}
	return i
}

// statementEnd returns the token after the next semicolon, or after the brace that ends the block.
func (r *reader) statementEnd(i, end int) int { return r.find(i, end, ';', '}') + 1 }

// skipItem returns the token after the next semicolon or body.
func (r *reader) skipItem(i, end int) int { return min(r.match(r.find(i, end, ';', '{'))+1, end) }

// nested reads what is between two tokens, part by part. It leaves out what is nested more deeply than maxDepth.
func (r *reader) nested(i, end int, part func(i int) (next int)) {
	if r.depth++; r.depth <= maxDepth {
		for i < end {
			i = max(part(i), i+1)
		}
	}
	r.depth--
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
		switch o := r.op(k); {
		case o == '<':
			depth++
		case o == '>' || o == opCompare && r.text(k) == ">=":
			if depth--; depth == 0 {
				return k
			}
		case o == '(' || o == '[' || o == '{' && (r.lang.family == script || r.lang.family == rust):
			k = r.match(k)
		case o == opLogic && r.lang.family == cfamily && r.text(k) == "&&":
		case o == opCompare || o == opLogic || o == opAssign || o == opWalrus || o == ';' || o == '{' || closes(o):
			return -1
		}
	}
	return -1
}

// comment reads a comment at a slash, if there is one.
func (s *scanner) comment() bool {
	if s.lang.family == python {
		return false
	}
	start, line, own := s.pos, s.line, s.atLineStart
	switch s.peek(1) {
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
		case c == '*' && s.peek(1) == '/':
			s.pos++
			if depth--; depth == 0 {
				s.pos++
				return
			}
		case c == '/' && s.lang.nested && s.peek(1) == '*':
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
	case s.lang.family == script && wordByte[s.peek(1)] == wordHead:
		s.pos++
		s.skipWord()
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
		switch c := s.peek(0); {
		case c == '/' && s.peek(1) == '*' && s.lang.family == cfamily:
			s.block()
		case c == '/' && s.peek(1) == '/':
			s.skipLine()
		case c == '\\' && s.lang.family == cfamily:
			if s.pos++; s.peek(0) == '\r' {
				s.pos++
			}
			if s.peek(0) == '\n' {
				s.newline()
			}
		default:
			s.pos++
		}
	}
	body := strings.TrimLeft(s.src[start:s.pos], " \t")
	d.name = body[:wordLength(body)]
	d.rest = strings.TrimSpace(body[len(d.name):])
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
		if hasPrefix(l, "@", "\\", "# ", "```", "<remarks", "<param", "<returns") {
			break
		}
		if b.Len() == 0 && hasPrefix(l, toolNotes...) {
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

func hasPrefix(s string, any ...string) bool {
	return slices.ContainsFunc(any, func(p string) bool { return strings.HasPrefix(s, p) })
}

func hasSuffix(s string, any ...string) bool {
	return slices.ContainsFunc(any, func(p string) bool { return strings.HasSuffix(s, p) })
}

// hasLetters reports whether a line has letters.
func hasLetters(l string) bool {
	return strings.ContainsFunc(l, func(c rune) bool { return c >= 0x80 || wordByte[c] == wordHead && c != '_' })
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
		if !hasSuffix(s[:i], "e.g", "i.e", "vs", "etc", "cf") {
			return s[:i+1]
		}
	}
	return s
}
