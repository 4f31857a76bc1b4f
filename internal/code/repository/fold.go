package repository

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold makes prose fit: a line longer than limit becomes several lines with the
// same number, cut at the end of a sentence or else between words. What has no
// place to cut (an embedded image, a key) is left out for an ellipsis.
func fold(lines []line, limit int) []line {
	for i := range lines {
		if lines[i].chars > limit {
			out := append(make([]line, 0, len(lines)+8), lines[:i]...)
			for _, l := range lines[i:] {
				if l.chars <= limit {
					out = append(out, l)
					continue
				}
				for _, part := range foldLine(l.text, limit-1) {
					out = append(out, newLine(l.no, part))
				}
			}
			return out
		}
	}
	return lines
}

// foldLine cuts s into parts of at most limit characters.
func foldLine(s string, limit int) []string {
	var parts []string
	for len(s) > utf8.UTFMax*limit || utf8.RuneCountInString(s) > limit {
		at := foldAt(s, limit)
		if at == 0 { // one word that is too long
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
	if hollow(s) {
		return parts
	}
	return append(parts, s)
}

// hollow reports whether nothing is left of s but the sign that something was
// left out.
func hollow(s string) bool { return strings.Trim(s, " \t…") == "" }

// foldAt returns where to cut s so that at most limit characters come before: the
// last end of a sentence in the second half, or the last space, or anywhere
// between two characters of a script that is written without spaces. Zero means
// nowhere.
func foldAt(s string, limit int) int {
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
			if hollow(s[:i]) {
				break // indentation is no place to cut
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
	return or(sentence, or(space, between))
}
