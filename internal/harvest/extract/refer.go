package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// leans reports a sentence that speaks of something that is not named in it, and
// can't be understood without the one before.
//
// Among people "that necklace" is said of what both see, and is let through: with
// an agent it is something that was said before.
func leans(words []word, people bool) bool {
	if len(words) == 0 {
		return true
	}
	first := words[0].low
	if fragments[first] {
		return !mainClause(words)
	}
	if pronouns[first] {
		if first == "this" && settled[low(words, 1)] {
			return false
		}
		return !determiners[first] || !noun(words, 1) || !people && pointing[first]
	}
	// A pronoun further on has been named by then, if there was room for a name.
	named := 0
	for i := range words {
		w := &words[i]
		if standIns[w.low] && !dummies[low(words, i+1)] || i == len(words)-1 && (w.low == "this" || w.low == "that") {
			return named < 2
		}
		if w.upper && i > 0 && !self[w.low] {
			named += 2
		} else if w.low != "" && !analysis.IsStopWord(w.low) && !self[w.low] && !vague[w.low] {
			named++
		}
	}
	return false
}

// vagueQuestion reports a question that speaks of something that is not named in it.
func vagueQuestion(words []word) bool {
	if len(words) > 0 && wondering[words[0].low] {
		words = words[1:] // "which" opens no fragment here
	}
	return leans(words, true)
}

// mainClause reports whether something follows the clause that "although" opens.
func mainClause(words []word) bool {
	for i := 2; i+3 < len(words); i++ {
		if words[i].comma {
			return true
		}
	}
	return false
}

// noun reports whether word i could name what "this" before it points at.
func noun(words []word, i int) bool {
	w := low(words, i)
	return w != "" && !analysis.IsStopWord(w) && !asking[w] && !standIns[w] && !strings.HasSuffix(w, "'s") && w != "of" && w != "not"
}
