package repository

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// verdict is the decision of patterns about a path.
type verdict int

const (
	undecided verdict = iota
	ignored
	reincluded // by a pattern that begins with "!"
)

// pattern is one line of an ignore file, with git's semantics. The tests compare the matcher with git itself.
type pattern struct {
	segments      []string // of the path below the file's folder; unless anchored, a single segment matches at any depth
	anchored      bool
	dirOnly       bool
	negated       bool
	fromKenIgnore bool // from .kenignore
}

// patterns holds the lines of the ignore files of one folder. Later lines take precedence.
type patterns struct {
	base string // path of the folder with slashes and a trailing slash; "" for the top
	list []pattern
}

func parsePatterns(text string, own bool) []pattern {
	var out []pattern
	for l := range strings.SplitSeq(strings.TrimPrefix(text, byteOrderMark), "\n") {
		if p, ok := parsePattern(strings.TrimSuffix(l, "\r")); ok {
			p.fromKenIgnore = own
			out = append(out, p)
		}
	}
	return out
}

func parsePattern(s string) (p pattern, ok bool) {
	if strings.HasPrefix(s, "#") {
		return p, false
	}
	for strings.HasSuffix(s, " ") && !strings.HasSuffix(s, `\ `) {
		s = s[:len(s)-1]
	}
	s, p.negated = strings.CutPrefix(s, "!")
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.anchored = strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, false
	}
	p.segments = strings.Split(s, "/")
	if n := len(p.segments); n > 1 && p.segments[n-1] == "**" {
		p.segments = append(p.segments, "*") // everything within the folder, but not the folder itself
	}
	return p, true
}

// match decides about a path relative to the top. The last matching pattern in the deepest folder decides. own reports
// whether that pattern is in .kenignore.
func match(stack []patterns, rel string, dir bool) (v verdict, own bool) {
	for i := len(stack) - 1; i >= 0; i-- {
		below, ok := strings.CutPrefix(rel, stack[i].base)
		if !ok {
			continue
		}
		for k := len(stack[i].list) - 1; k >= 0; k-- {
			p := &stack[i].list[k]
			if p.dirOnly && !dir || !p.matches(below) {
				continue
			}
			if p.negated {
				return reincluded, p.fromKenIgnore
			}
			return ignored, p.fromKenIgnore
		}
	}
	return undecided, false
}

func (p *pattern) matches(rel string) bool {
	if !p.anchored {
		return globMatch(p.segments[0], rel[strings.LastIndexByte(rel, '/')+1:])
	}
	return matchSegments(p.segments, strings.Split(rel, "/"))
}

// matchSegments matches "**" with any number of segments. Backtracking only goes to the last "**", so the time is
// bounded by the product of the lengths.
func matchSegments(pat, segs []string) bool {
	p, s, star, resume := 0, 0, -1, 0
	for s < len(segs) {
		switch {
		case p < len(pat) && pat[p] == "**":
			star, resume = p, s
			p++
		case p < len(pat) && globMatch(pat[p], segs[s]):
			p++
			s++
		case star >= 0:
			resume++
			p, s = star+1, resume
		default:
			return false
		}
	}
	for p < len(pat) && pat[p] == "**" {
		p++
	}
	return p == len(pat)
}

// globMatch matches one segment of a path byte by byte, as git does: * ? [a-z] [!a] [[:digit:]], and a backslash before
// a literal character.
func globMatch(pat, s string) bool {
	p, i, star, resume := 0, 0, -1, 0
	for i < len(s) {
		if p < len(pat) && pat[p] == '*' {
			p++
			star, resume = p, i
			continue
		}
		if n, ok := matchOne(pat[p:], s[i]); ok {
			p += n
			i++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		p, i = star, resume
	}
	return strings.Trim(pat[p:], "*") == ""
}

// matchOne matches the first item of a pattern, which is not a star, with one byte. It returns the item's length.
func matchOne(pat string, c byte) (n int, ok bool) {
	switch {
	case pat == "":
		return 0, false
	case pat[0] == '?':
		return 1, true
	case pat[0] == '[':
		return matchClass(pat, c)
	case pat[0] == '\\' && len(pat) > 1:
		return 2, pat[1] == c
	case pat[0] == '\\':
		return 1, false // a backslash at the end matches nothing
	}
	return 1, pat[0] == c
}

// matchClass matches a bracket expression. One that is not closed matches nothing.
func matchClass(pat string, c byte) (n int, ok bool) {
	i, negated, in := 1, false, false
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		negated = true
		i++
	}
	for first := true; i < len(pat); first = false {
		if pat[i] == ']' && !first {
			return i + 1, in != negated
		}
		if name, rest, found := strings.Cut(pat[i:], ":]"); found && strings.HasPrefix(name, "[:") {
			in = in || namedClass(name[2:], c)
			i = len(pat) - len(rest)
			continue
		}
		lo, size := classByte(pat[i:])
		i += size
		hi := lo
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			hi, size = classByte(pat[i+1:])
			i += 1 + size
		}
		in = in || lo <= c && c <= hi
	}
	return 0, false
}

