package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is one sentence of a message.
type sentence struct {
	start, end int    // in the message
	full       string // with single spaces
	text       string // what is left of it
	words      []word // of text
	item       bool   // of a list
	asks       bool   // it ends in a question mark
}

// Bounds of what is read of one message.
const (
	maxSentences = 60
	maxSentence  = 1200 // bytes; what is longer was not written as one
)

// sentences splits the prose of a message.
func sentences(text string) []sentence {
	var out []sentence
	for _, p := range passages(text) {
		start := p.start
		for start < p.end && len(out) < maxSentences {
			n, asks := split(text[start:p.end])
			s := sentence{start: start, end: start + n, item: p.item, asks: asks}
			start += n
			if n <= maxSentence && s.trim(text) {
				out = append(out, s)
			}
		}
	}
	return out
}

// trim takes spaces off the ends, and reports whether anything is left.
func (s *sentence) trim(text string) bool {
	raw := text[s.start:s.end]
	core := strings.TrimLeft(raw, " \t\r\n*_")
	s.start += len(raw) - len(core)
	core = strings.TrimRight(core, " \t\r\n*_")
	s.end = s.start + len(core)
	s.full = squeeze(core)
	s.text = s.full
	s.words = wordsOf(s.text)
	return s.text != ""
}

// split returns the length of the first sentence of s, and whether it asks.
func split(s string) (n int, asks bool) {
	for i, r := range s {
		switch r {
		case '。', '！', '？':
			return i + utf8.RuneLen(r), r == '？'
		case '[':
			if i > 0 && attached(s[i:]) {
				return i, false
			}
			continue
		case '!', '?', '…', '.':
		default:
			continue
		}
		end := i + utf8.RuneLen(r)
		rest := strings.TrimLeft(s[end:], ".!?…")
		mark := strings.ContainsRune(s[i:len(s)-len(rest)], '?')
		rest = strings.TrimLeft(rest, "\"'”’)*_")
		if rest == "" {
			return len(s), mark
		}
		if next, _ := utf8.DecodeRuneInString(rest); !unicode.IsSpace(next) && !pictured(next) {
			continue
		}
		if r == '.' && !stops(s[:i], rest) {
			continue
		}
		rest = strings.TrimLeftFunc(rest, pictured)
		return len(s) - len(rest), mark
	}
	return len(s), false
}

// attached reports what clients write for a part that is no text: "[image: a dog]".
func attached(s string) bool {
	i := 1
	for i < len(s) && letter(s[i]) {
		i++
	}
	return i > 1 && i+1 < len(s) && s[i] == ':' && s[i+1] == ' '
}

// stops reports whether the full stop behind before ends a sentence.
func stops(before, after string) bool {
	last := before[strings.LastIndexAny(before, " \n\t(")+1:]
	if utf8.RuneCountInString(last) == 1 && last != "I" && unicode.IsUpper([]rune(last)[0]) || abbreviations[lower(last)] {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t\r\n\"'“‘(*_"))
	return !unicode.IsLower(next)
}

// pictured reports emoji and what belongs to them.
func pictured(r rune) bool {
	return r == 0x200D || r == 0xFE0F || r >= 0x1F000 || r >= 0x2600 && r <= 0x27BF
}

var abbreviations = set("mr mrs ms dr prof st vs etc e.g i.e eg ie cf no approx jan feb mar apr jun jul aug sep sept oct nov dec inc ltd u.s a.m p.m")
