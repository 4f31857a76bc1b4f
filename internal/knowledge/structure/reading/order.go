package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// orders reports whether word i begins a clause. "please", "and", a condition or "I
// want you to" may precede it.
func (r *reader) orders(from, i int) bool {
	j := i - 1
	for j >= from {
		w := &r.words[j]
		switch w.low {
		case "please", "and", "also", "but", "so", "then", "or", "generally", "kindly", "always", "never", "bitte", "just", "again":
			if r.words[j+1].broken && j < i-1 {
				return true
			}
			j--
			continue
		case "to":
			return r.wish(from, j)
		}
		break
	}
	return j < from || r.words[j+1].broken
}

// wish reports whether "I want you to", "I'd like you to", "remember to" or a similar
// phrase is before word j.
func (r *reader) wish(from, j int) bool {
	return j-2 >= from && r.is(j-1, "you") && r.is(j-2, "want", "need", "like", "expect", "ask", "prefer", "tell", "asking", "remind") ||
		j-1 >= from && r.is(j-1, "remember", "sure")
}

// conversational verbs are used in orders that only express kindness or continue a
// conversation.
var conversational = analysis.Set(`mind worry know think forget get give be let stop seen been say ever again even really care have miss hesitate want need had feel like love
	see believe wanna a an the in on to sweat underestimate`)

// isBaseVerb reports whether word i can be a verb in its base form.
func (r *reader) isBaseVerb(i int) bool {
	if i >= len(r.words) {
		return false
	}
	w := &r.words[i]
	n := len(w.low)
	if w.broken || n < 2 || w.code || w.entry.is(function|past|adjective) || w.entry.is(finite) && !w.entry.is(verb|common) {
		return false
	}
	otherForm := n > 4 && fits(w.low, strings.HasSuffix, "ed", "ing", "ly") || w.low[n-1] == 's' && w.low[n-2] != 's'
	return w.entry.is(verb) || !otherForm && !w.upper
}

// isStandingOrder reports whether never or always at i is part of an order or an agreement,
// and not of a report: "never deploy", "we always squash", "secrets are never logged".
func (r *reader) isStandingOrder(from, i, to int) bool {
	next := i + 1
	if r.is(next, "again") || next >= to {
		return false
	}
	if r.orders(from, i) { // "never deploy"
		return r.voice != person && r.isBaseVerb(next) && !conversational[r.words[next].low] && r.ordered(from, i, next)
	}
	never, prev := r.is(i, "never"), &r.words[i-1]
	switch prev.low {
	case "must", "should", "shall":
		return r.regulated(from, i-1)
	case "may", "can":
		return never && r.regulated(from, i-1)
	}
	if r.voice == person {
		return false
	}
	switch {
	case prev.entry.is(plural) && !prev.entry.is(determiner): // we never deploy
		return r.isBaseVerb(next) && !conversational[r.words[next].low]
	case never && (prev.code || prev.path) && r.words[next].entry.is(verb): // `a` and `b` never import `c`
		return true
	case prev.low == "to": // remember to always, I want you to never
		return r.wish(from, i-1)
	case prev.low == "you":
		return r.voice == user && r.anyOf(from, i, "that") && r.anyOf(from, i, "want", "prefer", "like")
	case r.is(i-1, "is", "are", "be"): // secrets are never logged
		return never && r.regulated(from, i-1) && r.participle(next) && !r.negated(from, i) && (i-2 < from || !r.words[i-2].entry.is(neuter|second))
	}
	return false
}

// ordered reports whether word next is the verb of an order: a verb that the rules
// know, or one with an object at the start of a sentence.
func (r *reader) ordered(from, i, next int) bool {
	if r.words[next].entry.is(verb) {
		return true
	}
	return i <= from+1 && next+1 < len(r.words) && !r.words[next+1].broken && r.words[next+1].entry.is(determiner|preposition)
}

