package guardrail

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Sanitize returns valid UTF-8 with plain line ends, without invisible characters
// that change how a model or a terminal interprets the text.
//
//   - A run of invalid bytes becomes one U+FFFD.
//   - CRLF, CR, NEL and the Unicode line and paragraph separators become LF.
//   - Control characters other than LF and tab are removed, as are bidirectional
//     overrides, embeddings and isolates, zero-width characters, soft hyphens and
//     the tag characters with which text can be hidden in text.
//   - ZWJ and ZWNJ are kept where they change what is shown: after letters of scripts
//     that join or stack them, and in emoji sequences. Single variation selectors
//     are kept.
//
// Emoji flags of regions, which are encoded with tag characters, become a plain
// flag. Clean text is returned unchanged, without allocating. A second pass changes
// nothing.
func Sanitize(text string) string {
	i := cleanASCII(text)
	if i == len(text) {
		return text
	}
	var b strings.Builder
	changed := false
	done := 0          // text before it is in b, if something changed
	prev := rune('\n') // the last character that was kept
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
		case isRemoved(r, prev):
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

// cleanASCII returns the number of bytes at the start of s that are ASCII and kept.
// It checks eight bytes at a time.
func cleanASCII(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// A high bit marks a byte that is not ASCII, below 0x20 or 0x7f. A borrow
		// may mark one byte too many, and line breaks are marked as well, so marked
		// words are checked byte by byte.
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

// isRemoved reports whether r, which follows prev, is removed.
func isRemoved(r, prev rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f, 0x2070 <= r && r < 0xfe00: // this range has no invisible characters, and most of what people write
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

// joins reports whether a joiner after r can change what is shown.
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

// Results of next if there is no character to return.
const (
	atEnd   rune = -1 // the end of the input
	atChunk rune = -2 // the text may continue, which could change the result
)

// next returns the first visible character of s from i on, folded, and the position
// after it. final says that nothing follows s.
func next(s string, i int, final bool) (rune, int) {
	for i < len(s) {
		r, size := fold(s[i:], final)
		if size == 0 {
			return atChunk, i
		}
		i += size
		if r != 0 {
			return r, i
		}
	}
	if !final {
		return atChunk, i
	}
	return atEnd, i
}

// nextSolid is like next, but also skips white space.
func nextSolid(s string, i int, final bool) (rune, int) {
	r, end := next(s, i, final)
	for r == ' ' {
		r, end = next(s, end, final)
	}
	return r, end
}

// fold reads the character at the head of s, which must not be empty. It returns
// its lower-case ASCII look-alike if there is one, ' ' for any white space, and 0
// for an invisible character. A size of 0 means that s may be the start of a longer
// sequence.
func fold(s string, final bool) (r rune, size int) {
	switch c := s[0]; {
	case c == '&' || c == '\\':
		return foldEscape(s, final)
	case c < utf8.RuneSelf:
		return foldRune(rune(c)), 1
	case !final && !utf8.FullRuneInString(s):
		return 0, 0
	}
	r, size = utf8.DecodeRuneInString(s)
	return foldRune(r), size
}

// maxEscape is the maximum length of an escape: &#x0000003c;
const maxEscape = 12

// foldEscape reads an HTML entity or a JSON escape for one of the characters of
// markers. If there is none, it returns the first character of s.
func foldEscape(s string, final bool) (rune, int) {
	if s[0] == '\\' {
		var digits int
		switch {
		case len(s) > 1 && s[1] == '/':
			return '/', 2
		case len(s) > 1 && s[1] == 'u':
			digits = 4
		case len(s) > 1 && s[1] == 'x':
			digits = 2
		case len(s) == 1 && !final:
			return 0, 0
		default:
			return '\\', 1
		}
		hex := s[2:min(len(s), 2+digits)]
		n, err := strconv.ParseUint(hex, 16, 32)
		switch {
		case hex != "" && err != nil:
			return '\\', 1
		case len(hex) < digits && !final:
			return 0, 0
		case len(hex) < digits:
			return '\\', 1
		}
		return foldRune(rune(n)), 2 + digits
	}
	for i := 1; i < len(s) && i < maxEscape; i++ {
		c := s[i]
		switch {
		case c == ';':
			if r := entity(s[1:i]); r != 0 {
				return foldRune(r), i + 1
			}
			return '&', 1
		case c == '#' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z':
		default:
			return '&', 1
		}
	}
	if len(s) < maxEscape && !final {
		return 0, 0
	}
	return '&', 1
}

// entity returns the character for the text between & and ;, or 0 if it is unknown.
func entity(name string) rune {
	if num, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if num != "" && num[0]|0x20 == 'x' {
			num, base = num[1:], 16
		}
		n, err := strconv.ParseUint(num, base, 21)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	switch strings.ToLower(name) {
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "lbrack", "lsqb":
		return '['
	case "rbrack", "rsqb":
		return ']'
	case "sol":
		return '/'
	case "vert", "verbar", "verticalline":
		return '|'
	case "lowbar", "underbar":
		return '_'
	case "nbsp":
		return ' '
	}
	return 0
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		switch {
		case 'A' <= r && r <= 'Z':
			return r | 0x20
		case r > ' ' && r < 0x7f:
			return r
		case r == ' ' || '\t' <= r && r <= '\r':
			return ' '
		}
		return 0
	}
	if b := bracket(r); b != 0 {
		return b
	}
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me), r == 'ᅟ', r == 'ᅠ', r == 'ㅤ', r == 'ﾠ':
		return 0
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	if d := norm.NFKD.Properties(buf[:n]).Decomposition(); d != nil {
		r, _ = utf8.DecodeRune(d)
	}
	r = unicode.ToLower(r)
	if a, ok := lookalikes[r]; ok {
		return a
	}
	return r
}

// bracket returns the ASCII bracket that r looks like, or 0.
func bracket(r rune) rune {
	switch r {
	case '＜', '﹤', '‹', '\u3008', '\u2329', '⟨', '❮', '˂', 'ᐸ', '◁':
		return '<'
	case '＞', '﹥', '›', '\u3009', '\u232a', '⟩', '❯', '˃', 'ᐳ', '▷':
		return '>'
	case '［', '【', '〔', '⟦', '〚', '﹇', '⁅', '❲':
		return '['
	case '］', '】', '〕', '⟧', '〛', '﹈', '⁆', '❳':
		return ']'
	}
	return 0
}

// opens marks the bytes with which a form of an opening bracket can start.
var opens = func() (t [256]bool) {
	for _, r := range "<[&\\＜﹤‹\u3008\u2329⟨❮˂ᐸ◁［【〔⟦〚﹇⁅❲" {
		t[string(r)[0]] = true
	}
	return t
}()

// opener finds the next form of '<' or '[' in s from i on. It returns the bracket,
// its start and its end; 0 and len(s) if there is none.
func opener(s string, i int) (b rune, start, end int) {
	for ; i < len(s); i++ {
		if !opens[s[i]] {
			continue
		}
		if b, size := openerAt(s[i:], true); b != 0 {
			return b, i, i + size
		}
	}
	return 0, len(s), len(s)
}

// openerAt reads an opening bracket at the head of s, whose first byte is marked in
// opens.
func openerAt(s string, final bool) (b rune, size int) {
	switch c := s[0]; {
	case c == '<' || c == '[':
		return rune(c), 1
	case c == '&' || c == '\\':
		b, size = foldEscape(s, final)
	case !final && !utf8.FullRuneInString(s):
	default:
		b, size = utf8.DecodeRuneInString(s)
		b = bracket(b)
	}
	switch {
	case size == 0:
		return atChunk, 0
	case b == '<' || b == '[':
		return b, size
	}
	return 0, 0
}

// lookalikes maps characters to similar ASCII characters where compatibility
// decomposition does not. It has the letters, bars, slashes and dashes of the
// markers, in lower case.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ɡ': 'g', 'һ': 'h', 'н': 'h', 'і': 'i', 'ı': 'i',
	'ј': 'j', 'к': 'k', 'ӏ': 'l', 'ǀ': 'l', 'м': 'm', 'ո': 'n', 'о': 'o', 'օ': 'o', 'р': 'p', 'ԛ': 'q',
	'ѕ': 's', 'т': 't', 'ԝ': 'w', 'х': 'x', 'у': 'y',
	'α': 'a', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'n', 'ο': 'o', 'ρ': 'p', 'τ': 't',
	'│': '|', '∣': '|', '⁄': '/', '∕': '/', '⧸': '/', '▁': '_', '‐': '-', '–': '-', '—': '-', '−': '-',
}
