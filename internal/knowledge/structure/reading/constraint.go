package reading

import (
	"iter"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// constraint reports whether the text sets a rule.
func (r *reader) constraint() bool {
	if !r.mayRegulate() {
		return false
	}
	if r.isRuleHeading() {
		return true
	}
	for from, to := range r.statements() {
		if (r.words[to-1].stop != ':' || to < len(r.words)) && r.rules(from, to) {
			return true
		}
	}
	return false
}

// statements yields the bounds of the sentences that are no questions.
func (r *reader) statements() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from, to := r.body, 0; from < len(r.words); from = to {
			if to = r.end(from); r.words[to-1].stop != '?' && !yield(from, to) {
				return
			}
		}
	}
}

// mayRegulate reports whether a claim can set a rule. Accounts of events and text from
// external sources can't, whatever their words are.
func (r *reader) mayRegulate() bool {
	if r.external || len(r.claim.Text) > maxRule || r.claim.Kind.Structural() {
		return false
	}
	return !slices.Contains([]ken.Kind{ken.KindEpisode, ken.KindDocument, ken.KindFinding, ken.KindPlaybook}, r.claim.Kind)
}

// rules reports whether the sentence words[from:to] sets a rule.
func (r *reader) rules(from, to int) bool {
	if r.guesses(from, to) || r.jokes(from, to) || r.retells(from, to) || r.addressesModels(from, to) || r.cites(from, to) {
		return false
	}
	for i := from; i < to; i++ {
		if r.words[i].plain() && (r.regulates(from, i, to) || r.commands(from, i, to)) {
			return true
		}
	}
	return false
}

// commands reports whether word i is a modal verb or another word with which the sentence
// words[from:to] sets a rule.
func (r *reader) commands(from, i, to int) bool {
	switch r.words[i].low {
	case "must", "shall", "mustn't", "shan't":
		return r.must(from, i, to)
	case "may":
		return r.mayOnly(from, i, to) || r.forbidsEverybody(from, i, to)
	case "has", "have":
		return r.hasDuty(from, i, to)
	case "is", "are":
		return r.statesInvariant(from, i, to)
	case "never", "always":
		return r.isStandingOrder(from, i, to)
	case "not", "don't", "dont":
		return r.forbids(from, i, to)
	case "avoid", "ensure":
		return r.voice == user && r.orders(from, i)
	case "should", "can": // but not: you should never have skied it
		return !r.is(i+2, "have") && (r.is(i+1, "never", "always") || r.is(i+1, "only") && r.is(i+2, "be")) && r.regulated(from, i)
	case "forbidden", "prohibited", "disallowed", "mandatory", "compulsory", "off-limits", "verboten", "untersagt", "interdit", "interdite", "prohibido", "prohibida", "obligatoire", "obligatorio":
		return r.holdsNow(from, i) && !r.negated(from, i)
	case "allowed", "permitted":
		return r.holdsNow(from, i) && (r.anyOf(i-2, i, "not", "only", "isn't", "aren't") || r.is(from, "no", "only"))
	case "required":
		return r.isRequired(from, i, to)
	case "no":
		return r.admitsNone(from, i, to)
	case "most", "least":
		return r.is(i-1, "at") && i+1 < to && number(r.words[i+1].low) && r.hasLimit(from, to)
	case "stays", "stay":
		return r.staysWithin(from, i, to)
	case "keep":
		return r.keepsWithin(from, i, to)
	}
	return r.foreign(from, i, to)
}

// mayOnly reports whether the "may" at i permits one thing alone, or forbids one: "workers may only read", "keys may not be shared".
func (r *reader) mayOnly(from, i, to int) bool {
	exclusive := r.is(r.clause(from, i), "only")
	if (exclusive || r.is(i+1, "only") || r.is(i+1, "not") && r.permits(i+2, to)) && r.regulated(from, i) {
		return true
	}
	return exclusive && r.voice == nobody && i+1 < to && r.words[i+1].entry.is(verb)
}

// hasDuty reports whether a thing has to do something, with "has" at i, and not once: "the worker has to log it".
func (r *reader) hasDuty(from, i, to int) bool {
	return r.is(i+1, "to") && !r.is(i+2, "do") && r.isNounSubject(from, i) && r.regulated(from, i) && !r.due(i, to) && !r.negated(from, i) && !r.anyOf(from, i, "if")
}

