package taint

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is one word of a text.
type word struct {
	hash   uint64
	weight uint8
	chars  uint8 // number of code points, at most 255
	single bool  // it is one character of a script without spaces
}

// text is a text in the form that is compared.
type text struct {
	words  []word
	tokens []token
}

// read converts a text to the form that is compared.
func read(s string) text {
	s = plain(s)
	if more := decoded(s); more != "" {
		s += "\n" + plain(more)
	}
	s = withoutStandards(folded(s))
	return text{words: wordsOf(s), tokens: tokensOf(s)}
}

// wordsOf splits lower-case text into words: letters and digits with the dashes and
// underscores between them, a flag with its dashes, and each character of a script
// without spaces. Quotes within a word are removed, so that c""url is curl.
func wordsOf(s string) []word {
	out := make([]word, 0, len(s)/6+1)
	var buf [64]byte
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unspaced(r):
			w := newWord(append(buf[:0], s[i:i+size]...))
			w.weight, w.single = weightUsual, true
			out = append(out, w)
			i += size
		case wordRune(r), r == '-' && beginsOption(s, i):
			w, end := readWord(s, i, buf[:0])
			out = append(out, newWord(w))
			i = end
		default:
			i += size
		}
	}
	return out
}

// readWord reads the word at i into buf, and returns its end.
func readWord(s string, i int, buf []byte) ([]byte, int) {
	for i < len(s) {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case unspaced(r):
			return buf, i
		case wordRune(r):
			buf = append(buf, s[i:i+size]...)
		case r == '-' || r == '_':
			if len(buf) > 0 && buf[0] != '-' && (i+1 == len(s) || !wordByte(s[i+1]) && s[i+1] != s[i]) {
				return buf, i
			}
			buf = append(buf, byte(r))
		case quote(r) && i+size < len(s) && wordContinues(s[i+size:]) && len(buf) > 0:
		default:
			return buf, i
		}
		i += size
	}
	return buf, i
}

// wordContinues reports whether a word continues after a quote, or after two quotes.
func wordContinues(s string) bool {
	return wordByte(s[0]) || quote(rune(s[0])) && len(s) > 1 && wordByte(s[1])
}

func quote(r rune) bool { return r == '\'' || r == '"' || r == '`' || r == '^' || r == '’' }

// beginsOption reports whether the dash at i begins an option.
func beginsOption(s string, i int) bool {
	if i > 0 && (wordByte(s[i-1]) || s[i-1] == '-') {
		return false
	}
	for i < len(s) && s[i] == '-' {
		i++
	}
	return i < len(s) && wordByte(s[i])
}

func wordByte(c byte) bool { return letter(c) || digit(c) || c >= utf8.RuneSelf }

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return letter(byte(r)) || digit(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// unspaced reports whether r is a character of a script without spaces between
// words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func newWord(w []byte) word {
	return word{hash: hash(w), weight: weigh(w), chars: uint8(min(utf8.RuneCount(w), 255))}
}

// hash returns the FNV-1a hash, so that the result for a text is the same in every
// process.
func hash[T string | []byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// gram returns the hash of three words in order.
func gram(w []word) uint64 {
	h := w[0].hash
	h = h*0x9e3779b97f4a7c15 ^ w[1].hash
	return (h^h>>29)*0x9e3779b97f4a7c15 ^ w[2].hash
}

// plain removes disguises that do not depend on the content: escapes, entities,
// percent-encoding, compatibility forms and invisible characters. Case is kept,
// because base64 needs it.
func plain(s string) string {
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	if strings.ContainsAny(s, `\%`) {
		s = unescape(s)
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		s = visible(norm.NFKC.String(s))
	}
	return s
}

// visible removes invisible characters.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r == 'ᅟ', r == 'ᅠ', r == 'ㅤ', r == 'ﾠ', r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
}

// unescape decodes %41, \x41, \u0041 and \n. Other text is kept, except for
// backslashes, which only hide what follows.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			b.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		default:
			i++
			r, size := escaped(s[i:])
			b.WriteRune(r)
			i += size - 1
		}
	}
	return b.String()
}

// escaped reads the escape after a backslash.
func escaped(s string) (r rune, size int) {
	digits := 0
	switch s[0] {
	case 'n', 'r', 't': // in a Windows path it is a letter, but both texts are read in the same way
		return ' ', 1
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	}
	if digits > 0 && len(s) > digits {
		v := rune(0)
		for _, c := range []byte(s[1 : 1+digits]) {
			h := unhex(c)
			if h < 0 {
				return rune(s[0]), 1
			}
			v = v<<4 | rune(h)
		}
		return v, 1 + digits
	}
	return utf8.DecodeRuneInString(s)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

var refang = strings.NewReplacer("hxxp", "http", "[.]", ".", "(.)", ".", "[dot]", ".", "(dot)", ".", "[at]", "@", "[:]", ":", "${ifs}", " ", "$ifs", " ",
	"/usr/bin/env ", "", "/dev/null", "") // the last two are in many scripts

// folded returns plain text in lower case, with disguised addresses restored.
func folded(s string) string {
	s = strings.ToLower(s)
	if strings.ContainsAny(s, "[($x/") {
		s = refang.Replace(s)
	}
	return s
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// minEncoded is the minimum length of base64 that is decoded: it encodes twelve
// characters.
const minEncoded = 16

// decoded returns the decoded base64 and hex in a text, each with a space before it;
// "" if there is none. Only one layer is decoded.
func decoded(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if !base64Byte(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && base64Byte(s[i]) {
			i++
		}
		if word := strings.TrimRight(s[start:i], "="); len(word) >= minEncoded {
			if text, ok := decode(word); ok {
				out.WriteByte(' ')
				out.WriteString(text)
			}
		}
	}
	return out.String()
}

func base64Byte(c byte) bool {
	return letter(c) || digit(c) || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

// decode decodes a word, if the result is text.
func decode(word string) (string, bool) {
	if len(word)%2 == 0 {
		if b, err := hex.DecodeString(word); err == nil && isText(b) {
			return string(b), true
		}
	}
	if len(word)%4 == 1 {
		return "", false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(word)
	return string(b), err == nil && isText(b)
}

// isText reports whether bytes are text. Words can also be valid base64, but then
// the result is rarely printable.
func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
