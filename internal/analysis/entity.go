package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEntity is the maximum length of a name in runes; a longer text is a
// sentence.
const maxEntity = 120

// Entity returns the name of a thing in the form in which names are compared. It
// is case-folded, with single spaces between words; hyphens and underscores count
// as spaces. A leading article, a trailing possessive and surrounding marks are
// removed. "The Payments-Service" and "payments_service" are the same; so are
// "C++" and "c++". Slashes and dots are kept, because paths and versions are
// names too. It returns "" if nothing is left, or if the name is too long.
func Entity(name string) string {
	if isPlain(name) && len(name) <= maxEntity { // most names: nothing below would change them
		return strings.Clone(name)
	}
	var buf [64]byte
	folded := string(fold(buf[:0], name))
	words := strings.FieldsFunc(folded, func(r rune) bool {
		return r == '-' || r == '_' || r == '‐' || r == '‑' || r == '–' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
	for i := range words {
		words[i] = bare(words[i])
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	for n := len(words); n > 0; n = len(words) {
		if words[n-1] = owner(words[n-1]); words[n-1] != "" {
			break
		}
		words = words[:n-1]
	}
	for len(words) > 1 && articles[words[0]] {
		words = words[1:]
	}
	s := strings.Join(words, " ")
	if utf8.RuneCountInString(s) > maxEntity {
		return ""
	}
	return s
}

// isPlain reports whether a word has only lower-case ASCII letters and digits.
func isPlain(word string) bool {
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// bare returns a word without the marks around it, and without trailing full
// stops.
func bare(w string) string {
	for {
		next := strings.TrimRight(strings.Trim(w, surroundingMarks), ".")
		if next == w {
			return w
		}
		w = next
	}
}

// owner returns the last word of a name without its possessive.
func owner(w string) string {
	for {
		next := bare(strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"))
		if next == w {
			return w
		}
		w = next
	}
}

// surroundingMarks surround a name and are no part of it.
const surroundingMarks = "`\"'“”‘’«»()[]{}<>,;:!?…*|~"

var articles = Set("the a an our my your their its his her this that these those")

// identifier emits text[a:b] as one token, then the segments between its
// connectors.
func (s *scanner) identifier(a, b int, h shape) {
	if a, b = s.trim(a, b); a == b {
		return
	}
	if isInitials(s.text, a, b) {
		letters := strings.ReplaceAll(s.text[a:b], ".", "")
		if e := lookup([]byte(strings.ToLower(letters))); !e.stop || acronym(letters) {
			s.emit(e.stem, a, b)
		}
		return
	}
	if !h.joint {
		s.segment(a, b)
		return
	}
	if !h.quote {
		s.emit(s.folded(a, b), a, b)
	}
	var before byte // the connector before the segment
	for a < b {
		i := a
		for i < b && !splits(s.text[i]) {
			i++
		}
		var after byte
		if i < b {
			after = s.text[i]
		}
		if !minor(s.text[a:i], before, after) {
			if h.quote {
				s.quoted(a, i)
			} else if x, y := s.trim(a, i); x < y {
				s.segment(x, y)
			}
		}
		for i < b && splits(s.text[i]) {
			i++
		}
		a, before = i, after
	}
}

// isInitials reports whether text[a:b] is an abbreviation such as p.m. or U.S.,
// whose last dot is at b.
func isInitials(text string, a, b int) bool {
	if b-a < 3 || (b-a)%2 == 0 || b-a > 9 || b >= len(text) || text[b] != '.' {
		return false
	}
	for i := a; i < b; i++ {
		c := ascii[text[i]&0x7f]
		if text[i] >= 0x80 || (i-a)%2 == 1 && text[i] != '.' || (i-a)%2 == 0 && c != lower && c != upper {
			return false
		}
	}
	return true
}

// splits reports whether a connector separates segments of an identifier. Hyphens
// and underscores separate parts within a segment.
func splits(c byte) bool { return c == '.' || c == '/' || c == '@' || c == ':' }

// minor reports whether a segment is a piece of a version, a decimal or a time,
// which has no meaning alone.
func minor(seg string, before, after byte) bool {
	return len(seg) <= 2 && before != '/' && after != '/' && strings.Trim(seg, "0123456789") == ""
}

// quoted emits a segment that may have an apostrophe: "Mel's" in "Mel's/Ann's".
func (s *scanner) quoted(a, b int) {
	from, to, negated := apostrophe(s.text, a, b)
	if negated {
		s.emit("not", a, b)
	} else if from, to = s.trim(from, to); from < to {
		s.segment(from, to)
	}
}

// segment emits an identifier without connectors, and its parts.
func (s *scanner) segment(a, b int) {
	if !divisible(s.text[a:b]) {
		s.plain(a, b)
		return
	}
	if !s.emitted(a, b) { // not if the last token is the same text
		s.emit(s.folded(a, b), a, b)
	}
	whole := s.emitted(a, b)
	for x := a; x < b; x++ {
		i := x
		for i < b && s.text[i] != '_' && s.text[i] != '-' {
			i++
		}
		s.piece(x, i, whole && i-x == b-a)
		x = i
	}
}

// emitted reports whether the last token is text[a:b].
func (s *scanner) emitted(a, b int) bool {
	n := len(s.out)
	return n > 0 && s.out[n-1].Pos == s.pos && s.out[n-1].Start == a && s.out[n-1].End == b
}

// piece emits the parts of a stretch without separators. Text with many tiny
// parts is a hash or encoded data, and stays one term. done says that the stretch
// was emitted already.
func (s *scanner) piece(a, b int, done bool) {
	text := s.text[:b]
	n := 0
	for x, y := part(text, a); x < y; x, y = part(text, y) {
		n++
	}
	if n < 2 || n > 4 && b-a < 3*n || hasThousands(text[a:]) {
		if !done {
			s.plain(a, b)
		}
		return
	}
	for x, y := part(text, a); x < y; x, y = part(text, y) {
		// A lone character says nothing, unless it is the 7 of 7th.
		if y-x > 1 || x == a && isDigit(text, x) {
			s.plain(x, y)
		}
	}
}

// hasThousands reports whether s is a number with thousands separators.
func hasThousands(s string) bool { return strings.IndexByte(s, ',') > 0 }

// trim removes outer underscores, unless they are doubled as in __init__.
func (s *scanner) trim(a, b int) (int, int) {
	if strings.HasPrefix(s.text[a:b], "__") && strings.HasSuffix(s.text[a:b], "__") && strings.Trim(s.text[a:b], "_") != "" {
		return a, b
	}
	for a < b && s.text[a] == '_' {
		a++
	}
	for a < b && s.text[b-1] == '_' {
		b--
	}
	return a, b
}

// Entities returns names as Entity spells them, each once. It leaves
// out what is not a name, and returns nil if there is no name.
func Entities(names []string) []string {
	var out []string
	for _, n := range names {
		if n = Entity(n); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