// holdsNow reports whether the word at i is said of the present, and not between people: "force pushes are forbidden".
func (r *reader) holdsNow(from, i int) bool { return r.voice != person && r.hasPresentVerb(from, i) }

// isRequired reports whether the "required" at i states a requirement: "a review is required for hotfixes".
func (r *reader) isRequired(from, i, to int) bool {
	if r.clause(from, i) != from || !r.holdsNow(from, i) || r.negated(from, i) || !r.adverbFree(i) {
		return false
	}
	return i+1 == to || r.words[i+1].broken || r.is(i+1, "to", "for", "on")
}

// admitsNone reports whether the "no" at i begins a ban: "no deploys without a review", "no emojis please".
func (r *reader) admitsNone(from, i, to int) bool {
	opens := i == from || i == from+1 && r.is(from, "please")
	return opens && r.voice != person && r.later(from-1, to, "without", "please") && !r.has(from, to, auxiliary)
}

// staysWithin reports whether "stays" at i states a limit, or what a thing runs on: "latency stays below 50 ms".
func (r *reader) staysWithin(from, i, to int) bool {
	if i+2 >= to || !r.is(i+1, "on", "below", "under", "within") || r.at(i+2) == nil && !number(r.words[i+2].low) {
		return false
	}
	return r.isNounSubject(from, i) && r.regulated(from, i) && !r.has(from, i, past)
}

// keepsWithin reports whether the "keep" at i asks for a limit: "keep responses under 2 kB", "we keep it below 5".
func (r *reader) keepsWithin(from, i, to int) bool {
	asks := r.orders(from, i) || i > from && r.words[i-1].entry.is(plural)
	return asks && r.voice != person && r.later(i, to, "below", "under", "within") && r.figure(i, to)
}

// jokes reports whether a sentence is a joke.
func (r *reader) jokes(from, to int) bool {
	for i := from; i < to; i++ {
		low := r.words[i].low
		if fits(low, strings.HasPrefix, "haha", "hehe", "hihi", "lol", "jaja", "kkk", "mdr", "ptdr", "rofl", "lmao") || i == to-1 && (low == "honestly" || low == "laughs") {
			return true
		}
	}
	end := len(r.text)
	if to < len(r.words) {
		end = r.words[to].start
	}
	return fits(r.text[r.words[from].start:end], strings.Contains, "哈哈", "(笑", "（笑", "😂", "🤣", "😅", "😉", "😜", ":-)", ";-)", " :)", " ;)", "xD")
}

// fits reports whether one of the parts is in s, as match says.
func fits(s string, match func(s, part string) bool, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return match(s, part) })
}

// retells reports whether a sentence tells what somebody else says repeatedly: "my old
// boss used to say …", "mi madre siempre dice que …".
func (r *reader) retells(from, to int) bool {
	own := false
	for i := from; i < to; i++ {
		w := &r.words[i]
		if w.quoted {
			continue
		}
		switch w.low {
		case "my", "mein", "meine", "mon", "ma", "mi", "meu", "minha", "the", "an", "old":
			own = true
		case "says", "said", "dice", "decía", "sagt", "sagte", "dit", "disait", "diz", "dizia", "saying":
			if own && i < from+8 && !r.named(i-1, i) && r.anyOf(from, i, "my", "mein", "meine", "mon", "ma", "mi", "meu", "minha") {
				return true
			}
		case "say":
			if r.is(i-1, "to") && r.is(i-2, "used") {
				return true
			}
		}
	}
	return false
}

// addressesModels reports whether a sentence tells AI models in general what to do. Nobody
// writes so about their own project.
func (r *reader) addressesModels(from, to int) bool {
	return r.some(from, to-1, func(i int) bool {
		switch r.words[i].low {
		case "ai", "llm", "ki", "ia":
			return r.is(i+1, "agents", "agent", "tools", "assistants", "assistant", "models", "systems", "bots", "agenten", "assistenten")
		case "language":
			return r.is(i+1, "models")
		case "note", "notes", "nota", "notiz", "hinweis", "message", "instruction", "instructions", "system":
			return r.some(i+1, min(to, i+5), func(j int) bool {
				return r.is(j, "ai", "ki", "ia") || fits(r.words[j].low, strings.HasSuffix, "assistant", "assistente", "asistente", "assistenten", "agent")
			})
		case "assistants", "agents", "bots":
			return r.is(i+1, "reading", "processing")
		}
		return false
	})
}

