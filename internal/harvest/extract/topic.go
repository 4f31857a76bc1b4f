package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/analysis"
)

// maxTopics bounds the topics of a summary.
const maxTopics = 60

// topic is a word of a session by how often people used it.
type topic struct {
	word  string // as it was first written
	count int
	order int
	name  bool
}

// topics are the words that people used and that the summary doesn't have yet:
// names first, then by how often. They are what a later question may ask with.
func topics(d *digest, summary string, room int) string {
	known := map[string]bool{}
	for _, t := range analysis.Terms(summary) {
		known[t] = true
	}
	byTerm := map[string]*topic{}
	var all []*topic
	for i := range d.all {
		s := &d.all[i]
		for k := range s.parts {
			part := &s.parts[k]
			if secret(part) {
				continue
			}
			named := names(part.words, nil)
			for j := range part.words {
				w := &part.words[j]
				if w.low == "" || part.text[0] == '[' || strings.ContainsFunc(w.low, odd) || strings.Contains(w.low, "'") || self[w.low] || analysis.IsStopWord(w.low) || len(w.low) < 3 || len(w.low) > 40 {
					continue
				}
				term := analysis.Stem(w.low)
				if known[term] || vague[term] || imperatives[w.low] {
					continue
				}
				t := byTerm[term]
				if t == nil {
					t = &topic{word: part.text[w.start:w.end], order: len(all)}
					byTerm[term] = t
					all = append(all, t)
				}
				t.count++
				t.name = t.name || named[term]
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *topic) int {
		return cmp.Or(cmp.Compare(b.value(), a.value()), cmp.Compare(a.order, b.order))
	})
	var words []string
	room -= len("Topics: .")
	for _, t := range all {
		w := t.word
		if !t.name {
			w = lower(w)
		}
		if n := characters(w) + 2; n <= room && len(words) < maxTopics {
			words = append(words, w)
			room -= n
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Topics: " + strings.Join(words, ", ") + "."
}

func (t *topic) value() int {
	if t.name {
		return t.count + 2
	}
	return t.count
}

// odd reports characters that no word to search for has.
func odd(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_./'’+#", r)
}
