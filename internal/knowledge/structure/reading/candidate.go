package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// likely reports whether the text may set a rule without the usual words for one: it says
// how things are done, not how they were. Examples are "The ledger stays on PostgreSQL 15
// until the audit is over" and "we keep amounts in cents". A person decides whether it is
// one.
func (r *reader) likely() bool {
	if !r.mayRegulate() || r.voice == person {
		return false
	}
	for from, to := range r.statements() {
		if r.words[to-1].stop != '!' && (r.isPractice(from, to) || r.foreignNorm(from, to)) {
			return true
		}
	}
	return false
}

// isPractice reports whether the sentence words[from:to] describes a practice.
func (r *reader) isPractice(from, to int) bool {
	if r.guesses(from, to) || r.supposes(from, to) || r.jokes(from, to) || r.retells(from, to) || r.addressesModels(from, to) || r.cites(from, to) {
		return false
	}
	if r.setsRuleFromNow(from, to) {
		return true
	}
	for i := from; i < to; i++ {
		w := &r.words[i]
		if w.quoted || w.aside || w.code || w.path {
			continue
		}
		at := r.clause(from, i)
		if i == from || w.broken {
			if next := r.clauseEnd(i, to); r.reports(i, next) {
				i = next - 1
				continue
			}
		}
		for at < i && (r.words[at].entry.is(function) && leads[r.words[at].low]) {
			at++
		}
		if i == at && r.opening(i, to) || r.cue(at, i, to) {
			return true
		}
	}
	return false
}

// clauseEnd returns the end of the clause that begins at word i.
func (r *reader) clauseEnd(i, to int) int {
	for i++; i < to && !r.words[i].broken; {
		i++
	}
	return i
}

// leads are words that introduce a clause without being part of it.
var leads = analysis.Set(`and so but also that because since btw fyi well ok okay yes no, here then`)

// supposes reports whether a sentence is about a possibility.
func (r *reader) supposes(from, to int) bool {
	return r.some(from, to, func(i int) bool { return suppositions[r.words[i].low] })
}

var suppositions = analysis.Set(`would could might wouldn't couldn't maybe perhaps probably hope hopefully wish seems seem seemed suppose supposing imagine
	wonder wondering unsure almost sometimes usually often mostly i'd we'd considering whether apparently proposes proposed suggests suggested please
	sorry thanks haha lol if think believe guess feel feels`)

// reports reports whether a sentence is about the past, about the current moment, or about
// the speaker.
func (r *reader) reports(from, to int) bool {
	until := false
	for i := from; i < to; i++ {
		w := &r.words[i]
		if w.quoted || w.aside {
			continue
		}
		switch w.low {
		case "until", "till":
			until = true
		case "today", "yesterday", "tonight", "tomorrow", "currently", "ago", "recently", "already", "still", "yet", "moment", "anymore", "turns", "again", "last", "week", "morning", "afternoon", "weekend", "month", "year":
			if !until {
				return true
			}
		case "been", "being", "going", "trying":
			return true
		case "let's", "lets", "i'll", "we'll", "will", "won't":
			return true
		}
		if w.entry.is(first|third) && !anybodies[w.low] || w.entry.is(second) || w.entry.is(past) && !until && !participles[w.low] {
			return true
		}
	}
	return false
}

// anybodies are words for people in general, and participles are forms of the past that also
// say how things are done.
var anybodies, participles = analysis.Set("nobody anyone everyone everybody people"), analysis.Set("kept built done held left paid read sent made taken given")

// setsRuleFromNow reports whether a sentence has words that make it a rule from now on.
func (r *reader) setsRuleFromNow(from, to int) bool {
	return r.some(from, to, func(i int) bool {
		if r.words[i].quoted {
			return false
		}
		switch r.words[i].low {
		case "now":
			return r.is(i-1, "from") && r.is(i+1, "on")
		case "forward":
			return r.is(i-1, "going") && (i-2 < from || r.words[i-1].broken || r.words[i-1].opens || r.words[i].stop != 0)
		case "notice":
			return r.is(i-1, "further") && r.is(i-2, "until")
		case "rule", "convention", "policy", "law", "contract", "agreement":
			return r.is(i-1, "by") && !r.is(i, "rule") || r.is(i-2, "as") && r.is(i-1, "a") && r.is(i, "rule") ||
				!r.is(i, "law", "contract") && (r.is(i+1, "says") || r.is(i+1, "is") && r.is(i+2, "to", "that"))
		case "exceptions":
			return r.is(i-1, "no")
		case "exception":
			return r.is(i-1, "without")
		case "off-limits", "non-negotiable", "verboten", "hands-off":
			return true
		case "off":
			return r.is(i-1, "hands") && !r.reports(from, to)
		}
		return false
	})
}