// some reports whether is returns true for one of the words[from:to].
func (r *reader) some(from, to int, is func(i int) bool) bool {
	for i := from; i < to; i++ {
		if is(i) {
			return true
		}
	}
	return false
}

// cites reports whether a sentence is within backquotes, that is, a quoted text or a
// command.
func (r *reader) cites(from, to int) bool {
	a, b := r.words[from].start, r.words[to-1].end
	return a > 0 && r.text[a-1] == '`' && strings.IndexByte(r.text[b:], '`') >= 0 && strings.IndexByte(r.text[a:b], '`') < 0 && to-from > 2
}

// due reports whether the words after i name a day by which something is to be done once.
func (r *reader) due(i, to int) bool {
	return r.some(i, to-1, func(j int) bool {
		return r.is(j, "before", "by", "on") && (r.isSingleDate(j+1, min(to, j+5)) || r.is(j, "before") && r.is(j+1, "that", "then"))
	})
}

// feelings are adjectives of feeling.
var feelings = analysis.Set(`thrilled amazing stunning exciting excited proud happy exhausted exhausting delighted relieved relieving lovely wonderful beautiful
	incredible gorgeous joking kidding delicious scary terrifying frustrating frustrated furious annoying annoyed rewarding inspiring nervous awful terrible
	worried starving freezing crazy insane awesome tough nerve-wracking overwhelming challenging interesting fascinating satisfying weird strange wrong right
	mistaken missing`)

// isRuleHeading reports whether the text announces rules: "The rules are: …".
func (r *reader) isRuleHeading() bool {
	if r.voice != nobody {
		return false
	}
	for i := 0; i < 5 && i+1 < len(r.words); i++ {
		w := &r.words[i]
		switch {
		case w.stop == ':':
			return rulings[w.low] || i > 0 && (w.low == "are" || w.low == "is" || w.low == "apply") && rulings[r.words[i-1].low]
		case w.stop != 0 || w.code || w.quoted:
			return false
		}
	}
	return false
}

// rulings are the words that announce rules.
var rulings = analysis.Set(`rule rules constraint constraints invariant invariants`)

// forbidsEverybody reports whether a sentence says that nobody may do something: "nobody may delete
// a row", "nothing else may write to it".
func (r *reader) forbidsEverybody(from, i, to int) bool {
	if r.voice == person || i+1 >= to || !r.words[i+1].entry.is(verb) && !r.is(i+1, "be") {
		return false
	}
	at := r.clause(from, i)
	for j := at; j < i && j < at+3; j++ {
		if !r.is(j, "and", "but", "so", "that", "because") {
			return r.is(j, "nobody", "nothing", "none", "no")
		}
	}
	return false
}

// statesInvariant reports whether a sentence, with is or are at i, states an invariant of a thing:
// "entries are append-only", "references are always ten characters".
func (r *reader) statesInvariant(from, i, to int) bool {
	if r.voice == person || i <= from || i+1 >= to || !r.regulated(from, i) || r.words[i-1].entry.is(neuter) || r.anyOf(r.clause(from, i), i, "if") || r.has(r.clause(from, i), i, second) {
		return false
	}
	if h := r.words[i-1].entry.head; h > 0 && heads[h-1].typ == Person {
		return false
	}
	next := i + 1
	if r.is(next, "always") && next+1 < to {
		return isFigure(r.words[next+1].low) || r.is(next+1, "exactly") || invariants[r.words[next+1].low]
	}
	return invariants[r.words[next].low] && (r.words[next].stop != 0 || next+1 == to || r.words[next+1].entry.is(preposition)) && !r.words[next].quoted
}

// invariants are properties that something has by a rule.
var invariants = analysis.Set(`append-only read-only write-once immutable insert-only write-only`)

// bans are words that forbid or require what precedes them.
var bans = analysis.Set(`forbidden prohibited disallowed mandatory compulsory off-limits required`)

