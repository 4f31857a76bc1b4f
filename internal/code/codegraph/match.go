package codegraph

import (
	"strings"
	"unicode"
)

// How well a name fits a term of a search; each step is worth more than everything
// that is added to it.
const (
	matchSubsequence = 30
	matchContains    = 50
	matchAround      = 60 // not the name, but what is around it
	matchWords       = 65 // the beginnings of words: "shvi" in ShelfView
	matchWord        = 70 // the beginning of a word: "view" in ShelfView
	matchPrefix      = 85
	matchFold        = 110
	matchExact       = 120
)

// term is a word of a search.
type term struct {
	text  string // as it was given
	lower string
	mask  uint64 // as names have it
	words uint64 // what names have that have a word with its beginning
}

func newTerm(s string) term {
	t := term{text: s, lower: strings.Map(unicode.ToLower, s)}
	t.mask = maskOf(t.lower)
	if len(t.lower) > 1 {
		t.words = beginning(t.lower)
	}
	return t
}

// fits tells how well a name fits, 0 for not at all.
func (t *term) fits(name string) float64 {
	if name == t.text {
		return matchExact
	}
	low := t.lower
	if len(low) == 1 && len(name) > 1 {
		return 0
	}
	if ascii := t.mask&otherLetter == 0; !ascii {
		name = strings.Map(unicode.ToLower, name)
	}
	if len(low) > len(name) {
		return 0
	}
	share := 10 * float64(len(low)) / float64(len(name)) // what is left of the name counts against it
	switch at, whole := findFold(name, low); {
	case at == 0 && len(low) == len(name):
		return matchFold
	case at == 0:
		return matchPrefix + share
	case at > 0 && whole:
		return matchWord + share
	case wordPrefixes(name, low):
		return matchWords + share/2
	case at > 0 && len(low) >= minUnique:
		return matchContains + share
	case len(low) >= minUnique && startsAndFollows(name, low):
		return matchSubsequence + share
	}
	return 0
}

func fold(c byte) byte {
	if upper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// findFold returns where a text in lower case is in a name: at its beginning, at that of
// a word (whole), or else first; -1 when it is not.
func findFold(name, low string) (at int, whole bool) {
	at = -1
	for i := 0; i+len(low) <= len(name); i++ {
		if fold(name[i]) != low[0] || !foldPrefix(name[i:], low) {
			continue
		}
		if i == 0 || wordStart(name, i) {
			return i, true
		}
		if at < 0 {
			at = i
		}
	}
	return at, false
}

func foldPrefix(name, low string) bool {
	for i := range len(low) {
		if fold(name[i]) != low[i] {
			return false
		}
	}
	return true
}

// wordStart reports whether a word of camelCase or snake_case begins at i.
func wordStart(s string, i int) bool {
	if i == 0 {
		return true
	}
	a, c := s[i-1], s[i]
	switch {
	case a == '_' || a == '-' || a == '.' || a == '/' || a == '$':
		return c != a
	case upper(c):
		return !upper(a) || i+1 < len(s) && lower(s[i+1])
	case c >= '0' && c <= '9':
		return a < '0' || a > '9'
	}
	return false
}

// wordPrefixes reports whether a text is made of beginnings of words of a name, in their
// order, the first word's among them.
func wordPrefixes(name, low string) bool {
	if fold(name[0]) != low[0] || len(low) > 12 {
		return false
	}
	// after is a set: bit k says that k characters can be found up to here.
	after := uint32(1)
	for i := 0; i < len(name); {
		end := i + 1
		for end < len(name) && !wordStart(name, end) {
			end++
		}
		for k := len(low) - 1; k >= 0; k-- {
			if after&(1<<k) == 0 {
				continue
			}
			for n := 0; k+n < len(low) && i+n < end && fold(name[i+n]) == low[k+n]; n++ {
				after |= 1 << (k + n + 1)
			}
		}
		if i == 0 {
			after &^= 1
		}
		i = end
	}
	return after&(1<<len(low)) != 0
}

// startsAndFollows reports whether a text begins like a name and its characters follow
// in it, in their order.
func startsAndFollows(name, low string) bool {
	if fold(name[0]) != low[0] {
		return false
	}
	k := 0
	for i := 0; i < len(name) && k < len(low); i++ {
		if fold(name[i]) == low[k] {
			k++
		}
	}
	return k == len(low)
}