// opening reports whether the first word of a clause, at i, sets a rule: every, nothing,
// only, no, we.
func (r *reader) opening(i, to int) bool {
	next := i + 1
	if next >= to {
		return false
	}
	switch r.words[i].low {
	case "every", "each", "any", "all":
		switch r.words[next].low {
		case "time", "day", "week", "month", "year", "night", "morning", "evening", "now", "of", "the", "good", "done", "set", "right", "in", "that", "this":
			return false
		}
		for j := next + 1; j < min(to, next+5); j++ {
			if r.words[j].broken {
				return false
			}
			if duties[r.words[j].low] {
				return true
			}
			if (r.words[j].low == "is" || r.words[j].low == "are") && (r.practised(j+1, to) || r.is(j+1, "in", "to")) {
				return true
			}
		}
	case "everything", "anything":
		switch r.words[next].low {
		case "goes", "runs", "gets", "lands", "passes", "ships", "comes", "starts":
			return r.has(next+1, to, preposition)
		case "is":
			return r.practised(next+1, to)
		case "else", "that", "in", "on", "under", "with", "new":
			for j := next + 1; j < min(to, next+6); j++ {
				if r.words[j].low == "goes" || r.words[j].low == "gets" || r.words[j].low == "stays" || r.words[j].low == "needs" || r.words[j].low == "is" && r.practised(j+1, to) {
					return true
				}
			}
		}
	case "nothing", "nobody", "none":
		return r.isPresentAct(next, to)
	case "no":
		if r.is(next, "one") {
			return r.isPresentAct(next+1, to)
		}
		return r.bans(next, to)
	case "only":
		return r.isExclusiveRule(next, to)
	case "we":
		return r.isHabit(next, to)
	}
	return false
}

// duties are verbs for what things must have or do.
var duties = analysis.Set(`gets get needs need goes go carries carry requires require starts start ends passes uses use has have ships ship waits wait stays stay
	begins begin`)

// practised reports whether word i is a participle of something that people do in one fixed
// way.
func (r *reader) practised(i, to int) bool { return i < to && practices[r.words[i].low] }

var practices = analysis.Set(`kept written named spelled spelt reviewed approved signed squashed merged released rotated rounded tagged versioned prefixed
	quoted redacted masked billed invoiced pinned capped formatted frozen done handled logged encrypted stored sent hashed validated documented recorded
	labelled labeled checked cleared paid measured expressed`)

// isPresentAct reports whether word i is a present verb of something that nobody is to do: goes,
// touches, pushes.
func (r *reader) isPresentAct(i, to int) bool {
	if i >= to {
		return false
	}
	for r.is(i, "else", "except", "ever") {
		if i++; i >= to {
			return false
		}
	}
	return i+1 < to && presentActs[r.words[i].low]
}

var presentActs = analysis.Set(`goes touches pushes merges deploys ships leaves gets edits changes deletes writes enters moves lands releases calls logs
	commits reaches sends talks restarts approves spends opens installs publishes imports accesses runs`)

// bans reports whether the words after a "no" at the start of a sentence forbid something:
// "no merges after four", "no new dependencies".
func (r *reader) bans(i, to int) bool {
	if i >= to || r.words[i].broken {
		return false
	}
	if to = r.clauseEnd(i, to); to-i < 2 || r.has(i, to, auxiliary|finite|past) {
		return false
	}
	if r.is(i, "new") {
		return to-i >= 2 && strings.HasSuffix(r.words[i+1].low, "s")
	}
	low := r.words[i].low
	if !strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ing") && !r.words[i].entry.is(product) || low == "worries" || low == "thanks" || low == "news" || low == "plans" || low == "changes" || low == "signs" || low == "issues" || low == "problems" {
		return false
	}
	for j := i + 1; j < to; j++ {
		switch r.words[j].low {
		case "after", "before", "during", "without", "until", "unless", "outside":
			return true
		}
	}
	return false
}

// isExclusiveRule reports whether the words after an "only" at the start of a clause set a rule:
// "only the release bot pushes tags".
func (r *reader) isExclusiveRule(i, to int) bool {
	if i >= to || isFigure(r.words[i].low) {
		return false
	}
	switch r.words[i].low {
	case "if", "when", "because", "problem", "thing", "downside", "issue", "question", "then", "after", "one", "a", "an", "then,":
		return false
	}
	for j := i + 1; j < min(to, i+6); j++ {
		w := &r.words[j]
		if w.broken {
			return false
		}
		if (w.low == "is" || w.low == "are") && r.practised(j+1, to) || r.isPresentAct(j, to) {
			return true
		}
		switch w.low {
		case "push", "merge", "deploy", "get", "go", "goes", "see", "edit", "approve", "release", "write", "touch", "sign", "belong", "belongs", "talks", "signs", "publish", "counts", "count", "ship":
			return j+1 < to
		}
	}
	return false
}