// isFigure reports whether a word is a number, in digits or letters.
func isFigure(low string) bool { return figures[low] || number(low) }

var figures = analysis.Set("one two three four five six seven eight nine ten eleven twelve zero twenty thirty hundred")

// is reports whether word i is one of lows.
func (r *reader) is(i int, lows ...string) bool {
	return i >= 0 && i < len(r.words) && slices.Contains(lows, r.words[i].low)
}

// anyOf reports whether one of lows is in words[from:to].
func (r *reader) anyOf(from, to int, lows ...string) bool {
	return r.some(max(from, 0), to, func(i int) bool { return slices.Contains(lows, r.words[i].low) })
}

// later reports whether one of lows is after word i.
func (r *reader) later(i, to int, lows ...string) bool { return r.anyOf(i+1, to, lows...) }

// has reports whether words[from:to] has a word of the class.
func (r *reader) has(from, to int, c class) bool {
	return r.some(from, to, func(i int) bool { return r.words[i].entry.is(c) })
}

func (r *reader) negated(from, i int) bool { return r.has(max(from, i-3), i, negative) }

// figure reports whether there is a number after word i.
func (r *reader) figure(i, to int) bool {
	return r.some(i+1, to, func(j int) bool { c := r.text[r.words[j].start]; return c >= '0' && c <= '9' })
}

// clause returns the start of the clause that contains word i.
func (r *reader) clause(from, i int) int {
	for i > from && !r.words[i].broken {
		i--
	}
	return i
}

// guesses reports whether a sentence is a supposition: "I think we must have …".
func (r *reader) guesses(from, to int) bool {
	return r.some(from, min(to, from+4), func(i int) bool {
		return r.is(i, "guess", "suppose", "wonder", "wondering", "maybe", "perhaps", "apparently", "imagine", "supposedly", "bet") ||
			r.is(i, "think", "believe", "assume") && i > from && r.words[i-1].entry.is(first)
	})
}

// must reports whether the modal at i sets a rule. It does not in "must have been", "you
// must be tired" and "I must admit".
func (r *reader) must(from, i, to int) bool {
	at := r.clause(from, i)
	switch {
	case i+1 >= to, r.is(i+1, "have", "feel", "admit", "say", "confess"):
		return false
	case r.is(i-1, "a"), r.is(i-2, "a") && r.is(i-1, "real"): // Lisbon is a must
		return false
	case r.is(i-1, "what", "who"), r.anyOf(from, i, "wants", "wanting"), r.due(i, to):
		return false
	case r.has(at, i, first) && !r.has(at, i, determiner), r.is(i, "shall") && r.has(at, i, plural|first):
		return false
	case i > from && r.words[i-1].entry.is(first|third), r.isGameRule(from, i):
		return false
	case r.is(i+1, "be"):
		return r.voice != person && !r.supposesState(from, i, to)
	}
	return r.voice != person || r.regulated(from, i)
}

// isGameRule reports whether the modal at i is in a rule of a game: "in Scrabble you must …".
func (r *reader) isGameRule(from, i int) bool {
	return r.voice == user && i > from && r.words[i-1].entry.is(second) && r.is(from, "in") && r.words[from+1].upper
}

// supposesState reports whether "must be" at i is a guess or a feeling: "it must be the cache", "you must be tired".
func (r *reader) supposesState(from, i, to int) bool {
	if r.words[to-1].stop == '!' || feelings[r.word(i+2)] {
		return true
	}
	qualified := false // an adjective follows
	if i+2 < to {
		x := &r.words[i+2]
		if x.entry.is(determiner) || x.entry.is(preposition) && !x.broken && r.has(r.clause(from, i), i, neuter) || moods[x.low] {
			return true
		}
		qualified = x.entry.is(adjective)
	}
	if i == from {
		return r.voice != nobody
	}
	subject := &r.words[i-1]
	if r.voice != nobody && (r.words[i].broken || subject.entry.is(neuter)) || subject.entry.is(second) {
		return true
	}
	switch subject.low {
	case "this", "there":
		return true
	case "that":
		return subject.broken || i-1 == from
	case "it":
		return qualified
	}
	return false
}

// moods are words after "must be" in talk about a state: "must be so nice", "that must be fun".
var moods = analysis.Set("so really very that because nice hard tired fun great")

