package lexed

import (
	"sort"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// doc returns the first sentence of the comment above a declaration, which begins with
// annotations at first and has its heading at head.
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

// trailing returns the first sentence of a comment that stands behind a declaration and
// says that it is for that: "///<", "//!<", "/**<".
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

// maxDocLines is how many lines of a comment are looked at for its first sentence.
const maxDocLines = 60

var (
	linkTag  = lazyregexp.New(`\{@\w+\s+([^}]*)\}`)
	crefTag  = lazyregexp.New(`<(?:see|seealso|paramref|typeparamref)\s+\w+="(?:\w:)?([^"]*)"\s*/>`)
	anyTag   = lazyregexp.New(`</?[A-Za-z][^<>]*>`)
	briefTag = lazyregexp.New(`^[@\\](brief|short|description|summary|desc|details)\b:?\s*`)
)

// directives for tools are not about what is declared.
var toolNotes = []string{"eslint", "@ts-", "prettier", "istanbul", "c8 ", "v8 ", "biome-", "tslint", "jshint", "jslint", "global ", "noqa", "type:", "pylint",
	"NOLINT", "clang-format", "webpack", "#region", "region", "endregion", "#__PURE__", "@__PURE__", "!/", "SPDX-", "Copyright", "sourceMappingURL", "rustfmt", "fmt:", "pragma", "nosec"}

// sentence returns the first sentence of a comment's lines, at most maxDoc bytes.
func sentence(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		l = bare(l)
		if b.Len() == 0 {
			l = strings.TrimSpace(briefTag.ReplaceAllString(l, ""))
		}
		if l == "" || !said(l) {
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

// said reports whether a line has letters.
func said(l string) bool {
	for i := range len(l) {
		if wordByte[l[i]] == wordHead && l[i] != '_' {
			return true
		}
	}
	return false
}

// bare takes the marks of a comment off a line.
func bare(l string) string {
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

// firstSentence ends at a stop before a blank that is not that of an abbreviation.
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