// isHabit reports whether the words at i, after "we", describe a habit.
func (r *reader) isHabit(i, to int) bool {
	for r.is(i, "all", "also", "generally") {
		i++
	}
	if i >= to {
		return false
	}
	negated := false
	switch r.words[i].low {
	case "only", "strictly", "exclusively":
		return i+1 < to && r.isBaseVerb(i+1) && !conversational[r.words[i+1].low] && !r.isSingleDate(i, to)
	case "don't", "never":
		negated, i = true, i+1
	case "do":
		if r.is(i+1, "not") {
			negated, i = true, i+2
		}
	case "no":
		if r.is(i+1, "longer") {
			negated, i = true, i+2
		}
	}
	if i >= to {
		return false
	}
	low := r.words[i].low
	if negated {
		switch low {
		case "remember", "understand", "expect", "agree", "recall", "mean", "live", "work", "meet", "talk", "speak":
			return false
		}
		return r.isBaseVerb(i) && !conversational[low] && i+1 < to
	}
	if r.isSingleDate(i, to) {
		return false
	}
	if i+1 < to && strings.HasSuffix(r.words[i+1].low, "ing") {
		return false
	}
	switch low {
	case "use", "run", "store", "track", "measure", "test", "order", "go", "stick", "treat", "avoid", "prefer", "insist":
		if low == "stick" || low == "treat" || low == "avoid" || low == "prefer" || low == "insist" {
			return i+1 < to
		}
		return r.anyOf(i+1, to, "instead", "only", "not", "never", "rather", "through", "via", "exclusively", "everywhere", "before", "without")
	case "pin", "write", "name", "prefix", "squash", "rebase", "merge", "sign", "rotate", "tag", "log", "cap", "round", "document", "version", "format", "encrypt", "redact",
		"mask", "hash", "commit", "branch", "bump", "freeze", "backport", "quote", "validate", "expose":
		return r.has(i+1, to, preposition) && !r.has(i+1, to, calendar) || r.restricts(i+1, to)
	case "keep":
		return r.has(i+1, to, preposition) && !r.has(i+1, to, calendar) && !r.words[i+1].entry.is(determiner) || r.restricts(i+1, to)
	case "release", "ship", "deploy", "review", "bill", "charge", "invoice", "refund", "pay", "publish", "label", "leave", "send", "put", "report": // without a word that restricts it, only what happens
		return r.restricts(i+1, to)
	}
	return false
}

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

// everyOne reports whether the subject words[at:i] means any of its kind: a bare plural, or
// "a release".
func (r *reader) everyOne(at, i int) bool {
	if i <= at || i-at > 4 {
		return false
	}
	switch w := &r.words[at]; {
	case w.low == "a" || w.low == "an" || w.low == "every" || w.low == "each" || w.low == "any" || w.low == "all" || w.low == "new":
		return i-at > 1
	case w.entry.is(determiner|first|second|third|neuter|plural) || w.possessive || w.entry.is(function):
		return false
	case w.upper && !w.opens && !w.capitals:
		return false
	}
	for j := at; j < i; j++ {
		if r.words[j].entry.is(function) || j > at && r.words[j].broken {
			return false
		}
	}
	low := r.words[i-1].low
	return len(low) > 3 && strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") || low == "prs" || low == "data" || low == "code" ||
		r.words[i-1].capitals && strings.HasSuffix(r.text[r.words[i-1].start:r.words[i-1].end], "s")
}

