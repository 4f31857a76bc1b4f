package knownitem

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// prose returns the sentences of a claim. For code these are the sentences in comments, for
// Markdown those outside of fences, tables and headings.
func prose(c *ken.Claim) []string {
	var out []string
	var open []string
	flush := func() {
		out = append(out, sentences(strings.Join(open, " "))...)
		open = nil
	}
	code, fence := isCode(c), false
	for l := range strings.Lines(c.Text) {
		l = strings.TrimSpace(l)
		mark, isComment := uncomment(l)
		switch {
		case code:
			if l = mark; !isComment {
				l = ""
			}
		case strings.HasPrefix(l, "```"), strings.HasPrefix(l, "~~~"):
			fence, l = !fence, ""
		case fence, strings.HasPrefix(l, "|"), strings.HasPrefix(l, "#"), strings.HasPrefix(l, "Files: "):
			l = ""
		default:
			if item := listMark.FindString(l); item != "" {
				flush()
				l = l[len(item):]
			}
		}
		if l == "" {
			flush()
			continue
		}
		open = append(open, plain(l))
	}
	flush()
	return out
}

var (
	listMark = lazyregexp.New(`^(?:[-*+]|\d{1,3}[.)]|>)\s+`)
	mdLink   = lazyregexp.New(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis = strings.NewReplacer("**", "", "__", "", "`", "", "*", "")
)

// remark matches text in brackets that a program added to a message, such as [image: …].
var remark = lazyregexp.New(`\[\w+: [^\]]*\]`)

// plain removes the markup from a line of Markdown.
func plain(l string) string {
	return strings.TrimSpace(emphasis.Replace(remark.ReplaceAllString(mdLink.ReplaceAllString(l, "$1"), "")))
}

// isCode reports whether a claim is a piece of a file that is neither Markdown nor prose.
func isCode(c *ken.Claim) bool {
	for _, e := range c.Evidence {
		if e.Kind != ken.EvidenceFile {
			continue
		}
		switch strings.ToLower(path.Ext(e.Path)) {
		case "", ".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".textile":
			return false
		}
		return true
	}
	return false
}

// uncomment returns the text of a comment line, and whether the line is a comment.
func uncomment(l string) (string, bool) {
	for _, mark := range []string{"///", "//!", "//", "#", "--", "/**", "/*", "* ", ";;"} {
		if rest, ok := strings.CutPrefix(l, mark); ok {
			if mark == "#" && (strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "include") || strings.HasPrefix(rest, "define")) ||
				mark == "//" && (strings.HasPrefix(rest, "go:") || strings.HasPrefix(rest, "nolint")) {
				return "", false
			}
			return strings.TrimSpace(strings.TrimSuffix(rest, "*/")), true
		}
	}
	return "", false
}

// sentences splits a paragraph. A sentence ends with a full stop, a question mark or an exclamation
// mark, followed by a space and something that can start a sentence.
func sentences(s string) []string {
	var out []string
	from := 0
	for i, r := range s {
		next := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?':
			if next < len(s) && s[next] != ' ' || r == '.' && (abbreviated(s[from:i]) || !starts(s[next:])) {
				continue
			}
		case '。', '！', '？':
		default:
			continue
		}
		if t := strings.TrimSpace(s[from:next]); t != "" {
			out = append(out, t)
		}
		from = next
	}
	if t := strings.TrimSpace(s[from:]); t != "" {
		out = append(out, t)
	}
	return out
}

// abbreviated reports whether a full stop after s only ends an abbreviation.
func abbreviated(s string) bool {
	last := s[strings.LastIndexByte(s, ' ')+1:]
	switch strings.ToLower(strings.TrimLeft(last, "(\"'")) {
	case "e.g", "i.e", "etc", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "st", "no", "fig", "approx", "a.m", "p.m":
		return true
	}
	return utf8.RuneCountInString(last) == 1 && last >= "A"
}

func starts(s string) bool {
	s = strings.TrimSpace(s)
	r, _ := utf8.DecodeRuneInString(s)
	return s == "" || !unicode.IsLower(r)
}

// speaker matches "Anna: " at the beginning of a message.
var speaker = lazyregexp.New(`^([A-Z][\p{L}'-]{1,20}(?: [A-Z][\p{L}'-]{1,20})?): +`)

// labels lists words that look like a speaker but are not.
var labels = map[string]bool{"Note": true, "Notes": true, "Warning": true, "Tip": true, "Example": true, "Examples": true, "Files": true,
	"Status": true, "Try": true, "Fixes": true, "Caveat": true, "Caveats": true, "Important": true, "Usage": true, "Returns": true,
	"Context": true, "Decision": true, "Errors": true, "Result": true, "Summary": true, "Date": true, "Todo": true, "Default": true}

// said returns the speaker of a claim's text, "" if unknown, and its sentences.
func said(c *ken.Claim) (who string, list []string) {
	list = prose(c)
	if len(list) == 0 || c.SourceType == "repository" || c.SourceType == "git" {
		return "", list
	}
	if m := speaker.FindStringSubmatch(list[0]); m != nil && !labels[m[1]] {
		who = m[1]
		if list[0] = strings.TrimSpace(list[0][len(m[0]):]); list[0] == "" {
			list = list[1:]
		}
	}
	return who, list
}
