package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// leadIn returns the number of words at the start that only announce what follows: "ok quick context before
// we start". It returns 0 if a sentence does not start so, or if it says what the announcement is about.
func leadIn(w []word) int {
	i := 0
	for i < len(w) && beforeAnnounced[w[i].low] && !w[i].comma {
		i++
	}
	switch n := twoAnnounced.starts(w[i:]); {
	case n > 0:
		i += n
	case announced[low(w, i)] && (i > 0 || w[i].comma):
		i++
	default:
		return 0
	}
	for i < len(w) && !w[i-1].comma && w[i].low != "" {
		if !afterAnnounced[w[i].low] {
			return 0
		}
		i++
	}
	return i
}

var (
	beforeAnnounced = analysis.Set("ok okay so hey hi right alright well first some just a an the little bit of more few couple quick short brief here here's is are for to give you my i'll start with also let me")
	announced       = analysis.Set("context background recap summary intro introduction info notes note things facts rundown overview primer preface")
	twoAnnounced    = list("heads up, head's up, heads-up, brain dump, bit of context, bit of background, before we start, before i start, before you start, before we begin, before we dig in")
	afterAnnounced  = analysis.Set("before we i you start begin dig dive jump get go going in into on to of for with about this that the it here first so can could will help know session task today up work working me us now quickly below as then our my project repo codebase started to should need needs might all")
)

// factAfterRequest returns where a fact about the speaker begins behind a request, or 0: "Update my CV please, I left
// the bank in March." The request ends at a comma or a dash.
func factAfterRequest(w []word) int {
	if len(w) < 5 || requests.starts(w) == 0 && !imperative(w) {
		return 0
	}
	for i := 2; i+2 < len(w); i++ {
		if (self[w[i].low] && w[i].low != "let's" || tells(w[i:])) && (w[i-1].comma || w[i-1].low == "" && !w[i-1].code) {
			from := 0
			for joining[w[from].low] {
				from++
			}
			if orders(w[from:]) || orders(w[from:i]) { // then it is the reason of a rule
				return 0
			}
			return i
		}
	}
	return 0
}

// asksToDo reports whether a request for now begins at word i, behind a fact: "We moved the API to Node 22, please fix the
// Dockerfile." "I live in Linz, so recommend places there."
func asksToDo(w []word, i int) bool {
	asks := w[i].low == "please" || w[i].low == "pls" || w[i].low == "so" && w[i-1].comma
	if !asks || !imperatives[low(w, i+1)] || manners[low(w, i+1)] {
		return false
	}
	fact, request := w[:i], w[i+1:]
	return !conditions[fact[0].low] && !prepositions[fact[0].low] && hasVerb(fact) && !orders(fact) && !imperative(fact) && rules.in(fact) < 0 && !orders(request) && rules.in(request) < 0
}

// tells reports whether words are a statement about a thing or a person that they name: "the full suite takes 40 minutes",
// "Lena owns the ledger".
func tells(w []word) bool {
	named := w[0].low == "the" || w[0].upper || stays[low(w, 1)] && !analysis.IsStopWord(w[0].low)
	if !named || w[0].comma || len(w) < 4 || needsContext(w, false) || has(w, len(w), troubles) {
		return false
	}
	return hasVerb(w)
}

// stays holds verbs that say how a thing is, and not what happens to it.
var stays = analysis.Set("listens runs lives uses sits belongs expects requires")

// restarts reports whether a statement that can be understood on its own begins at word i, behind a semicolon and
// another statement. What follows a rule may be its reason.
func (s *sentence) restarts(i int) bool {
	before, after := s.words[:i], s.words[i:]
	return strings.HasSuffix(strings.TrimRight(s.text[:after[0].start], " "), ";") && len(before) > 2 && len(after) > 2 &&
		hasVerb(before) && hasVerb(after) && after[0].low != "both" && after[0].low != "please" && !imperative(after) && !needsContext(after, false) && !orders(before) && !imperative(before) && rules.in(before) < 0 && lasting.in(before) < 0
}
