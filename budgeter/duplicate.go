package budgeter

import (
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// shownText holds the words of the block's items so far, as hashes. Case, punctuation and
// articles are ignored.
type shownText struct {
	items []shownItem
	words []uint64 // under consideration
	arena []uint64 // the words of items, and behind them those that were read last
	taken int      // how much of arena belongs to items
}

type shownItem struct {
	id    string
	words []uint64
}

// read returns the words of an item. They are good until the next read.
func (s *shownText) read(it *ken.Item) []uint64 {
	s.arena = s.arena[:s.taken]
	if it.Kind != ken.KindDocument { // the heading of a file's piece begins with its path
		s.arena = appendWords(s.arena, it.Heading)
	}
	s.arena = appendWords(s.arena, it.Text)
	return s.arena[s.taken:]
}

// already returns the id of the item that says all that these words say, if there
// is one, and considers the words from now on. That is so when they, in their order, are the item's
// own, or leave out one in ten at most and none of those that turn a statement
// round: numbers, symbols, negations and conditions. A word in place of another is
// never the same, so that "production" and "staging", or the 15th and the 16th,
// stay two statements.
func (s *shownText) already(id string, words []uint64) (other string, dup bool) {
	s.words = words
	for i := range s.items {
		if have := &s.items[i]; have.id == id || covers(have.words, words) {
			return have.id, true
		}
	}
	return "", false
}

// add keeps the words that already was last asked about.
func (s *shownText) add(id string) {
	if inArena := len(s.words) > 0 && len(s.arena) > s.taken && &s.words[0] == &s.arena[s.taken]; inArena {
		s.taken += len(s.words)
	}
	s.items = append(s.items, shownItem{id, s.words[:len(s.words):len(s.words)]})
}

// covers reports whether have says all that words say.
func covers(have, words []uint64) bool {
	left := len(have) - len(words) // words of have that may be missing
	if len(words) == 0 || left < 0 || left*10 > len(have) {
		return false
	}
	for _, h := range have {
		switch {
		case len(words) > 0 && words[0] == h:
			words = words[1:]
		case left == 0 || h&matters != 0 || turning[h]:
			return false
		default:
			left--
		}
	}
	return len(words) == 0
}

// matters marks a word that can't be left out: it holds a digit, is a symbol, was
// contracted, or is a single character of a script that doesn't separate words.
const matters = 1

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hash(word string) uint64 {
	h := uint64(fnvOffset)
	for _, r := range word {
		h = (h ^ uint64(r)) * fnvPrime
	}
	return h &^ matters
}

// turning are words that turn a statement round when put into it.
var turning = func() map[uint64]bool {
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

// articles say nothing, wherever they stand.
var articles = [...]uint64{hash("a"), hash("an"), hash("the")}

// appendWords appends the words of text as hashes.
func appendWords(dst []uint64, text string) []uint64 {
	h, flag, length := uint64(fnvOffset), uint64(0), 0
	var prev rune // the last character of the word
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
			flag = matters
			fallthrough
		case letter:
			h = (h ^ uint64(r)) * fnvPrime
			length++
			prev = r
			continue
		case inside: // of a number or a contraction
			if length > 0 {
				after := first(text[i:])
				if r == '\'' || r == '’' {
					if after == letter {
						flag = matters
						continue
					}
				} else if after == digit && '0' <= prev && prev <= '9' {
					h = (h ^ uint64(r)) * fnvPrime
					continue
				}
			}
		case sign: // a minus before a number, a "not" before a name
			if length == 0 && first(text[i:]) != gap {
				kind = symbol
			}
		}
		if length > 0 {
			dst = appendWord(dst, h&^matters|flag, length)
			h, flag, length = fnvOffset, 0, 0
		}
		if kind == symbol {
			dst = append(dst, (fnvOffset^uint64(r))*fnvPrime|matters)
		}
	}
	if length > 0 {
		dst = appendWord(dst, h&^matters|flag, length)
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

// class is what a character does to a word.
type class uint8

const (
	gap    class = iota // ends it
	letter              // is part of it
	digit               // is part of it, and it matters
	symbol              // is a word by itself
	inside              // is part of it between digits or letters
	sign                // is a symbol at the start of a word
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
	case 0x4e00 <= r && r <= 0x9fff: // most of what the next case is for
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

// first classifies the first character of s, and an empty s as a gap.
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
