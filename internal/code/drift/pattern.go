package drift

import (
	"cmp"
	"path"
	"strings"
	"unicode/utf8"
)

// pattern is a parsed path of a layer.
type pattern struct {
	layer        int
	parts        []string // as path.Match reads them, or **
	partCount    int      // number of parts other than **
	literalBytes int      // number of bytes other than wildcards
}

// anyParts is the part that matches any number of parts.
const anyParts = "**"

// newPattern parses a path. why says what is wrong with it; it is empty for a valid path.
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
			p.partCount++
			p.literalBytes += len(part) - strings.Count(part, "*") - strings.Count(part, "?")
			part = strings.ReplaceAll(part, "[", `\[`) // the only other character with a meaning in path.Match
		}
		p.parts = append(p.parts, part)
	}
	return p, ""
}

// text returns the pattern in its normal form.
func (p *pattern) text() string { return strings.ReplaceAll(strings.Join(p.parts, "/"), `\[`, "[") }

// compare orders patterns; the first match in this order decides.
func (p *pattern) compare(q *pattern) int {
	return cmp.Or(cmp.Compare(q.partCount, p.partCount), cmp.Compare(q.literalBytes, p.literalBytes), cmp.Compare(p.layer, q.layer))
}

// matches reports whether a file, split into parts, is named by the pattern or is below it. Backtracking is only needed
// for the last **, because the shortest match of an earlier one leaves the most parts for the rest.
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

// matchPart matches one part of a path. * matches any text and ? one character.
func matchPart(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}
