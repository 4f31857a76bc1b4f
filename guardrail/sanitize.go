package guardrail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sanitize returns text as readers expect it: valid UTF-8 with plain line ends
// and nothing in it that can't be seen but changes what a model or a terminal
// makes of it.
//
//   - A run of invalid bytes becomes one U+FFFD.
//   - CRLF, CR, NEL and the Unicode line and paragraph separators become LF.
//   - Control characters other than LF and tab go, as do bidirectional overrides,
//     embeddings and isolates, zero-width characters, soft hyphens and the tag
//     characters with which text can be hidden in text.
//   - ZWJ and ZWNJ stay where they shape what is shown: after letters of scripts
//     that join or stack them, and in emoji sequences. Variation selectors stay
//     one at a time.
//
// Emoji flags of regions, which are spelt with tag characters, become a plain
// flag. Text that is clean already is returned as it is, without allocating. A
// second pass changes nothing.
func Sanitize(text string) string {
	i := cleanASCII(text)
	if i == len(text) {
		return text
	}
	var b strings.Builder
	changed := false
	done := 0          // text before it is in b, once something changed
	prev := rune('\n') // the last character that stayed
	if i > 0 {
		prev = rune(text[i-1])
	}
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		repl, same := r, true
		switch {
		case r == utf8.RuneError && size == 1:
			for i+size < len(text) {
				if r, n := utf8.DecodeRuneInString(text[i+size:]); r != utf8.RuneError || n != 1 {
					break
				}
				size++
			}
			same = false
		case r == '\r':
			if repl, same = '\n', false; i+1 < len(text) && text[i+1] == '\n' {
				size = 2
			}
		case r == '\u0085', r == '\u2028', r == '\u2029':
			repl, same = '\n', false
		case drops(r, prev):
			repl, same = -1, false
		}
		if !same {
			if !changed {
				b.Grow(len(text))
				changed = true
			}
			b.WriteString(text[done:i])
			if repl >= 0 {
				b.WriteRune(repl)
			}
			done = i + size
		}
		if repl >= 0 {
			prev = repl
		}
		i += size
	}
	if !changed {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// cleanASCII returns how many bytes at the start of s are ASCII that stays,
// looking at eight at a time.
func cleanASCII(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// A high bit marks a byte that is not ASCII, below 0x20 or 0x7f. A borrow
		// can mark one too many, and line breaks do: those are looked at singly.
		del := w ^ 0x7f*ones
		if (w|(w-0x20*ones)&^w|(del-ones)&^del)&highs == 0 {
			continue
		}
		for j := i; j < i+8; j++ {
			if !plain(s[j]) {
				return j
			}
		}
	}
	for ; i < len(s); i++ {
		if !plain(s[i]) {
			return i
		}
	}
	return i
}

func plain(c byte) bool { return ' ' <= c && c < 0x7f || c == '\n' || c == '\t' }

// drops reports whether r, which follows prev, is taken out.
func drops(r, prev rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f, 0x2070 <= r && r < 0xfe00: // nothing invisible is in there, but most of what people write
		return false
	case r < 0xa0, r == 0xad:
		return true
	case r == '\u200c', r == '\u200d':
		return !joins(prev)
	case 0xfe00 <= r && r <= 0xfe0f:
		return prev < 0xa0 && !('0' <= prev && prev <= '9' || prev == '#' || prev == '*') || selector(prev)
	case 0xe0100 <= r && r <= 0xe01ef:
		return !unicode.Is(unicode.Han, prev)
	case r == 0x200e, r == 0x200f, r == 0x061c:
		return false // directional marks: only a hint, and right-to-left text needs them
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !(0x13430 <= r && r <= 0x1345f)
	}
	return r == '\u180e'
}

func selector(r rune) bool { return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef }

// joins reports whether a joiner behind r can change what is shown.
func joins(r rune) bool {
	if r < 0x600 {
		return r == 0xa9 || r == 0xae
	}
	return r == 0xfe0f || unicode.In(r, unicode.So, unicode.Sk,
		unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Mongolian, unicode.Phags_Pa, unicode.Adlam,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese,
		unicode.Javanese)
}