// regulated reports whether the subject before i is one that rules are made for: a thing,
// or "we". Between people it must be a named thing.
func (r *reader) regulated(from, i int) bool {
	at := r.clause(from, i)
	for j := i - 1; j >= at; j-- {
		w := &r.words[j]
		if w.entry.is(first|third) && !w.entry.is(determiner) || w.entry.is(second) && r.voice == person {
			return false
		}
	}
	if i > from && r.words[i-1].entry.is(neuter) && !r.is(i-1, "this") {
		return r.voice == nobody
	}
	thing := r.voice != person
	for k := range r.found {
		if f := &r.found[k]; f.from >= at && f.to <= i {
			if f.Type == Person && f.Name != "user" && !strings.HasSuffix(f.Name, " team") {
				return false
			}
			thing = thing || !f.weak && (f.Type == System || f.Type == Tool || f.Known)
		}
	}
	return thing
}

// isNounSubject reports whether the word before i is a subject that is not a pronoun.
func (r *reader) isNounSubject(from, i int) bool {
	if i <= from {
		return false
	}
	w := &r.words[i-1]
	return !w.entry.is(function) || w.low == "which" || w.low == "that"
}

// hasPresentVerb reports whether the clause before i has a present verb: is, are.
func (r *reader) hasPresentVerb(from, i int) bool {
	at := r.clause(from, i)
	return !r.has(at, i, past|first|third) && r.anyOf(at, i, "is", "are", "isn't", "aren't", "ist", "est", "es", "está")
}

// adverbFree reports whether the word before i does not weaken it, as in "is required".
func (r *reader) adverbFree(i int) bool {
	return i > 0 && !r.words[i-1].entry.is(hedge) && r.words[i-1].low != "longer"
}

// permits reports whether the words at i, or after "be" at i, say what may or may not be
// done: "may not be shared". "May not open" is a supposition.
func (r *reader) permits(i, to int) bool {
	if r.is(i, "be") {
		return r.participle(i + 1)
	}
	return i < to && r.words[i].entry.is(verb) && !r.is(i, "open", "close", "load", "need", "get", "render", "see")
}

// hasLimit reports whether "at most 3" in a sentence is a limit, and not a count of what
// there was.
func (r *reader) hasLimit(from, to int) bool {
	if r.voice == person || r.has(from, to, past|first) {
		return false
	}
	return !r.has(from, to, auxiliary) && !r.has(from, to, finite) && r.voice == nobody || r.anyOf(from, to, "must") || r.orders(from, from) && r.words[from].entry.is(verb)
}

// isConduct reports whether the text says how to behave and not what to do with a thing:
// "always answer in English", "never use emojis", "call me Mo". Such a rule is about
// nothing that a turn could name, so it must apply in every turn.
func (r *reader) isConduct(primary *found) bool {
	if !r.rule || r.voice == person || primary.Known || primary.Type != Unknown || len(r.claim.Entities) > 0 {
		return false
	}
	for from := r.body; from < len(r.words); from = r.end(from) {
		to := r.end(from)
		for i := from; i < to; i++ {
			if behaviours[r.words[i].low] && (r.orders(from, i) || r.forbidden(from, i)) {
				return primary.Confidence <= ByObject || languages[primary.Name] || r.has(i+1, min(i+3, to), first)
			}
		}
	}
	return false
}

// forbidden reports whether the order at i has a "don't", "do not", "never" or "always"
// right before it.
func (r *reader) forbidden(from, i int) bool {
	switch {
	case r.is(i-1, "don't"), r.is(i-1, "never"), r.is(i-1, "always"):
		return r.orders(from, i-1)
	case r.is(i-1, "not") && r.is(i-2, "do"):
		return r.orders(from, i-2)
	}
	return false
}

// behaviours are verbs for what an assistant does in any conversation.
var behaviours = analysis.Set(`answer reply respond write speak talk say ask explain format address greet call translate summarise summarize be use commit apologise
	apologize antworte antworten`)

// languages are the names of human languages.
var languages = analysis.Set(`english german french spanish italian portuguese dutch polish russian ukrainian turkish chinese mandarin japanese korean arabic hebrew hindi
	swedish norwegian danish finnish greek czech hungarian romanian vietnamese deutsch francais espanol englisch`)
