package taint

import (
	"iter"
	"slices"
)

// MaxText is how much of a claim is indexed, in bytes: more than a block ever shows
// of one.
const MaxText = 16 << 10

// A span of three words is looked up; what is shorter is no span.
const gramWords = 3

// Set is what untrusted texts say, ready to be compared. A text costs about a hundred
// bytes a word. It is not safe for concurrent use.
type Set struct {
	texts  []entry
	byID   map[string]int
	grams  map[uint64]int32 // the first place of three words
	places []place
	tokens map[uint64]int32 // text
}

type entry struct {
	id    string
	words []word
}

// place is where three words stand, and the next place where they do.
type place struct {
	text, pos int32
	next      int32 // -1 for none
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{byID: map[string]int{}, grams: map[uint64]int32{}, tokens: map[uint64]int32{}}
}

// Len is the number of texts.
func (s *Set) Len() int { return len(s.texts) }

// Has reports whether a text of this id is in the set.
func (s *Set) Has(id string) bool {
	_, ok := s.byID[id]
	return ok
}

// Words is how many words the texts have together: what bounds are about.
func (s *Set) Words() int { return len(s.places) + gramWords*len(s.texts) }

// Add adds a text under an id. A second text of the same id is left out.
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
	Chars int // code points of the longest span or token repeated
}

// Check returns the texts that the arguments of a call repeat, the longest span
// first. trusted yields what was said by those who may say what to do; it is called
// only when something is repeated at all, and may be nil. Arguments are read up to
// 4 MiB.
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