// cue reports whether the verb or adverb at word i makes a rule of the clause that begins at
// at.
func (r *reader) cue(at, i, to int) bool {
	w := &r.words[i]
	switch w.low {
	case "until", "till":
		return r.lastsUntil(at, i)
	case "stays", "stay", "remains", "remain":
		if !r.isNounSubject(at, i) || !r.regulated(at, i) || i+1 >= to {
			return false
		}
		switch r.words[i+1].low {
		case "on", "below", "under", "within", "above", "out", "off", "frozen", "pinned", "locked", "read-only", "private", "internal", "disabled", "enabled", "as":
			return i+2 < to || r.words[i+1].entry.class&preposition == 0
		case "with", "put":
			return true
		case "in", "behind", "inside":
			return r.everyOne(at, i) || r.words[at].low == "customer" || r.words[at].low == "personal"
		default: // the gateway stays C++17
			f := r.at(i + 1)
			return f != nil && f.Type != Person
		}
	case "staying", "sticking", "keeping":
		return i > at && i-at <= 3 && (r.words[at].low == "we're" || r.words[at].low == "we" && r.is(i-1, "are")) && (r.is(i+1, "on", "with") || r.is(i+1, "to") && w.low != "keeping") && !r.isSingleDate(i, to)
	case "allowed", "permitted": // the only thing that is allowed to
		return r.is(i+1, "to", "in") && r.anyOf(at, i, "only") && !r.has(at, i, past)
	case "agreed":
		return i == at+1 && r.words[at].entry.is(plural) && r.is(i+1, "not", "that", "to", "on") && !r.isSingleDate(i, to)
	case "left":
		return r.is(i-1, "are", "is") && (r.is(i+1, "as") && r.is(i+3, "are") || r.is(i+1, "as") && r.is(i+3, "is") || r.is(i+1, "alone"))
	case "approval":
		return r.is(i-1, "for") && r.anyOf(at, i, "goes", "go")
	case "no":
		return i > at && r.words[i-1].low == "so" || i == at && r.bans(i+1, to)
	case "only":
		return i > at && r.isRestriction(at, i, to)
	case "need", "needs", "require", "requires", "get", "gets", "take", "takes":
		if !r.everyOne(at, i) || i+1 >= to {
			return false
		}
		next := &r.words[i+1]
		single := r.words[at].low == "a" || r.words[at].low == "an"
		switch {
		case w.low[0] == 'n' || w.low[0] == 'r':
			return isFigure(next.low) || consents[next.low] || single && (next.entry.is(determiner) || next.low == "at") || r.is(i+1, "at") && r.is(i+2, "least")
		case w.low[0] == 'g':
			return r.practised(i+1, to) || isFigure(next.low) && !strings.HasPrefix(r.word(i+2), "year")
		}
		return false
	case "start", "begin", "end", "starts", "begins", "ends":
		return r.everyOne(at, i) && r.is(i+1, "with") && !r.has(i, to, calendar)
	case "carry", "carries", "comes", "come":
		if !r.everyOne(at, i) {
			return false
		}
		return w.low[:3] == "car" && i+1 < to && r.words[i+1].entry.is(determiner) || r.is(i+1, "first", "before")
	case "go", "goes":
		if !r.everyOne(at, i) && !(w.low == "goes" && i == at+1 && !r.words[at].entry.is(function) && !r.words[at].upper) || i+1 >= to {
			return false
		}
		switch r.words[i+1].low {
		case "out", "through", "via", "into", "under", "behind", "live", "first", "straight":
			return i+2 < to || r.is(i+1, "first")
		}
	case "are":
		return r.everyOne(at, i) && r.practised(i+1, to) && (r.anyOf(i+2, to, "only", "as", "never", "not", "instead", "unless", "before") || i+2 < to && r.words[i+2].entry.is(preposition) && r.words[i+2].low != "of") ||
			r.saysClosed(at, i, to)
	case "is":
		return r.saysClosed(at, i, to) || r.words[at].low == "a" && r.everyOne(at, i) && r.practised(i+1, to)
	case "doesn't", "don't", "never":
		return r.withheld(at, i, to)
	case "not":
		return r.is(i-1, "do", "does") && r.withheld(at, i, to)
	case "instead", "rather":
		return r.is(i+1, "of", "than") && r.voice == nobody && r.orders(at, at) && r.words[at].entry.is(verb)
	case "insists", "forbids", "demands":
		return i > at && !r.words[i-1].entry.is(function)
	case "insist", "demand":
		return i > at && r.words[at].entry.is(plural)
	case "leave", "keep":
		return r.voice != person && r.orders(at, i) && (r.is(to-1, "alone", "untouched", "intact") || r.is(to-1, "is") && r.is(to-2, "as"))
	case "most", "more", "longer":
		if !(w.low == "most" && r.is(i-1, "at") || w.low != "most" && r.is(i-1, "no") && r.is(i+1, "than")) || !r.numberFollows(i+1, to) {
			return false
		}
		for j := at + 1; j < i; j++ {
			switch r.words[j].low {
			case "take", "takes", "get", "gets", "hold", "holds", "allow", "allows", "stay", "stays", "last", "have", "has", "carry", "keep", "retry", "contain":
				return r.everyOne(at, j) || r.regulated(at, j) && r.isNounSubject(at, j) && r.words[j].low[0] == 's'
			}
		}
	}
	return false
}

