package drift

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// pattern is a path of a layer.
type pattern struct {
	layer   int
	parts   []string
	named   int // parts that are not **
	letters int // bytes beside wildcards
}

// anyParts is the part that stands for any number of them.
const anyParts = "**"

// newPattern reads a path. why is what is wrong with it, and empty otherwise.
func newPattern(text string) (p pattern, why string) {
	text = strings.TrimSpace(text)
	s := strings.ReplaceAll(text, `\`, "/")
	switch {
	case s == "":
		return p, "is empty"
	case len(s) > 1 && s[1] == ':':
		return p, "is not a path from the project's root"
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return p, "is no path"
	}
	for part := range strings.SplitSeq(s, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return p, "leads out of the project, or could"
		case len(part) > 1 && strings.Trim(part, "*") == "":
			part = anyParts
		default:
			p.named++
			p.letters += len(part) - strings.Count(part, "*") - strings.Count(part, "?")
		}
		p.parts = append(p.parts, part)
	}
	return p, ""
}

// text is the pattern in one spelling.
func (p *pattern) text() string { return strings.Join(p.parts, "/") }

// compare orders the pattern that decides first.
func (p *pattern) compare(q *pattern) int {
	return cmp.Or(cmp.Compare(q.named, p.named), cmp.Compare(q.letters, p.letters), cmp.Compare(p.layer, q.layer))
}

// matches reports whether a file, by its parts, is what the pattern names or below it. Of
// several ** only the last may have to take more: an earlier one that took less leaves
// more for those behind it.
func (p *pattern) matches(file []string) bool {
	i, k, star, resume := 0, 0, -1, 0
	for i < len(p.parts) {
		switch {
		case p.parts[i] == anyParts:
			i++
			star, resume = i, k
			continue
		case k < len(file) && matchPart(p.parts[i], file[k]):
			i++
			k++
			continue
		}
		if star < 0 || resume >= len(file) {
			return false
		}
		resume++
		i, k = star, resume
	}
	return true
}

// matchPart matches one part of a path, in which * is any text and ? one character.
func matchPart(pat, s string) bool {
	i, k, star, resume := 0, 0, -1, 0
	for k < len(s) {
		_, size := utf8.DecodeRuneInString(s[k:])
		switch {
		case i < len(pat) && pat[i] == '*':
			i++
			star, resume = i, k
			continue
		case i < len(pat) && pat[i] == '?':
			i++
			k += size
			continue
		case i < len(pat) && pat[i] == s[k]:
			i++
			k++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		i, k = star, resume
	}
	return strings.Trim(pat[i:], "*") == ""
}
