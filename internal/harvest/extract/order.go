package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// orders reports whether a sentence says how the agent is to act from now on.
func orders(w []word) bool {
	v, ok := instruction(w)
	return ok && v.reason == ""
}

// instruction recognises a sentence that says how the agent is to act from now on.
func instruction(w []word) (verdict, bool) {
	if low(w, 0) == "please" {
		w = w[1:]
	}
	if len(w) < 2 {
		return verdict{}, false
	}
	likely := verdict{sort: draft.Instruction, confidence: 0.65}
	keeps, asks := lasting.in(w), asksFor.starts(w)
	switch {
	case asks > 0 && keeps == asks:
		return likely, true
	case ordersLasting(w, keeps):
		return verdict{sort: draft.Instruction, confidence: 0.9}, true
	case consults(w), isStanding(w):
		return likely, true
	case forbids.starts(w) > 0 && calms.starts(w) > 0:
		return refused(reasonTalk), true
	case forbids.starts(w) > 0 && (isForNow(w) || needsContext(w, false) || len(w) < 3):
		return refused(reasonRequest), true
	case forbids.starts(w) > 0, (ordersYou.starts(w) > 0 && !needsContext(w[2:], false) || setsStyle(w)) && !isForNow(w):
		return likely, true
	}
	return verdict{}, false
}

// ordersLasting reports whether a sentence is an order that holds "always", "from now on" or the like, which it says at word i.
func ordersLasting(w []word, i int) bool {
	first := w[0].low
	switch {
	case i <= 0:
		return i == 0
	case i == 1 && first == "let's", imperatives[first], manners[first], ordersYou.starts(w) > 0, forbids.starts(w) > 0:
		return true
	}
	return w[i-1].comma && (prepositions[first] || conditions[first]) && ordersAlways(w[i:])
}

// setsStyle reports whether a short order says how things are to be done or written: "keep answers short", "no default
// exports please", "use pnpm, the lock file is its".
func setsStyle(w []word) bool {
	first, last := w[0].low, w[len(w)-1].low
	if len(w) > 14 || !manners[first] && first != "no" || has(w, len(w), pronouns) {
		return false
	}
	switch {
	case first == "no":
		return last == "please" && len(w) > 2 && len(w) <= 10 && !has(w, len(w), copulas) &&
			slices.ContainsFunc(w[1:min(4, len(w))], func(x word) bool { return strings.HasSuffix(x.low, "s") })
	case wordings[w[1].low] && len(w) <= 8, choices.in(w) >= 0, last == "throughout":
		return true
	case first == "keep":
		return len(w) > 2 && (lastingStates[last] || upToDate.in(w) > 0)
	case first == "use":
		n := 1
		for n < len(w) && !w[n-1].comma {
			n++
		}
		return n <= 4 && (n == len(w) || tells(w[n:]))
	}
	return false
}

// lastingStates holds how things are to be kept: "keep staging and production identical".
var (
	lastingStates = analysis.Set("identical consistent sorted alphabetical short small minimal simple flat private separate stateless idempotent stable readable green pinned immutable pure backwards-compatible backward-compatible")
	upToDate      = list("up to date, in sync, in order")
)

// wordings holds what the agent writes every time.
var wordings = analysis.Set("answers replies responses explanations summaries comments commits")

// isForNow reports whether an order is for now only. What stands behind the first comma or dash may be its reason:
// "don't email customers, legal has to agree first".
func isForNow(w []word) bool {
	end := 1
	for end < len(w) && !w[end-1].comma && (w[end].low != "" || w[end].code) {
		end++
	}
	return forNow.in(w[:end]) >= 0 || momentary.in(w[end:]) >= 0 || forNow.in(w[end:]) >= 0 && has(w[end:], len(w), self)
}