// lastsUntil reports whether the clause describes a state that lasts until something: what stays,
// waits, is frozen.
func (r *reader) lastsUntil(at, i int) bool {
	if i == at || r.words[at].low == "no" && i-at >= 2 {
		return i > at
	}
	for j := at + 1; j < i; j++ {
		if r.words[j].entry.is(past) && r.words[j].low != "kept" && r.words[j].low != "held" {
			return false
		}
		switch r.words[j].low {
		case "stay", "stays", "remain", "remains", "keep", "keeps", "wait", "waits", "hold", "holds":
			return r.isNounSubject(at, j) && r.regulated(at, j) && !r.is(j+1, "open")
		case "is", "are", "be":
			switch r.word(j + 1) {
			case "frozen", "locked", "blocked", "paused", "pinned", "reserved", "read-only", "off", "on", "not", "closed", "kept", "disabled":
				return r.isNounSubject(at, j) && r.regulated(at, j) && (!r.is(j+1, "on") || r.is(j+2, "hold")) && (!r.is(j+1, "closed") || r.everyOne(at, j))
			}
			return false
		}
	}
	return r.is(at, "keep", "hold", "freeze", "stay")
}

// isRestriction reports whether "only" or "for" at word i restricts something: "go out only on
// Tuesdays", "are for admins only".
func (r *reader) isRestriction(at, i, to int) bool {
	if r.is(i-1, "not", "the", "if") || !r.regulated(at, i) || r.words[at].entry.is(plural|neuter) && !r.words[at].entry.is(determiner) {
		return false
	}
	present := false
	for j := at + 1; j < to; j++ {
		switch low := r.words[j].low; low {
		case "happens", "happen", "fails", "fail", "occurs", "occur", "breaks", "crashes", "appears", "appear", "shows", "works", "work", "reproduces", "affects", "hits", "exists", "seen", "costs", "cost", "lasts", "found", "lives", "eats", "drinks":
			return false
		case "is", "are", "goes", "go", "gets", "get", "runs", "run", "ships", "ship", "accepts", "accept", "applies", "apply", "deploys", "deploy", "release", "releases", "merge", "merges", "publish", "start", "starts", "talks", "talk", "leave", "leaves", "read", "write", "writes", "use", "uses":
			present = present || j <= i+1
		}
	}
	if !present {
		return false
	}
	if i+1 >= to || r.words[i+1].broken {
		return r.is(i-2, "for") || r.is(i-3, "for") || r.is(i-2, "in", "via", "through")
	}
	switch r.words[i+1].low {
	case "in", "on", "from", "by", "via", "through", "for", "after", "to", "with", "when", "over", "inside", "during", "behind", "under":
		return true
	}
	return r.practised(i+1, to) || r.participle(i+1) && i+2 < to && r.words[i+2].entry.is(preposition)
}

// saysClosed reports whether the clause says that a thing is frozen, deprecated or reserved.
func (r *reader) saysClosed(at, i, to int) bool {
	if !r.isNounSubject(at, i) || !r.regulated(at, i) {
		return false
	}
	switch r.word(i + 1) {
	case "frozen", "deprecated", "embargoed", "confidential", "untouchable", "sacred", "taboo":
		return true
	case "reserved":
		return r.is(i+2, "for") && !r.figure(i, to) && !r.isSingleDate(i, to)
	case "capped":
		return r.is(i+2, "at")
	case "not":
		return r.is(i+2, "for", "negotiable", "optional") || r.is(i+2, "to") && r.is(i+3, "be")
	case "out":
		return r.is(i+2, "of") && r.is(i+3, "bounds")
	case "supposed", "meant":
		return r.is(i+2, "to") && (r.is(i+3, "stay") || r.is(i+3, "be") && r.is(i+4, "read-only", "private"))
	}
	return false
}

// withheld reports whether the clause, with the negation at i, says what a thing does not do
// on purpose: leave the EU, ship without a review.
func (r *reader) withheld(at, i, to int) bool {
	if i+2 >= to || !r.isNounSubject(at, i) && !(r.is(i, "not") && r.isNounSubject(at, i-1)) || !r.regulated(at, i) {
		return false
	}
	switch r.words[i+1].low {
	case "go", "goes", "leave", "leaves", "belong", "belongs", "touch", "touches", "enter", "enters", "cross", "crosses":
		return true
	case "get", "gets":
		return r.practised(i+2, to) || r.participle(i+2)
	case "ship", "ships", "merge", "merges", "start", "starts", "deploy", "run", "happen", "happens", "land", "lands":
		return r.later(i, to, "without", "until", "before") || r.later(i, to, "on") && r.recurs(i, to)
	}
	return false
}
