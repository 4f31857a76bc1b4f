package budgeter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = " …"

// excerpt returns text, or as much of its start as fits into so many code points
// with an ellipsis: up to the end of a line or a sentence when that keeps at least
// half, else up to the end of a word, else as it comes.
func excerpt(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	room := max(0, most-utf8.RuneCountInString(ellipsis))
	end := 0
	for n := 0; n < room; n++ {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	cut := text[:end]
	if at := lastBorder(cut, text[end:]); at >= len(cut)/2 {
		cut = cut[:at]
	} else if at := strings.LastIndexFunc(cut, unicode.IsSpace); at >= len(cut)/2 {
		cut = cut[:at]
	}
	return strings.TrimRightFunc(cut, unicode.IsSpace) + ellipsis
}

// lastBorder returns the end of the last line or sentence in cut, which rest follows.
func lastBorder(cut, rest string) int {
	if strings.HasPrefix(rest, "\n") || endsSentence(cut, rest) {
		return len(cut)
	}
	for end := len(cut); end > 0; {
		r, size := utf8.DecodeLastRuneInString(cut[:end])
		if r == '\n' {
			return end - size
		}
		if end < len(cut) && endsSentence(cut[:end], cut[end:]) {
			return end
		}
		end -= size
	}
	return 0
}

// endsSentence reports whether a sentence ends where head ends. A stop that a
// lower-case letter follows belongs to an abbreviation.
func endsSentence(head, rest string) bool {
	r, _ := utf8.DecodeLastRuneInString(head)
	switch r {
	case '。', '！', '？', '।':
		return true
	case '.', '!', '?':
		after := strings.TrimLeft(rest, " \n\t")
		if after == "" || len(after) == len(rest) {
			return after == ""
		}
		first, _ := utf8.DecodeRuneInString(after)
		return !unicode.IsLower(first)
	}
	return false
}

// sentences returns the first n sentences of text, with an ellipsis if there are more.
func sentences(text string, n int) string {
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if endsSentence(text[:end], text[end:]) || r == '\n' {
			if n--; n == 0 {
				if strings.TrimSpace(text[end:]) == "" {
					return text
				}
				return strings.TrimSpace(text[:end]) + ellipsis
			}
		}
	}
	return text
}

// Levels of compression: at wholeLevel the text is whole, and at maxLevel nothing more
// can be taken from an item. A sentence is never cut: half a rule is another rule.
const (
	wholeLevel = 3
	maxLevel   = 5
)

// compress shortens the entry. Each level includes the ones before it.
func (e *entry) compress(level int) {
	it := &e.item
	if level >= 1 {
		it.Text = squeeze(it.Text)
	}
	if level >= 2 {
		it.Heading = ""
	}
	if level >= wholeLevel {
		it.Source = ""
	}
	switch {
	case level >= maxLevel:
		it.Text = sentences(it.Text, 1)
	case level > wholeLevel:
		it.Text = sentences(it.Text, 2)
	}
}
