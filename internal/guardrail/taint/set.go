package taint

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText is how many bytes of a claim are indexed. That is more than a block ever
// shows of one claim.
const MaxText = 16 << 10

// gramWords is how many words are looked up together; a shorter span is not found.
const gramWords = 3

// Set is an index of untrusted texts. A text takes about a hundred bytes per word. It
// is not safe for concurrent use.
type Set struct {
	texts  []entry
	byID   map[string]int
	grams  map[uint64]int32 // index in places of the first occurrence of three words
	places []place
	tokens map[uint64]int32 // index of the text, by token
}

type entry struct {
	id    string
	words []word
}

// place is an occurrence of three words. next is the index of the next occurrence.
type place struct {
	text, pos int32
	next      int32 // -1 for none
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{byID: map[string]int{}, grams: map[uint64]int32{}, tokens: map[uint64]int32{}}
}

// Len returns the number of texts.
func (s *Set) Len() int { return len(s.texts) }

// Has reports whether a text with this id is in the set.
func (s *Set) Has(id string) bool {
	_, ok := s.byID[id]
	return ok
}

// Words returns the approximate number of words of all texts, for limits.
func (s *Set) Words() int { return len(s.places) + gramWords*len(s.texts) }

// Add adds a text under an id. A second text with the same id is ignored.
func (s *Set) Add(id, untrusted string) {
	if s.Has(id) {
		return
	}
	if len(untrusted) > MaxText {
		untrusted = untrusted[:MaxText]
	}
	t := read(untrusted)
	n := int32(len(s.texts))
	s.byID[id] = int(n)
	s.texts = append(s.texts, entry{id, t.words})
	for i := 0; i+gramWords <= len(t.words); i++ {
		g := gram(t.words[i:])
		first, ok := s.grams[g]
		if !ok {
			first = -1
		}
		s.places = append(s.places, place{n, int32(i), first})
		s.grams[g] = int32(len(s.places) - 1)
	}
	for _, tok := range t.tokens {
		if _, ok := s.tokens[tok.hash]; !ok && tok.sort == sure {
			s.tokens[tok.hash] = n
		}
	}
}

// Match is a text that a call repeats.
type Match struct {
	ID    string
	Chars int // length of the longest repeated span or token, in code points
}

// Check returns the texts that the arguments of a call repeat, the longest span
// first. trusted yields texts of people who may give instructions. It is called only
// if something is repeated, and may be nil. At most 4 MiB of the arguments are read.
func (s *Set) Check(arguments string, trusted iter.Seq[string]) []Match {
	if len(s.texts) == 0 || arguments == "" {
		return nil
	}
	t := read(values(arguments))
	runs, hits := s.runs(t.words), s.hits(t.tokens)
	runs = slices.DeleteFunc(runs, func(r run) bool { return !r.counts(t.words, nil) })
	if len(runs) == 0 && len(hits) == 0 {
		return nil
	}
	if trusted != nil {
		known := learn(&t, runs, hits, trusted)
		runs = slices.DeleteFunc(runs, func(r run) bool { return !r.counts(t.words, known.words) })
		hits = slices.DeleteFunc(hits, func(h hit) bool { return known.names(&h.token) })
	}
	longest := map[int32]int{}
	for _, r := range runs {
		longest[r.text] = max(longest[r.text], r.chars(t.words))
	}
	for _, h := range hits {
		longest[h.text] = max(longest[h.text], h.token.chars)
	}
	var out []Match
	for n, chars := range longest {
		out = append(out, Match{ID: s.texts[n].id, Chars: chars})
	}
	slices.SortFunc(out, func(a, b Match) int {
		if a.Chars != b.Chars {
			return b.Chars - a.Chars
		}
		return s.byID[a.ID] - s.byID[b.ID]
	})
	return out
}

// Requirements for a span; see the package comment. Weights are those of weigh. The
// limits were chosen on the cases in testdata, and checked with the unrelated texts
// of the evaluation data.
const (
	proseWords, proseWeight     = 5, 8
	proseOwn                    = 2 // words that are not ordinary
	commandWords, commandWeight = 3, 5
	singlesPerWord              = 4 // number of characters in a script without spaces that count as a word
)

// maxRun is the maximum length of a span, in words.
const maxRun = 512

// maxPlaces bounds the occurrences with which one span is compared, so that a text
// which repeats itself does not take too long.
const maxPlaces = 16

// run is a span of words that the arguments share with a text.
type run struct {
	text     int32
	from, to int // range in the arguments' words
}

// runs returns the longest spans that the words have in common with each text.
func (s *Set) runs(words []word) (out []run) {
	for i := 0; i+gramWords <= len(words); i++ {
		at, ok := s.grams[gram(words[i:])]
		for tries := 0; ok && at >= 0 && tries < maxPlaces; tries++ {
			p := s.places[at]
			at = p.next
			theirs := s.texts[p.text].words
			if i > 0 && p.pos > 0 && words[i-1].hash == theirs[p.pos-1].hash {
				continue // part of a span that began before
			}
			n := 0
			for n < maxRun && i+n < len(words) && int(p.pos)+n < len(theirs) && words[i+n].hash == theirs[int(p.pos)+n].hash {
				n++
			}
			if n >= gramWords {
				out = append(out, run{p.text, i, i + n})
			}
		}
	}
	return out
}