// participle reports whether word i is a participle: logged, written.
func (r *reader) participle(i int) bool {
	low := r.word(i)
	return len(low) > 3 && strings.HasSuffix(low, "ed") || irregular[low]
}

var irregular = analysis.Set("written sent kept put stored read run set given taken held built shown overwritten reset rewritten left made done")

// forbids reports whether the negation at i is a prohibition: "do not deploy".
func (r *reader) forbids(from, i, to int) bool {
	at, next := i, i+1
	if r.words[i].low == "not" {
		if !r.is(i-1, "do") {
			return r.is(i-1, "to") && r.voice == user && r.is(i-2, "you") && r.isBaseVerb(next)
		}
		at = i - 1
	}
	if r.is(next, "ever") { // do not ever
		next++
	}
	if next >= to || r.voice == person || !r.isBaseVerb(next) || conversational[r.words[next].low] {
		return false
	}
	if r.orders(from, at) {
		if r.voice == user && next+1 < len(r.words) && !r.words[next+1].broken && r.words[next+1].entry.is(neuter) && !r.words[next+1].entry.is(determiner) { // "don't take it over"
			return false
		}
		idle := r.is(next, "ask", "tell", "laugh", "judge", "bother", "panic", "cry", "shoot", "hate", "@") // "don't ask!", "don't judge me"
		return !idle || r.words[next].stop == 0 && next+1 < to && !r.is(next+1, "me", "us")
	}
	prev := &r.words[at-1]
	return prev.entry.is(plural) && !prev.entry.is(determiner) && r.words[next].entry.is(verb) && r.voice == nobody && r.later(i, to, "without", "before")
}

// regulates reports whether the words at i are a phrase other than a modal verb with
// which records and instructions set a rule: "are not to be shared", "requires the
// sign-off of", "under no circumstances", "we don't let". People also use these
// phrases about themselves, so it is false for talk between people.
func (r *reader) regulates(from, i, to int) bool {
	if r.voice == person {
		return false
	}
	at := r.clause(from, i)
	switch r.words[i].low {
	case "is", "are":
		return r.isToBe(from, at, i)
	case "cannot", "can't":
		return r.isUnalterable(from, i)
	case "requires", "require", "needs", "need":
		return r.requires(from, at, i, to)
	case "under", "in", "on":
		return r.rulesOut(i)
	case "let", "allow", "permit":
		return r.weNever(i)
	case "may":
		return r.mayAtMost(at, i, to)
	case "permitted", "allowed":
		return r.is(i-1, "longer") && r.is(i-2, "no") && r.hasPresentVerb(from, i)
	case "limited":
		return r.is(i+1, "to") && r.hasPresentVerb(from, i) && r.numberFollows(i+2, to)
	case "limits":
		return r.is(i-1, "off") && r.hasPresentVerb(from, i)
	case "whoever", "anybody", "anyone", "everybody", "everyone":
		return i == at && r.voice == nobody && r.obligesWhoever(i, to)
	case "refrain":
		return r.is(i+1, "from") && r.orders(from, i)
	case "no":
		return i == at && r.bansOnDays(i, to) || (i == at || r.is(i-1, "that")) && r.bansUnless(i, to)
	case "keep":
		return r.voice != user && r.orders(from, i) && r.later(i, to, "out")
	}
	return false
}

// isToBe reports whether "is" or "are" at i says what is to be done: "keys are not to be shared", "nothing is ever deleted".
func (r *reader) isToBe(from, at, i int) bool {
	if r.is(i, "is") && r.is(at, "nothing") && r.is(i+1, "ever", "to") {
		return true
	}
	next := i + 1
	if r.is(next, "not") {
		next++
	}
	return r.is(next, "to") && r.is(next+1, "be") && r.participle(next+2) && r.regulated(from, i) && r.isNounSubject(from, i)
}

// isUnalterable reports whether "cannot" at i says that a thing stays as it is: "a booking cannot be changed".
func (r *reader) isUnalterable(from, i int) bool {
	return r.is(i+1, "be") && alterations[r.word(i+2)] && r.regulated(from, i) && r.isNounSubject(from, i)
}

