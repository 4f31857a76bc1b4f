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
		if r.words[to-1].stop != '!' && (r.isPractice(from, to) || r.foreignNorm(from, to) || r.ordersEachTime(from, to)) {
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
		if !w.plain() {
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
		return r.everyDoes(next, to)
	case "everything", "anything":
		return r.everythingDoes(next, to)
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

// everyDoes reports whether the words at i, after "every", say what things of a kind must have or do: "release needs a tag".
func (r *reader) everyDoes(i, to int) bool {
	if r.is(i, "time", "day", "week", "month", "year", "night", "morning", "evening", "now", "of", "the", "good", "done", "set", "right", "in", "that", "this") {
		return false
	}
	for j := i + 1; j < min(to, i+5) && !r.words[j].broken; j++ {
		if duties[r.words[j].low] || r.is(j, "is", "are") && (r.practised(j+1, to) || r.is(j+1, "in", "to")) {
			return true
		}
	}
	return false
}

// everythingDoes is everyDoes after "everything": "goes through review", "new gets a test".
func (r *reader) everythingDoes(i, to int) bool {
	switch r.words[i].low {
	case "goes", "runs", "gets", "lands", "passes", "ships", "comes", "starts":
		return r.has(i+1, to, preposition)
	case "is":
		return r.practised(i+1, to)
	case "else", "that", "in", "on", "under", "with", "new":
		return r.some(i+1, min(to, i+6), func(j int) bool {
			return r.is(j, "goes", "gets", "stays", "needs") || r.is(j, "is") && r.practised(j+1, to)
		})
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
	for r.is(i, "else", "except", "ever") {
		i++
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
	if !fits(r.words[i].low, strings.HasSuffix, "s", "ing") && !r.words[i].entry.is(product) || r.is(i, "worries", "thanks", "news", "plans", "changes", "signs", "issues", "problems") {
		return false
	}
	return r.later(i, to, "after", "before", "during", "without", "until", "unless", "outside")
}

// isExclusiveRule reports whether the words after an "only" at the start of a clause set a rule:
// "only the release bot pushes tags".
func (r *reader) isExclusiveRule(i, to int) bool {
	if i >= to || isFigure(r.words[i].low) || r.is(i, "if", "when", "because", "problem", "thing", "downside", "issue", "question", "then", "after", "one", "a", "an", "then,") {
		return false
	}
	for j := i + 1; j < min(to, i+6) && !r.words[j].broken; j++ {
		if r.is(j, "is", "are") && r.practised(j+1, to) || r.isPresentAct(j, to) {
			return true
		}
		switch r.words[j].low {
		case "push", "merge", "deploy", "get", "go", "goes", "see", "edit", "approve", "release", "write", "touch", "sign", "belong", "belongs", "talks", "signs", "publish", "counts", "count", "ship":
			return j+1 < to
		}
	}
	return false
}

// everyOne reports whether the subject words[at:i] means any of its kind: a bare plural, or
// "a release".
func (r *reader) everyOne(at, i int) bool {
	if i <= at || i-at > 4 {
		return false
	}
	switch w := &r.words[at]; {
	case r.is(at, "a", "an", "every", "each", "any", "all", "new"):
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
	switch r.words[i].low {
	case "until", "till":
		return r.lastsUntil(at, i)
	case "stays", "stay", "remains", "remain":
		return r.staysFixed(at, i, to)
	case "staying", "sticking", "keeping":
		return r.weAreStaying(at, i, to)
	case "allowed", "permitted":
		return r.onlyAllows(at, i)
	case "agreed":
		return r.weAgreed(at, i, to)
	case "left":
		return r.isLeftAlone(i)
	case "approval":
		return r.is(i-1, "for") && r.anyOf(at, i, "goes", "go")
	case "no":
		return i > at && r.words[i-1].low == "so" || i == at && r.bans(i+1, to)
	case "only":
		return r.isRestriction(at, i, to)
	case "are":
		return r.areHandled(at, i, to) || r.saysClosed(at, i, to)
	case "is":
		return r.isHandled(at, i, to) || r.saysClosed(at, i, to)
	case "doesn't", "don't", "never", "not":
		return r.withheld(at, i, to)
	case "instead", "rather": // use spaces instead of tabs
		return r.words[at].entry.is(verb) && r.voice == nobody && r.is(i+1, "of", "than")
	case "insists", "forbids", "demands":
		return i > at && !r.words[i-1].entry.is(function)
	case "insist", "demand":
		return r.words[at].entry.is(plural)
	case "leave", "keep":
		return r.orders(at, i) && r.endsUntouched(to)
	case "most", "more", "longer":
		return r.boundsNumber(at, i, to)
	}
	return r.everyAct(at, i, to)
}

// everyAct reports whether the verb at i says what all things of a kind do: "releases start with a tag", "tests come first".
func (r *reader) everyAct(at, i, to int) bool {
	switch r.words[i].low {
	case "need", "needs", "require", "requires":
		return r.everyOne(at, i) && r.demands(at, i, to)
	case "get", "gets":
		return r.everyOne(at, i) && r.receives(i, to)
	case "start", "begin", "end", "starts", "begins", "ends":
		return r.everyOne(at, i) && r.is(i+1, "with") && !r.has(i, to, calendar)
	case "carry", "carries":
		return r.everyOne(at, i) && (r.is(i+1, "first", "before") || r.has(i+1, min(i+2, to), determiner))
	case "comes", "come":
		return r.everyOne(at, i) && r.is(i+1, "first", "before")
	case "go", "goes":
		return r.takesWay(at, i, to)
	}
	return false
}

// staysFixed reports whether a thing stays as it is, with "stays" at i: "invoices stay in cents", "the gateway stays C++17".
func (r *reader) staysFixed(at, i, to int) bool {
	if i+1 >= to || !r.isNounSubject(at, i) || !r.regulated(at, i) {
		return false
	}
	switch next := &r.words[i+1]; next.low {
	case "on", "below", "under", "within", "above", "out", "off", "frozen", "pinned", "locked", "read-only", "private", "internal", "disabled", "enabled", "as":
		return i+2 < to || !next.entry.is(preposition)
	case "with", "put":
		return true
	case "in", "behind", "inside":
		return r.everyOne(at, i) || r.is(at, "customer", "personal")
	}
	f := r.at(i + 1)
	return f != nil && f.Type != Person
}

// weAreStaying reports whether the clause says what we go on with: "we're staying on Java 17", "we are sticking with REST".
func (r *reader) weAreStaying(at, i, to int) bool {
	if i <= at || i-at > 3 || r.isSingleDate(i, to) || !r.is(at, "we're") && !(r.is(at, "we") && r.is(i-1, "are")) {
		return false
	}
	return r.is(i+1, "on", "with") || r.is(i+1, "to") && !r.is(i, "keeping")
}

// weAgreed reports whether the clause says what was agreed: "we agreed not to log tokens".
func (r *reader) weAgreed(at, i, to int) bool {
	return i == at+1 && r.words[at].entry.is(plural) && r.is(i+1, "not", "that", "to", "on") && !r.isSingleDate(i, to)
}

// onlyAllows reports whether one thing alone is allowed: "the only thing that is allowed to write".
func (r *reader) onlyAllows(at, i int) bool {
	return r.is(i+1, "to", "in") && r.anyOf(at, i, "only") && !r.has(at, i, past)
}

// isLeftAlone reports whether things are left as they are, or alone.
func (r *reader) isLeftAlone(i int) bool {
	return r.is(i-1, "are", "is") && (r.is(i+1, "alone") || r.is(i+1, "as") && r.is(i+3, "are", "is"))
}

// demands reports whether a number or somebody's consent follows the verb at i: "releases need two reviews", "a refund needs a receipt".
func (r *reader) demands(at, i, to int) bool {
	if i+1 >= to {
		return false
	}
	next := &r.words[i+1]
	if r.is(at, "a", "an") && (next.entry.is(determiner) || next.low == "at") {
		return true
	}
	return isFigure(next.low) || consents[next.low] || next.low == "at" && r.is(i+2, "least")
}

// receives reports whether the words after "get" at i say what is done or given, but no age: "PRs get squashed", "refunds get two approvals".
func (r *reader) receives(i, to int) bool {
	return r.practised(i+1, to) || i+1 < to && isFigure(r.words[i+1].low) && !strings.HasPrefix(r.word(i+2), "year")
}

// takesWay reports whether the clause says which way things go: "deploys go through the pipeline", "billing goes first".
func (r *reader) takesWay(at, i, to int) bool {
	singular := i == at+1 && r.is(i, "goes") && !r.words[at].entry.is(function) && !r.words[at].upper
	if i+1 >= to || !singular && !r.everyOne(at, i) {
		return false
	}
	return r.is(i+1, "first") || i+2 < to && r.is(i+1, "out", "through", "via", "into", "under", "behind", "live", "straight")
}

// isHandled reports whether the words after "is" at i say what is done to all things of a kind: "a release is tagged".
func (r *reader) isHandled(at, i, to int) bool {
	return r.is(at, "a") && r.practised(i+1, to) && r.everyOne(at, i)
}

// areHandled reports whether the words after "are" at i say how things are done: "amounts are kept in cents".
func (r *reader) areHandled(at, i, to int) bool {
	if !r.practised(i+1, to) || !r.everyOne(at, i) {
		return false
	}
	return r.anyOf(i+2, to, "only", "as", "never", "not", "instead", "unless", "before") || i+2 < to && r.words[i+2].entry.is(preposition) && r.words[i+2].low != "of"
}

// endsUntouched reports whether a sentence ends with "alone", "untouched" or "as is": "leave the old tables alone".
func (r *reader) endsUntouched(to int) bool {
	return r.is(to-1, "alone", "untouched", "intact") || r.is(to-1, "is") && r.is(to-2, "as")
}

// boundsNumber reports whether "most" or "more" at i bounds what a thing does: "a job takes at most five minutes".
func (r *reader) boundsNumber(at, i, to int) bool {
	atMost := r.is(i, "most") && r.is(i-1, "at")
	noMore := r.is(i, "more", "longer") && r.is(i-1, "no") && r.is(i+1, "than")
	if !atMost && !noMore || !r.numberFollows(i+1, to) {
		return false
	}
	for j := at + 1; j < i; j++ {
		if low := r.words[j].low; bounded[low] {
			return r.everyOne(at, j) || low[0] == 's' && r.regulated(at, j) && r.isNounSubject(at, j)
		}
	}
	return false
}

var bounded = analysis.Set("take takes get gets hold holds allow allows stay stays last have has carry keep retry contain")

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
	if i == at || r.is(i-1, "not", "the", "if") || !r.regulated(at, i) || r.words[at].entry.is(plural|neuter) && !r.words[at].entry.is(determiner) {
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
		return r.is(i-2, "for", "in", "via", "through") || r.is(i-3, "for")
	}
	return r.is(i+1, "in", "on", "from", "by", "via", "through", "for", "after", "to", "with", "when", "over", "inside", "during", "behind", "under") ||
		r.practised(i+1, to) || r.participle(i+1) && i+2 < to && r.words[i+2].entry.is(preposition)
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
	not := r.is(i, "not")
	if i+2 >= to || not && !r.is(i-1, "do", "does") || !r.isNounSubject(at, i) && !(not && r.isNounSubject(at, i-1)) || !r.regulated(at, i) {
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
