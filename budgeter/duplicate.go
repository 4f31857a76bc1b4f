package budgeter

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// shownText holds hashes of the words of the items in the block so far. Case, punctuation and
// articles are ignored.
type shownText struct {
	items []shownItem
	words []uint64 // the words last passed to duplicateOf
	arena []uint64 // the words of items, followed by those that were read last
	taken int      // length of the part of arena that belongs to items
}

// arenas holds the arenas of finished blocks. A block needs about ten kilobytes.
var arenas = sync.Pool{New: func() any { return new([]uint64) }}

type shownItem struct {
	id    string
	words []uint64
}

// read returns the words of an item. They are valid until the next read.
func (s *shownText) read(it *ken.Item) []uint64 {
	s.arena = s.arena[:s.taken]
	if it.Kind != ken.KindDocument { // the heading of a piece of a file begins with its path
		s.arena = appendWords(s.arena, it.Heading)
	}
	s.arena = appendWords(s.arena, it.Text)
	return s.arena[s.taken:]
}

// duplicateOf returns the id of an item that says everything that words say, if there is one, and
// stores words for add. An item does if it has the same words in the same order, or one in ten more
// at most, of which none changes the meaning: numbers, symbols, negations and conditions. A
// replaced word is never the same, so "production" and "staging", or the 15th and the 16th, are
// different statements.
func (s *shownText) duplicateOf(id string, words []uint64) (other string, dup bool) {
	s.words = words
	for i := range s.items {
		if have := &s.items[i]; have.id == id || covers(have.words, words) {
			return have.id, true
		}
	}
	return "", false
}

// add adds the words that were last passed to duplicateOf.
func (s *shownText) add(id string) {
	if inArena := len(s.words) > 0 && len(s.arena) > s.taken && &s.words[0] == &s.arena[s.taken]; inArena {
		s.taken += len(s.words)
	}
	s.items = append(s.items, shownItem{id, s.words[:len(s.words):len(s.words)]})
}

// covers reports whether have says everything that words say.
func covers(have, words []uint64) bool {
	left := len(have) - len(words) // number of words of have that may be missing
	if len(words) == 0 || left < 0 || left*10 > len(have) {
		return false
	}
	for _, h := range have {
		switch {
		case len(words) > 0 && words[0] == h:
			words = words[1:]
		case left == 0 || h&essential != 0 || meaningChangers[h]:
			return false
		default:
			left--
		}
	}
	return len(words) == 0
}

// essential marks a word that must not be missing: it contains a digit, is a symbol, was contracted,
// or is a single character of a script that doesn't separate words.
const essential = 1

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hash(word string) uint64 {
	h := uint64(fnvOffset)
	for _, r := range word {
		h = (h ^ uint64(r)) * fnvPrime
	}
	return h &^ essential
}

// meaningChangers contains words that change the meaning of a statement when they are added.
var meaningChangers = func() map[uint64]bool {
	m := map[uint64]bool{}
	for _, w := range []string{
		"not", "no", "never", "none", "nor", "neither", "nothing", "nobody", "cannot", "without", "except", "unless", "only",
		"until", "before", "after", "if", "when", "while", "but", "than", "more", "less", "least", "most", "non", "former", "formerly",
		"hardly", "rarely", "seldom", "barely", "almost", "nearly", "sometimes", "deprecated", "obsolete", "old", "new", "false",
		"true", "fails", "failed", "was", "were", "will", "should", "must", "may", "might", "can", "could", "or", "and", "by", "from", "to",
		"nicht", "kein", "keine", "keinen", "nie", "ohne", "außer", "nur", "ne", "pas", "jamais", "sans", "sauf", "aucun", "nunca",
		"sin", "excepto", "mai", "senza", "não", "sem", "niet", "geen", "nooit", "zonder", "не", "нет", "без",
	} {
		m[hash(w)] = true
	}
	return m
}()

// articles are always ignored.
var articles = [...]uint64{hash("a"), hash("an"), hash("the")}

func appendWords(dst []uint64, text string) []uint64 {
	h, flag, length := uint64(fnvOffset), uint64(0), 0
	var prev rune // the previous character of the word
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		var kind class
		if r < utf8.RuneSelf {
			kind, r = ascii[r], rune(lower[r])
		} else {
			r, size = utf8.DecodeRuneInString(text[i:])
			if kind = classify(r); kind == letter {
				r = unicode.ToLower(r)
			}
		}
		i += size
		switch kind {
		case digit:
			flag = essential
			fallthrough
		case letter:
			h = (h ^ uint64(r)) * fnvPrime
			length++
			prev = r
			continue
		case inside: // inside a number or a contraction
			if length > 0 {
				after := first(text[i:])
				if r == '\'' || r == '’' {
					if after == letter {
						flag = essential
						continue
					}
				} else if after == digit && '0' <= prev && prev <= '9' {
					h = (h ^ uint64(r)) * fnvPrime
					continue
				}
			}
		case sign: // a minus before a number, or a "not" before a name
			if length == 0 && first(text[i:]) != gap {
				kind = symbol
			}
		}
		if length > 0 {
			dst = appendWord(dst, h&^essential|flag, length)
			h, flag, length = fnvOffset, 0, 0
		}
		if kind == symbol {
			dst = append(dst, (fnvOffset^uint64(r))*fnvPrime|essential)
		}
	}
	if length > 0 {
		dst = appendWord(dst, h&^essential|flag, length)
	}
	return dst
}

func appendWord(dst []uint64, h uint64, length int) []uint64 {
	if length <= 3 {
		for _, a := range articles {
			if h == a {
				return dst
			}
		}
	}
	return append(dst, h)
}

// class is the role of a character in a word.
type class uint8

const (
	gap    class = iota // ends a word
	letter              // part of a word
	digit               // part of a word, which then matters
	symbol              // a word of its own
	inside              // part of a word between digits or letters
	sign                // a symbol at the start of a word
)

var ascii, lower = func() (classes [128]class, lower [128]byte) {
	for c := range byte(128) {
		lower[c] = c
		switch {
		case '0' <= c && c <= '9':
			classes[c] = digit
		case 'a' <= c && c <= 'z':
			classes[c] = letter
		case 'A' <= c && c <= 'Z':
			classes[c], lower[c] = letter, c|0x20
		case c == '<' || c == '>' || c == '=' || c == '+' || c == '%' || c == '$':
			classes[c] = symbol
		case c == '.' || c == ',' || c == ':' || c == '\'':
			classes[c] = inside
		case c == '-' || c == '!':
			classes[c] = sign
		}
	}
	return classes, lower
}()

func classify(r rune) class {
	switch {
	case 0x4e00 <= r && r <= 0x9fff: // the largest part of the next case
		return symbol
	case r == '’':
		return inside
	case unicode.IsPunct(r):
		return gap
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar),
		unicode.IsSymbol(r):
		return symbol
	case unicode.IsDigit(r), unicode.IsNumber(r):
		return digit
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letter
	}
	return gap
}

// first returns the class of the first character of s; gap for an empty s.
func first(s string) class {
	if s == "" {
		return gap
	}
	r, _ := utf8.DecodeRuneInString(s)
	if r < utf8.RuneSelf {
		return ascii[r]
	}
	return classify(r)
}