// weNever reports whether "we don't", "we never" or "do not" is before the verb at i: "we don't let the app write".
func (r *reader) weNever(i int) bool {
	return r.voice == nobody && r.is(i-1, "don't", "never", "not") && r.is(i-2, "we", "do")
}

// requires reports whether the verb at i says what is required of a thing: "each release needs to be tagged", "a deploy
// requires two approvals". "The cache needs to be warmed" is a task.
func (r *reader) requires(from, at, i, to int) bool {
	switch {
	case r.is(i+1, "to"):
		return r.is(at, "every", "each", "any") && r.regulated(from, i) && r.isNounSubject(from, i)
	case consents[r.word(i+1)]:
		return true
	}
	counted := r.words[min(i+1, to-1)].entry.is(determiner) || isFigure(r.word(i+1))
	return counted && consents[r.word(i+2)] && r.regulated(from, i)
}

// rulesOut reports whether "under no circumstances", "in no case" or "on no account" is at i.
func (r *reader) rulesOut(i int) bool {
	return r.is(i+1, "no") && (r.is(i+2, "circumstances") || r.is(i, "in") && r.is(i+2, "case") || r.is(i, "on") && r.is(i+2, "account"))
}

// mayAtMost reports whether the "may" at i permits a number at most: "it may be no more than 5", "at most 3 jobs may run".
func (r *reader) mayAtMost(at, i, to int) bool {
	if r.figure(at, i) && (r.is(at, "at") && r.is(at+1, "most") || r.is(at, "no") && r.is(at+1, "more")) {
		return true
	}
	if !r.is(i+1, "be") {
		return false
	}
	return r.is(i+2, "no") && r.is(i+3, "more") && r.is(i+4, "than") && r.numberFollows(i+5, to) ||
		r.is(i+2, "at") && r.is(i+3, "most") && r.numberFollows(i+4, to)
}

// bansOnDays reports whether the "no" at i bans something on recurring days: "no deploys on Fridays".
func (r *reader) bansOnDays(i, to int) bool {
	return r.recurs(i, to) && !r.has(i, to, past|first|auxiliary|finite)
}

// bansUnless reports whether the "no" at i bans something with an exception: "no merge without a review".
func (r *reader) bansUnless(i, to int) bool {
	return i+2 < to && r.later(i+1, to, "unless", "without") && !r.has(i, to, past|first)
}

// obligesWhoever reports whether a sentence says what anybody who does something must
// do: "whoever merges has to …".
func (r *reader) obligesWhoever(i, to int) bool {
	for j := i + 1; j < to; j++ {
		if r.is(j, "must", "needs", "has") {
			return r.is(j, "must") || r.is(j+1, "to")
		}
	}
	return false
}

// recurs reports whether a sentence ends with recurring days: "on Fridays", "at
// weekends". "On Friday" is a single day, which a report may be about.
func (r *reader) recurs(i, to int) bool {
	return to-i >= 4 && r.words[to-2].entry.is(preposition) && r.is(to-1, "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekdays", "weekends", "holidays")
}

// numberFollows reports whether one of the next three words is a number.
func (r *reader) numberFollows(i, to int) bool {
	return r.some(i, min(to, i+3), func(j int) bool { return isFigure(r.words[j].low) })
}

// word returns word i in lower case, "" if it does not exist.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].low
}

// alterations are participles of actions that a thing may be protected from.
var alterations = analysis.Set(`changed edited altered modified deleted removed overwritten reopened reused bypassed skipped undone`)

// consents are things that somebody must give first.
var consents = analysis.Set(`approval sign-off signoff consent permission authorisation authorization approvals sign-offs signoffs`)

// around reports whether one of the words is right before or after word i.
func (r *reader) around(from, i int, lows ...string) bool {
	return i > from && r.is(i-1, lows...) || r.is(i+1, lows...)
}
