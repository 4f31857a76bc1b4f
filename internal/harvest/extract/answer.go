package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// questionTo is the last question of the message before, in a chat of people, in at
// most room characters: an answer such as "For three years." is clear with it. It
// is written behind the answer, without its mark.
func (l *listener) questionTo(s *speech, room int) string {
	if l.toAgent || s.before == nil || s.before.name == s.name {
		return ""
	}
	for i := len(s.before.parts) - 1; i >= 0; i-- {
		q := s.before.parts[i]
		if !q.asks {
			continue
		}
		if q.open(l.present); secret(&q) || vagueQuestion(q.words) || len(q.words) < 3 {
			return "" // it would explain nothing
		}
		text := strings.TrimRight(q.text, "?!. ")
		asked := " (asked by " + s.before.name + ": " + text + ")"
		if characters(text) > maxQuestion || characters(asked) > room {
			return ""
		}
		return asked
	}
	return ""
}

// shortAnswer is the length, in characters, below which the first sentence of a
// reply is more easily found with the question that it answers.
const shortAnswer = 80

// maxQuestion bounds a question that is put behind its answer, in characters.
const maxQuestion = 120

// leastAdded is the weight of the terms that a sentence must bring to be put behind
// the one that it refers to.
const leastAdded = 2

// with is two sentences as one, nil when they don't stand side by side in the
// message, and when the second adds little.
func (s *sentence) with(c *sentence, text string) *sentence {
	if s == nil || s.end > c.start || !strings.HasSuffix(s.full, s.text) || !strings.ContainsAny(s.full[len(s.full)-1:], ".!?") {
		return nil
	}
	if gap := text[s.end:c.start]; squeeze(gap) != "" || strings.Count(gap, "\n") > 1 {
		return nil
	}
	end := strings.Index(c.full, c.text) + len(c.text)
	j := sentence{start: s.start, end: c.end, text: s.text + " " + c.full[:end], item: s.item}
	j.full, j.words = j.text, wordsOf(j.text)
	known, sum := analysis.Terms(s.text), 0.0
	for _, t := range analysis.Terms(c.text) {
		if !vague[t] && !contains(known, t) {
			sum++
		}
	}
	if sum < leastAdded {
		return nil
	}
	return &j
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