func classByte(pat string) (c byte, size int) {
	if pat[0] == '\\' && len(pat) > 1 {
		return pat[1], 2
	}
	return pat[0], 1
}

// namedClasses are the classes of POSIX, each as pairs of a first and a last byte.
var namedClasses = map[string]string{
	"alpha": "azAZ", "digit": "09", "alnum": "azAZ09", "lower": "az", "upper": "AZ", "space": "  \t\r", "blank": "  \t\t",
	"punct": "!/:@[`{~", "graph": "!~", "print": " ~", "cntrl": "\x00\x1f\x7f\x7f", "xdigit": "09afAF",
}

func namedClass(name string, c byte) bool {
	for pairs := namedClasses[name]; pairs != ""; pairs = pairs[2:] {
		if pairs[0] <= c && c <= pairs[1] {
			return true
		}
	}
	return false
}

// Ignore is a list of patterns in the notation of .gitignore. The zero value ignores nothing.
type Ignore struct{ list []pattern }

// ParseIgnore reads patterns, one per line. Invalid lines are ignored.
func ParseIgnore(text string) Ignore { return Ignore{parsePatterns(text, true)} }

// Empty reports whether there is no pattern.
func (g Ignore) Empty() bool { return len(g.list) == 0 }

// Matches reports whether the patterns ignore a path, which has slashes and is relative to the folder of their file. As
// in git, everything within an ignored folder is ignored, and patterns can't include it again.
func (g Ignore) Matches(rel string, dir bool) bool {
	stack := []patterns{{list: g.list}}
	for i := range rel {
		if rel[i] == '/' {
			if v, _ := match(stack, rel[:i], true); v == ignored {
				return true
			}
		}
	}
	v, _ := match(stack, rel, dir)
	return v == ignored
}

// wrapLines makes prose fit. A line longer than limit becomes several lines with the same number, cut at the end of a
// sentence or else between words. Text without a place to cut (an embedded image, a key) is replaced by an ellipsis.
func wrapLines(lines []line, limit int) []line {
	for i := range lines {
		if lines[i].chars > limit {
			out := append(make([]line, 0, len(lines)+8), lines[:i]...)
			for _, l := range lines[i:] {
				if l.chars <= limit {
					out = append(out, l)
					continue
				}
				for _, part := range wrapLine(l.text, limit-1) {
					out = append(out, newLine(l.no, part))
				}
			}
			return out
		}
	}
	return lines
}

// wrapLine cuts s into parts of at most limit characters.
func wrapLine(s string, limit int) []string {
	var parts []string
	for len(s) > utf8.UTFMax*limit || utf8.RuneCountInString(s) > limit {
		at := wrapPoint(s, limit)
		if at == 0 { // a single word that is too long
			_, rest, _ := strings.Cut(strings.TrimLeft(s, " \t…"), " ")
			s = "… " + rest
			continue
		}
		parts = addPart(parts, s[:at])
		s = s[at:]
	}
	return addPart(parts, s)
}

func addPart(parts []string, s string) []string {
	if onlyEllipsis(s) {
		return parts
	}
	return append(parts, s)
}

// onlyEllipsis reports whether s consists of blanks and ellipses.
func onlyEllipsis(s string) bool { return strings.Trim(s, " \t…") == "" }

// wrapPoint returns the index at which to cut s, with at most limit characters before it. It is the last end of a
// sentence in the second half, or the last space, or a place between two characters of a script without spaces. Zero
// means that there is none.
func wrapPoint(s string, limit int) int {
	sentence, space, between := 0, 0, 0
	var before rune
	n := 0
	for i, r := range s {
		if n == limit {
			break
		}
		n++
		switch {
		case unicode.IsSpace(r):
			if onlyEllipsis(s[:i]) {
				break // not within the indentation
			}
			space = i + utf8.RuneLen(r)
			if strings.ContainsRune(".!?;", before) && n > limit/2 {
				sentence = space
			}
		case strings.ContainsRune("。！？；", r):
			sentence = i + utf8.RuneLen(r)
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) && i > 0:
			between = i
		}
		before = r
	}
	return cmp.Or(sentence, space, between)
}
