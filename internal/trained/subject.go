package trained

import (
	"slices"
	"strconv"

	"github.com/kenlayer/ken/embed/builtin"
)

// Subject returns what a sentence is about: the words under which one would look it up. It returns their
// byte range in text and the probability that they are right, 0 to 1. All are 0 if the sentence probably
// has no word for it. It is safe for concurrent use.
func Subject(text string) (from, to int, likely float64) {
	all := tokensOf(text)
	s, likely, ok := subjectSpan(all)
	if !ok {
		return 0, 0, 0
	}
	return all[s.from].from, all[s.to-1].to, likely
}

// subjectSpan is Subject for tokens. ok is false if the sentence has no word for its subject.
func subjectSpan(all []token) (s span, likely float64, ok bool) {
	spans := spansOf(all)
	if len(spans) == 0 {
		return span{}, 0, false
	}
	best, likely := subjectModel().choose(subjectFeatures(all, spans))
	if best == len(spans) {
		return span{}, 0, false
	}
	return spans[best], likely, true
}

// span is a group of words: tokens[from:to].
type span struct{ from, to int }

// Maximum length of a span, in words and in characters of a script without spaces.
const (
	mostWords      = 4
	mostCharacters = 8
)

// spansOf returns the groups of words that may name the subject of a sentence. They begin and end with a
// content word and contain no punctuation.
func spansOf(all []token) (out []span) {
	for i := range all {
		if !all[i].content() {
			continue
		}
		words, characters := 0, 0
		for j := i; j < len(all) && all[j].kind != mark; j++ {
			if all[j].kind == unspaced {
				characters++
			} else {
				words++
			}
			if words > mostWords || characters > mostCharacters {
				break
			}
			if all[j].content() {
				out = append(out, span{i, j + 1})
			}
		}
	}
	return out
}

// subjectFeatures returns the features of each span: its words and their kinds, its position, and the
// words around it. The last entry has the features of a sentence without a word for its subject.
func subjectFeatures(all []token, spans []span) [][]feature {
	m, err := builtin.Open()
	var row []float32
	if err == nil {
		row = make([]float32, m.Dim())
	}
	at := func(i int, inside func(*token) string) string {
		switch {
		case i < 0:
			return "^"
		case i >= len(all):
			return "$"
		}
		return inside(&all[i])
	}
	form := func(i int) string { return at(i, (*token).word) }
	kindAt := func(i int) string {
		return at(i, func(t *token) string {
			if t.empty {
				return "f"
			}
			return string(t.kind)
		})
	}
	first := slices.IndexFunc(all, func(t token) bool { return t.content() })
	opening := form(0)
	out := make([][]feature, 0, len(spans)+1)
	for _, s := range spans {
		f := &features{list: make([]feature, 0, 64+3*len(row))}
		n, last := s.to-s.from, s.to-1
		kinds, stems := "", ""
		for i := s.from; i < s.to; i++ {
			kinds += kindAt(i)
			stems += all[i].stem + " "
			f.is("in", form(i))
			if i > s.from {
				f.is("in2", form(i-1), form(i))
			}
		}
		l1, l2, r1, r2 := form(s.from-1), form(s.from-2), form(s.to), form(s.to+1)
		place := "begin"
		if s.from != first {
			place = third(s.from, len(all))
			if place == "begin" {
				place = "early"
			}
		}
		sort := "words"
		if all[s.from].kind == unspaced {
			sort = "characters"
		}
		f.is("n", strconv.Itoa(n), sort)
		f.is("kinds", kinds)
		f.is("kinds", kinds, place)
		f.is("place", place, sort)
		f.is("place", strconv.Itoa(min(s.from-first, 6)), sort)
		f.is("stems", stems)
		f.is("head", form(last))
		f.is("start", form(s.from))
		f.is("l1", l1)
		f.is("l1", l1, place)
		f.is("l2", l2, l1)
		f.is("r1", r1)
		f.is("r1", r1, place)
		f.is("r2", r1, r2)
		f.is("lr", l1, r1)
		f.is("lk", kindAt(s.from-1), kindAt(s.to))
		f.is("lk", kindAt(s.from-1), kinds, kindAt(s.to))
		f.is("kr", kinds, kindAt(s.to), kindAt(s.to+1))
		f.is("left", l1, kinds)
		f.is("right", kinds, r1)
		f.is("opens", opening, place)
		f.is("opens", opening, kinds)
		twice := 0
		for i := range all {
			if (i < s.from || i >= s.to) && all[i].stem == all[last].stem {
				twice++
			}
		}
		f.is("again", bucket(twice))
		vector := func(name string, at int) {
			if row == nil || at < 0 || at >= len(all) || all[at].empty || all[at].kind == mark {
				return
			}
			if id, known := m.Vocabulary().ID(all[at].form); known {
				m.Row(row, id)
				f.addVector(1, name, row)
			} else {
				f.is("unknown", name, kinds)
			}
		}
		vector("v", last)
		vector("rv", s.to)
		if n > 1 {
			vector("sv", s.from)
		}
		out = append(out, f.list)
	}
	return append(out, noSubject(all, form))
}

// noSubject returns the features of a sentence without a word for its subject.
func noSubject(all []token, form func(int) string) []feature {
	f := &features{}
	n := 0
	for i := range all {
		switch {
		case all[i].content():
			n++
		case all[i].empty:
			f.is("none has", form(i))
		}
	}
	f.is("none")
	f.is("none of", strconv.Itoa(min(n, 8)))
	f.is("none opens", form(0))
	f.is("none opens", form(0), form(1))
	return f.list
}

// choose returns the index of the most likely alternative, and its probability.
func (m *model) choose(alternatives [][]feature) (best int, likely float64) {
	p := m.shares(alternatives)
	likely = slices.Max(p)
	return slices.Index(p, likely), likely
}
