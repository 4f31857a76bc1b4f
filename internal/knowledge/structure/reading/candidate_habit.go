package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// isHabit reports whether the words at i, after "we", describe a habit.
func (r *reader) isHabit(i, to int) bool {
	for r.is(i, "all", "also", "generally") {
		i++
	}
	if i >= to {
		return false
	}
	if r.is(i, "only", "strictly", "exclusively") {
		return i+1 < to && r.isBaseVerb(i+1) && !conversational[r.words[i+1].low] && !r.isSingleDate(i, to)
	}
	if act := r.afterNegation(i); act > i {
		return act+1 < to && r.isBaseVerb(act) && !conversational[r.words[act].low] && !unplanned[r.words[act].low]
	}
	if r.isSingleDate(i, to) || i+1 < to && strings.HasSuffix(r.words[i+1].low, "ing") {
		return false
	}
	recurring := r.has(i+1, to, preposition) && !r.has(i+1, to, calendar)
	switch low := r.words[i].low; {
	case principles[low]:
		return i+1 < to
	case low == "keep":
		return recurring && !r.words[i+1].entry.is(determiner) || r.restricts(i+1, to)
	case crafts[low]:
		return recurring || r.restricts(i+1, to)
	case chores[low]:
		return r.anyOf(i+1, to, "instead", "only", "not", "never", "rather", "through", "via", "exclusively", "everywhere", "before", "without")
	case dealings[low]:
		return r.restricts(i+1, to)
	}
	return false
}

// afterNegation returns the index after the negation at i: "don't", "never", "do not", "no longer". It is i if there is none.
func (r *reader) afterNegation(i int) int {
	switch {
	case r.is(i, "don't", "never"):
		return i + 1
	case r.is(i, "do") && r.is(i+1, "not"), r.is(i, "no") && r.is(i+1, "longer"):
		return i + 2
	}
	return i
}

// unplanned are verbs of which "we don't …" says nothing about how things are done.
var unplanned = analysis.Set("remember understand expect agree recall mean live work meet talk speak")

// The verbs after "we" that describe a habit, by what must follow: principles need nothing, crafts a preposition, chores a
// word such as "only" or "instead", dealings a word that restricts them. Without it they only say what happens.
var (
	principles = analysis.Set("stick treat avoid prefer insist")
	crafts     = analysis.Set(`pin write name prefix squash rebase merge sign rotate tag log cap round document version format encrypt redact mask hash commit branch bump
		freeze backport quote validate expose`)
	chores   = analysis.Set("use run store track measure test order go")
	dealings = analysis.Set("release ship deploy review bill charge invoice refund pay publish label leave send put report")
)

// restricts reports whether the words at i, after a verb, or the clause after them restrict what is done: "only", "not",
// "instead". "Every Monday" and "the first" only say when.
func (r *reader) restricts(i, to int) bool {
	end := r.clauseEnd(i, to)
	return r.some(i, min(end+1, to), func(j int) bool {
		switch r.words[j].low {
		case "instead", "only", "not", "never", "rather", "until", "as":
			return true
		case "every", "each":
			return !r.has(j+1, min(j+3, to), calendar) && !periods[r.word(j+1)]
		case "first":
			return !r.words[j-1].entry.is(determiner)
		}
		return false
	})
}

var periods = analysis.Set("quarter night morning afternoon evening hour minute summer winter spring autumn time other few")

// isSingleDate reports whether words[from:to] name a single day or month, and not recurring days.
func (r *reader) isSingleDate(from, to int) bool {
	return r.some(from, to, func(i int) bool {
		w := &r.words[i]
		return w.entry.is(calendar) && (!strings.HasSuffix(w.low, "s") || w.low == "christmas") && !r.is(i, "may", "utc", "am", "pm", "cet", "gmt")
	})
}
