package forgotten

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Print is the fingerprint of a text: the hashes of its shingles, in order.
type Print struct {
	Words  int      `json:"words"` // of each shingle
	Hashes []uint64 `json:"hashes"`
}

const (
	shingle    = 5  // words per shingle
	leastWords = 3  // minimum number of words for a fingerprint
	whole      = 16 // maximum number of shingles that must all be found
)

// minShingles returns how many shingles must be found to recognize the text: all, or nine tenths
// of a long text. With fewer, a text that differs in one word, and says the same about
// something else, would match.
func (p *Print) minShingles() int {
	if n := len(p.Hashes); n > whole {
		return max(whole, n*9/10)
	}
	return len(p.Hashes)
}

// PrintsOf returns the fingerprints of a text: as it is written, and as encoded in JSON if
// that differs. It returns none for a text of less than three words.
func PrintsOf(key []byte, text string) (out []Print) {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	for _, form := range [][]byte{[]byte(text), quoted} {
		var words []string
		each(form, func(w []byte) { words = append(words, string(w)) })
		if len(words) < leastWords {
			continue
		}
		n := min(shingle, len(words))
		p := Print{Words: n}
		for i := range len(words) - n + 1 {
			if h := HashOf(key, words[i:i+n]...); !slices.Contains(p.Hashes, h) {
				p.Hashes = append(p.Hashes, h)
			}
		}
		if !slices.ContainsFunc(out, func(o Print) bool { return slices.Equal(o.Hashes, p.Hashes) }) {
			out = append(out, p)
		}
	}
	return out
}

// Words calls fn with every word of a text, in lower case, split as for fingerprints. fn
// must not keep the bytes.
func Words(text string, fn func(word []byte)) { each([]byte(text), fn) }

// HashOf returns the keyed hash of something that is compared as a whole.
func HashOf(key []byte, parts ...string) uint64 {
	var buf [256]byte
	b := append(buf[:0], key...)
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// each calls fn with every word of b in lower case. A word is a sequence of letters and
// digits, or one character of a script without spaces. JSON escapes and invalid UTF-8
// separate words. fn must not keep the bytes.
func each(b []byte, fn func(word []byte)) {
	var word []byte
	end := func() {
		if len(word) > 0 {
			fn(word)
			word = word[:0]
		}
	}
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c < utf8.RuneSelf:
			switch {
			case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
				word = append(word, c)
			case 'A' <= c && c <= 'Z':
				word = append(word, c+'a'-'A')
			case c == '\\' && i+1 < len(b):
				end()
				if i++; b[i] == 'u' {
					i += 4
				}
			default:
				end()
			}
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			i += n
			switch {
			case r == utf8.RuneError && n == 1 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
				end()
			case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
				end()
				word = utf8.AppendRune(word, r)
				end()
			default:
				word = utf8.AppendRune(word, unicode.ToLower(r))
			}
		}
	}
	end()
}