// consults reports whether a sentence says when the user wants to be asked, and when not: "If a migration is needed, ask me
// first." "You may deploy to staging without asking."
func consults(w []word) bool {
	if n := mayYou.starts(w); n > 0 {
		return unasked.in(w) > n && !has(w, len(w), pronouns) && forNow.in(w) < 0
	}
	if !conditions[w[0].low] || has(w, len(w), pronouns) || forNow.in(w[:len(w)-1]) >= 0 {
		return false
	}
	for i := 2; i+1 < len(w); i++ {
		if w[i].comma {
			next := w[i+1:]
			n := askMe.starts(next)
			return n > 0 && n == len(next)
		}
	}
	return false
}

// politeRule cuts a polite request to the rule that it asks for: "Could you please always run the linter?", or to what is
// to be remembered. It reports whether the sentence asks for one of these. Other requests stay as they are.
func politeRule(s *sentence) bool {
	n := asksFor.starts(s.words)
	rest := s.words[n:]
	if n == 0 || len(rest) < 3 {
		return false
	}
	verb := rest[0].low
	if k := max(remembers.starts(rest), reminds.starts(rest)); k > 1 && k+2 < len(rest) { // not: "remember that time in Rome"
		if !rest[k].upper && !self[rest[k].low] && rest[k].low != "the" || rest[k-1].low != "that" || needsContext(rest[k:], false) {
			return false
		}
		if reminds.starts(rest) > 0 {
			return s.demand(rest[k].start)
		}
		return s.demand(rest[0].start)
	}
	lasts := ordersAlways(rest) || hereafter.in(rest) > 0 && (imperatives[verb] || manners[verb])
	if n == 2 { // "Would you never eat meat?" may be a question
		lasts = lasts && (manners[verb] || manners[rest[1].low])
	}
	if !lasts || pronouns[low(rest, 2)] || needsContext(rest[1:], false) {
		return false
	}
	return s.demand(rest[0].start)
}

// demand cuts a question to what it asks for, from byte i on. It returns true.
func (s *sentence) demand(i int) bool {
	s.cutTo(i)
	s.cutAt(len(strings.TrimRight(s.text, "?")))
	s.full, s.asks = s.text, false
	return true
}

// ordersAlways reports whether words start with "always" or "never" and a bare verb.
func ordersAlways(w []word) bool {
	verb := low(w, 1)
	return (low(w, 0) == "always" || low(w, 0) == "never") && verb != "be" && !asking[verb] && !isPast(verb) && !strings.HasSuffix(verb, "ing") && !analysis.IsStopWord(verb)
}

// isPast reports whether a verb is in the past tense: "if you never sent …".
func isPast(verb string) bool { return pastForms[verb] || strings.HasSuffix(verb, "ed") }

// imperative reports whether a sentence is an order, that is, starts with a bare verb.
func imperative(w []word) bool {
	i := 0
	for i < len(w) && leadIns[w[i].low] {
		i++
	}
	if i > 0 && w[i-1].low == "please" {
		return true
	}
	if low(w, i) == "if" { // "If it fails, stop."
		for i+1 < len(w) && !w[i].comma {
			i++
		}
		return w[i].comma && (imperatives[low(w, i+1)] || low(w, i+1) == "please")
	}
	i += lasting.starts(w[i:])
	if !imperatives[low(w, i)] || copulas[low(w, i+1)] || low(w, i+1) == "of" || startsWithNoun(w[i:]) { // "change of plan"
		return false
	}
	return !copulas[low(w, i+2)] || analysis.IsStopWord(low(w, i+1)) // "Build 417 is on staging."
}

// startsWithNoun reports whether words that start with an imperative are a statement all the same, in which that
// word is a noun: "Commit messages follow a template." "Deploy to eu-west takes ten minutes."
func startsWithNoun(w []word) bool {
	if len(w) < 3 || !imperativeNouns[w[0].low] {
		return false
	}
	if strings.HasSuffix(low(w, 1), "s") && manyDo[low(w, 2)] && !w[1].comma || w[1].low == "runs" && oneRunOn[low(w, 2)] {
		return true
	}
	for i := 1; i < min(len(w)-1, 8) && !connects[w[i].low] && !w[i-1].comma; i++ {
		if oneDoes[w[i].low] {
			return true
		}
	}
	return false
}

