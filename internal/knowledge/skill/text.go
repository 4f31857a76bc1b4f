package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// slug converts a name to the form of the convention: lower-case letters and digits
// with single hyphens between words, at most MaxName characters. Letters of any
// script are kept.
func slug(name string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range strings.ToLower(name) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = n > 0
			continue
		}
		if n++; n > MaxName {
			break
		}
		if gap {
			if n++; n > MaxName {
				break
			}
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// firstHeading returns the heading at the start of a text, and the rest. If the
// text starts with something else, it returns "" and the text.
func firstHeading(text string) (heading, rest string) {
	trimmed := strings.TrimLeft(text, " \t\n")
	line, after, _ := strings.Cut(trimmed, "\n")
	level := headingLevel(line)
	if level == 0 {
		return "", text
	}
	heading = strings.Trim(line[level:], " \t")
	if closed := strings.TrimRight(heading, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		heading = strings.TrimRight(closed, " \t") // "## Title ##"
	}
	if heading == "" {
		return "", text
	}
	return strings.Join(strings.Fields(heading), " "), after
}

// headingLevel returns the level of a heading line; 0 if the line is no heading.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level > 6 || level < len(line) && line[level] != ' ' && line[level] != '\t' {
		return 0
	}
	return level
}

// firstParagraph returns the first paragraph of prose in a text on one line, cut to
// the length of a description.
func firstParagraph(text string) string {
	var words []string
	size, fence := 0, ""
	for line := range strings.SplitSeq(text, "\n") {
		t := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(t, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(t, "```"), strings.HasPrefix(t, "~~~"):
			fence = t[:3]
		}
		if t == "" || headingLevel(t) > 0 || fence != "" || strings.Trim(t, "-*_= ") == "" {
			if len(words) > 0 {
				break
			}
			continue
		}
		for w := range strings.FieldsSeq(t) {
			if size += utf8.RuneCountInString(w) + 1; size > maxDescription {
				return strings.Join(words, " ")
			}
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