// counts reports whether a span is significant, without the words that are known.
func (r run) counts(words []word, known []bool) bool {
	n, weight, own, singles, risk := 0, 0, 0, 0, false
	for i := r.from; i < r.to; i++ {
		if known != nil && known[i] {
			continue
		}
		n++
		w := &words[i]
		weight += int(w.weight)
		risk = risk || w.weight == weightRisk
		if w.single {
			singles++
		} else if w.weight >= weightOwn {
			own++
		}
	}
	own += singles / singlesPerWord
	return n >= proseWords && weight >= proseWeight && own >= proseOwn || n >= commandWords && weight >= commandWeight && risk
}

// chars returns the span's length with a space between words.
func (r run) chars(words []word) int {
	n := r.to - r.from - 1
	for _, w := range words[r.from:r.to] {
		n += int(w.chars)
	}
	return n
}

// hit is a token that the arguments and a text have in common.
type hit struct {
	text  int32
	token token
}

func (s *Set) hits(tokens []token) (out []hit) {
	for _, t := range tokens {
		if n, ok := s.tokens[t.hash]; ok {
			out = append(out, hit{n, t})
		}
	}
	return out
}

// known marks what trusted texts say of the arguments.
type known struct {
	words  []bool // by index in the arguments' words
	tokens map[uint64]bool
}

// knownWords is how many words in a row must be in a trusted text to be known. Two
// may be adjacent by chance.
const knownWords = 3

// learn reads the trusted texts for the content of the spans and tokens.
func learn(t *text, runs []run, hits []hit, trusted iter.Seq[string]) known {
	k := known{words: make([]bool, len(t.words)), tokens: map[uint64]bool{}}
	places := map[uint64][]int{} // indices of three words of a span
	for _, r := range runs {
		for i := r.from; i+knownWords <= r.to; i++ {
			g := gram(t.words[i:])
			if have := places[g]; len(have) == 0 || have[len(have)-1] < i {
				places[g] = append(have, i)
			}
		}
	}
	wanted := map[uint64]bool{}
	for _, h := range hits {
		wanted[h.token.hash] = true
		for _, w := range h.token.within {
			wanted[w] = true
		}
	}
	for s := range trusted {
		theirs := read(s)
		for i := 0; i+knownWords <= len(theirs.words); i++ {
			for _, at := range places[gram(theirs.words[i:])] {
				k.words[at], k.words[at+1], k.words[at+2] = true, true, true
			}
		}
		for _, tok := range theirs.tokens {
			if tok.sort != parent && wanted[tok.hash] {
				k.tokens[tok.hash] = true
			}
		}
	}
	return k
}

// names reports whether a token, or something that contains it, was said.
func (k *known) names(t *token) bool {
	return k.tokens[t.hash] || slices.ContainsFunc(t.within, func(w uint64) bool { return k.tokens[w] })
}

// maxArguments bounds what is read of one call's arguments, in bytes. It is the
// maximum size of an answer that is stored.
const maxArguments = 4 << 20

// values returns the content of a call's arguments: the strings of the JSON, the
// numbers and words between them, and the keys at the end. So a command that is split
// over an array is one text. Invalid or truncated JSON is read as far as possible.
func values(arguments string) string {
	if len(arguments) > maxArguments {
		arguments = arguments[:maxArguments]
	}
	trimmed := strings.TrimLeft(arguments, " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' {
		return arguments
	}
	var text, keys strings.Builder
	text.Grow(len(arguments))
	for i := 0; i < len(arguments); {
		c := arguments[i]
		if c != '"' {
			if c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':' {
				c = '\n' // ends a number, but not a span
			}
			text.WriteByte(c)
			i++
			continue
		}
		s, end := literal(arguments[i+1:])
		i += 1 + end
		if isKey(arguments[i:]) {
			keys.WriteByte('\n')
			keys.WriteString(s)
			continue
		}
		text.WriteByte('\n')
		text.WriteString(s)
		text.WriteByte('\n')
	}
	return text.String() + keys.String()
}

// isKey reports whether a string is followed by a colon.
func isKey(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && rest[0] == ':'
}

// literal decodes a JSON string after its opening quote, and returns its end.
func literal(s string) (decoded string, end int) {
	i := strings.IndexAny(s, `"\`)
	switch {
	case i < 0:
		return s, len(s)
	case s[i] == '"':
		return s[:i], i + 1
	}
	var b strings.Builder
	for i = 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i + 1
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
			i++
		default:
			r, size := jsonEscape(s[i+1:])
			b.WriteRune(r)
			i += 1 + size
		}
	}
	return b.String(), len(s)
}

func jsonEscape(s string) (rune, int) {
	switch s[0] {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 1
	case 'u':
		return escaped(s)
	}
	return utf8.DecodeRuneInString(s)
}