// longestOrder is the maximum number of words of an order with an unknown verb.
const longestOrder = 10

// ordersThing reports whether words are an order with a verb that is in no list: "Scale the workers to 4."
func ordersThing(w []word) bool {
	first := w[0].low
	if len(w) < 3 || len(w) > longestOrder || !objects[w[1].low] || w[0].comma || analysis.IsStopWord(first) || prepositions[first] || notVerbs[first] || fragments[first] || self[first] ||
		verbs[first] || pastForms[first] || strings.HasSuffix(first, "s") || strings.HasSuffix(first, "ed") || strings.HasSuffix(first, "ing") || strings.HasSuffix(first, "ly") {
		return false
	}
	for i := 2; i < len(w); i++ {
		if copulas[w[i].low] || oneDoes[w[i].low] || strings.HasSuffix(w[i].low, "n't") {
			return false
		}
	}
	return true
}

// isStanding reports whether an order holds beyond the moment, though no word such as "always" says so: "stop using
// emojis", "make sure to lint before every commit", "ask before you install anything", "when you change the schema,
// run make gen".
func isStanding(w []word) bool {
	if len(w) > 0 && (w[0].low == "please" || joining[w[0].low]) {
		w = w[1:]
	}
	if len(w) < 3 || isForNow(w) || has(w, len(w), pronouns) {
		return false
	}
	switch first := w[0].low; {
	case first == "stop":
		return habits[w[1].low]
	case first == "make" && w[1].low == "sure":
		return has(w, len(w), repeated)
	case asksBefore(w) > 0:
		n := asksBefore(w)
		return n < len(w) && (w[n].low == "you" && n+1 < len(w) && !analysis.IsStopWord(w[n+1].low) || doings[w[n].low])
	case conditions[first] && w[1].low == "you" && changes[low(w, 2)]:
		for i := 3; i+1 < len(w); i++ {
			if w[i].comma {
				return imperatives[w[i+1].low] || manners[w[i+1].low]
			}
		}
	case imperatives[first] || manners[first]:
		return recurs(w)
	}
	return false
}

// asksBefore returns the number of words up to "before" in an order to ask somebody first: "ask Priya before you touch the
// schema". It is 0 for other words.
func asksBefore(w []word) int {
	if n := askBefore.starts(w); n > 0 {
		return n
	}
	n := askWhom.starts(w)
	if n == 0 {
		return 0
	}
	for i := n + 1; i < min(len(w), n+4); i++ {
		if w[i].low == "before" && !w[i-1].comma {
			return i + 1
		}
	}
	return 0
}

var askWhom = list("ask, ping, consult, check with, talk to, clear it with")

// recurs reports whether an order is for each time that something is done: "run the linter before every commit".
func recurs(w []word) bool {
	for i := 2; i+2 < len(w); i++ {
		if w[i+1].low != "every" && w[i+1].low != "each" {
			continue
		}
		switch w[i].low {
		case "before", "after":
			return true
		case "on", "with", "for", "at":
			return occasions[w[i+2].low]
		}
	}
	return false
}

var occasions = analysis.Set("commit push release merge deploy deployment pr build rebase change migration")

var (
	habits    = analysis.Set("using adding writing putting calling committing rewriting reformatting guessing apologising apologizing touching mocking inventing assuming repeating creating suggesting summarising summarizing")
	repeated  = analysis.Set("every each always never")
	askBefore = list("ask before, ask me before, ask us before, ask first before, check with me before, check with us before, tell me before, tell us before")
	doings    = analysis.Set("installing deploying deleting dropping pushing merging changing touching adding removing running creating upgrading publishing committing renaming")
	changes   = analysis.Set("touch change edit add rename modify delete remove bump release upgrade introduce")
)
