package extract

import (
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/trained"
)

// verdict is how a sentence is classified. reason says why it is not a statement; it is "" for a
// statement.
type verdict struct {
	sort       draft.Sort
	confidence float64
	explicit   bool // the speaker asked for it to be remembered
	open       bool // it is a task that is still to be done
	brief      bool // it says in few words what the speaker is
	reason     string
}

// Reasons why a person's sentence is no statement. Draft.Dropped is counted by them.
const (
	reasonQuestion  = "question"
	reasonTalk      = "small talk"
	reasonRequest   = "request"
	reasonUnnamed   = "not self-contained"
	reasonEmpty     = "says little"
	reasonSecret    = "secret"
	reasonSuspect   = "instruction to the memory"
	reasonIf        = "hypothetical"
	reasonLong      = "too long"
	reasonPasted    = "pasted"
	reasonUnread    = "not read" // in the middle of a very long message
	reasonQuoted    = "quotation"
	reasonTrouble   = "trouble of the moment"
	reasonLanguage  = "in a language that is not read"
	reasonCorrected = "corrected later"
	reasonDuplicate = "duplicate"
	reasonLimit     = "limit"
)

func refused(reason string) verdict { return verdict{reason: reason} }

// judge classifies a person's sentence. toAgent says that it is addressed to an agent and not
// to another person.
func judge(s *sentence, toAgent bool) verdict {
	w := s.words
	if len(w) == 0 {
		return refused(reasonEmpty)
	}
	if s.text[0] == '[' || strings.HasSuffix(s.text, ":") { // "[image: …]", or an introduction to the text after it
		return refused(reasonEmpty)
	}
	if hasCredential(s) {
		return refused(reasonSecret)
	}
	if toAgent && leadIn(w) == len(w) {
		return refused(reasonTalk)
	}
	if v, ok := asked(w, toAgent); ok {
		return v
	}
	if toAgent {
		if reason := chatter(s); reason != "" {
			return refused(reason)
		}
	}
	n := asksFor.starts(w) // "I'd appreciate it if you never sent …" is no hypothesis
	if i := hypotheses.in(w); i >= 0 && i < 4 && !(toAgent && isStanding(w)) && !(n > 0 && toAgent && lasting.starts(w[n:]) > 0 && !has(w[n:], 4, pronouns)) {
		return refused(reasonIf)
	}
	if toAgent {
		if i := wishes.in(w); i >= 0 && i < 3 || w[0].low == "if" && has(w, len(w), irreal) {
			return refused(reasonIf)
		}
		if i := hearsay.in(w); i >= 0 && i < 2 && rules.in(w) < 0 && lasting.in(w) < 0 {
			return refused(reasonQuoted)
		}
	}
	if toAgent && (saysWhoIAm(w, s.start == 0) || saysWhoLeft(w) || saysWhatTheyAre(w) || saysWhoOwns(w) || saysWhatIsUsed(w)) {
		return verdict{sort: draft.Fact, confidence: 0.8, brief: true}
	}
	if toAgent {
		if v, ok := instruction(w); ok {
			return v
		}
		if wants.starts(w) > 0 || intends.starts(w) > 0 && !has(w, 4, lingers) || imperative(w) || ordersThing(w) {
			return refused(reasonRequest)
		}
	} else if wants.starts(w) > 0 || imperative(w) && !has(w, len(w), self) || forbids.starts(w) > 0 {
		return refused(reasonTalk) // advice, and wishes
	}
	if other[w[0].low] || !toAgent && has(w, 4, other) && !has(w, len(w), self) && !numbered(s.text) || phatic[w[0].low] && !has(w, 4, self) && !numbered(s.text) {
		return refused(reasonTalk)
	}
	if toAgent && !has(w, len(w), self) && !hasVerb(w) {
		return refused(reasonEmpty)
	}
	v := verdict{sort: draft.Fact, confidence: 0.8, open: toAgent && isLeftToDo(w)}
	for _, k := range sorts {
		if k.sort == draft.Constraint && (has(w, 3, self) || !toAgent || v.open) {
			continue
		}
		if i := k.phrases.in(w); i >= 0 && i < k.within && !negated(w, i) {
			v.sort, v.confidence = k.sort, k.confidence
			break
		}
	}
	if hedges.in(w) >= 0 {
		v.confidence = 0.5
	}
	return v
}

// leftToDo lists phrases for something that has still to be done.
var leftToDo = list(`still need to, still needs, still have to, still has to, still owe, still waiting, still missing, still to do, still open, left to do, not done yet, isn't done, isn't finished, aren't bought, haven't bought,
	haven't written, haven't sent, haven't done, haven't got, haven't started, hasn't started, hasn't been, not started, need to find, has to be loosened, is missing, are missing, what's missing, for later, someone has to, somebody has to, to be done,
	that's mine, is on my list, is pending, are pending, todo, to-do, yet to be, remains to be, is next, before the release, has to go, have to go, must still`)

// isLeftToDo reports whether a sentence says that something has still to be done, and not where something goes each
// time: "Refunds have to go to PayPal."
func isLeftToDo(w []word) bool {
	i := leftToDo.in(w)
	return i >= 0 && (goesTo.starts(w[i:]) == 0 || has(w[i:], len(w)-i, deadlines))
}

var (
	goesTo    = list("has to go to, have to go to")
	deadlines = analysis.Set("by before until today tomorrow still")
)

// chatter returns the reason why a sentence to an agent is no statement: it is a quotation, an
// exclamation, a joke, or a report of something that is broken right now. It returns "" if the
// sentence may be a statement.
func chatter(s *sentence) string {
	w := s.words
	bound := rules.in(w) >= 0 || forbids.in(w) >= 0 || lasting.in(w) >= 0
	switch {
	case quoted(s.text, func() bool { return has(w, len(w), sayings) }):
		return reasonQuoted
	case joking(s), !numbered(s.text) && endsInEmoticon(s.text), idle.in(w) >= 0, isExclamation(w):
		return reasonTalk
	case strings.HasSuffix(s.text, "!") && !numbered(s.text) && !strings.Contains(s.text, "`") && !bound && len(w) < 12 && decisions.in(w) < 0 && likings.in(w) < 0 && !has(w, len(w), self):
		return reasonTalk
	case low(w, 0) == "you" && auxiliary[low(w, 1)] && (strings.HasSuffix(s.text, "!") || endsInEmoticon(s.text)):
		return reasonTalk // "You should never …!", which is addressed to nobody
	case low(w, len(w)-1) == "please" && intends.in(w) >= 0:
		return reasonRequest
	case !bound && (isStuck(w) || outages.in(w) >= 0 || wasDown(w) || troubleCues.in(w) >= 0 || breaks.in(w) >= 0 && sinces.in(w) >= 0):
		return reasonTrouble
	}
	return ""
}

// troubleCues lists phrases about a problem that the speaker is looking into right now.
var troubleCues = list("no clue why, no idea why, don't know why, can't see why, no clue what, no idea what's")

// intends lists how people announce what they are about to do with the agent's help. lingers
// lists words that make it worth a note all the same.
var (
	intends = list("i want to, i'd like to, i would like to, today i'd like, today i want, i need a, i need an, i need to, need your help, we want to, we need to")
	lingers = analysis.Set("still also always never only")
)

// endsInEmoticon reports whether a sentence ends in an emoticon or in laughter.
func endsInEmoticon(text string) bool {
	text = strings.TrimRight(text, " .!")
	return slices.ContainsFunc([]string{":)", ":-)", ";)", ";-)", ":D", ":-D", ":P", "xD", "^^", "haha", "hahaha", "lol", "mdr", "kkk", "jaja", "jajaja", "rsrs", "笑)", "(笑", "（笑）"},
		func(face string) bool { return strings.HasSuffix(text, face) })
}

// isExclamation reports whether words contain an exclamation such as "must be amazing", whose "must"
// is no rule.
func isExclamation(w []word) bool {
	for i := range w {
		if w[i].low == "must" && (low(w, i+1) == "be" || low(w, i+1) == "have") && has(w[i+2:], 4, praise) {
			return true
		}
	}
	return false
}

// Phrases of sentences that are not worth a note.
var (
	sayings = analysis.Set("put law once said says say saying wrote writes told quote quoted handbook proverb motto file slogan")
	praise  = analysis.Set("amazing best nice nicest great stunning beautiful thrilled lovely worst fun hard tough awful terrible wonderful incredible gorgeous exciting been happy proud tired crazy insane weird lonely dreamy nightmare stuck something")
	idle    = list(`poor little, must be the most, never again, hang on, picking up where, just texted, promise me, admit it, bear with me, thinking aloud, thinking out loud, i always forget, i never remember, i can never remember, excuse typos, excuse the typos, gotta run, have to run, you're a wizard, you're a star, you're a lifesaver,
		good bot, plot twist, who knew, just for laughs, classic me, story of my life, i had lunch, except lunch`)
	outages = list("is red, are red, is broken, are broken, is down, are down, went red, went down, has been dying, keeps dying, login's broken")
	breaks  = list(`is failing, are failing, keeps failing, keep failing, fails, fail, is throwing, are throwing, keeps crashing, crashes, is crashing, is stuck, are stuck, hangs,
		doesn't work, don't work, isn't working, aren't working, stopped working, won't start, won't build, doesn't build, doesn't compile, broke, is off, blew up`)
	pastOutages = list("was down, were down, was offline, were offline, was broken, were broken, was unavailable, were unavailable, was red, were red, dropped out, went offline, crashed, broke")
	spans       = analysis.Set("for all until at after last on yesterday again during when most half twice")
	sinces      = list(`since yesterday, since last, since this, since today, this morning, last night, right now, at the moment, again, today, on main, on my machine, since the, for some reason, on everybody, at everybody`)
)

// wasDown reports whether a sentence tells of an outage that is over, and not why it came to be.
func wasDown(w []word) bool {
	i := pastOutages.in(w)
	return i > 0 && !self[w[i-1].low] && spans[low(w, i+pastOutages.starts(w[i:]))] && !has(w, len(w), causes)
}

var causes = analysis.Set("because since due")

// asked classifies a sentence in which the speaker asks for something to be remembered.
func asked(w []word, toAgent bool) (verdict, bool) {
	if !toAgent {
		return verdict{}, false
	}
	n := remembers.starts(w)
	if n == 0 {
		return verdict{}, false
	}
	rest := w[n:]
	switch low(rest, 0) {
	case "when", "how", "what", "why", "": // "Remember when we …"
		return verdict{}, false
	case "to", "always", "never":
		return verdict{sort: draft.Instruction, confidence: 0.9, explicit: true}, true
	}
	v := verdict{sort: draft.Fact, confidence: 0.9, explicit: true}
	for _, k := range sorts {
		if i := k.phrases.in(rest); i >= 0 && i < k.within {
			v.sort = k.sort
			break
		}
	}
	return v, true
}

// instruction recognises a sentence that says how the agent is to act from now on.
func instruction(w []word) (verdict, bool) {
	if low(w, 0) == "please" {
		w = w[1:]
	}
	if len(w) < 2 {
		return verdict{}, false
	}
	first, now, keeps := w[0].low, isForNow(w), lasting.in(w)
	orders := ordersYou.starts(w) > 0
	switch {
	case asksFor.starts(w) > 0 && keeps == asksFor.starts(w):
		return verdict{sort: draft.Instruction, confidence: 0.65}, true
	case keeps == 0, keeps == 1 && first == "let's", keeps > 0 && w[keeps-1].comma && (prepositions[first] || conditions[first]) && ordersAlways(w[keeps:]), keeps > 0 && (orders || imperatives[first] || manners[first] || forbids.starts(w) > 0):
		return verdict{sort: draft.Instruction, confidence: 0.9}, true
	case consults(w), isStanding(w):
		return verdict{sort: draft.Instruction, confidence: 0.65}, true
	case forbids.starts(w) > 0 && calms.starts(w) > 0:
		return refused(reasonTalk), true
	case forbids.starts(w) > 0 && (now || needsContext(w, false) || len(w) < 3):
		return refused(reasonRequest), true
	case forbids.starts(w) > 0, orders && !now && !needsContext(w[2:], false):
		return verdict{sort: draft.Instruction, confidence: 0.65}, true
	case manners[first] && wordings[low(w, 1)] && !now && !has(w, len(w), pronouns) && len(w) <= 8:
		return verdict{sort: draft.Instruction, confidence: 0.65}, true // "keep answers short"
	case first == "no" && slices.ContainsFunc(w[1:min(4, len(w))], func(x word) bool { return strings.HasSuffix(x.low, "s") }) && low(w, len(w)-1) == "please" && !now && !has(w, len(w), pronouns) && !has(w, len(w), copulas) && len(w) > 2 && len(w) <= 10:
		return verdict{sort: draft.Instruction, confidence: 0.65}, true // "no default exports please"
	case manners[first] && !now && !has(w, len(w), pronouns) && len(w) <= 14:
		n := 1
		for n < len(w) && !w[n-1].comma {
			n++
		}
		if choices.in(w) >= 0 || low(w, len(w)-1) == "throughout" || first == "use" && n <= 4 && (n == len(w) || tells(w[n:])) {
			return verdict{sort: draft.Instruction, confidence: 0.65}, true
		}
	}
	return verdict{}, false
}

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

// negated reports whether the word before word i negates it.
func negated(w []word, i int) bool {
	switch low(w, i-1) {
	case "not", "never", "haven't", "hasn't", "didn't":
		return true
	}
	return false
}

// isUnmarkedQuestion reports whether a sentence is a question without a question mark.
func isUnmarkedQuestion(w []word) bool {
	first, second := low(w, 0), low(w, 1)
	switch {
	case asking[first] && secondHalf[second] && first != "don't":
		return true
	case wondering[first]:
		return first != "when" && (auxiliary[second] || strings.HasSuffix(first, "'s") || first == "any") || first == "when" && asking[second] && second != "will"
	}
	return false
}

// hasVerb reports whether a sentence seems to have a verb. The test is stricter for a
// sentence that starts with a preposition, such as "For internal use only."
func hasVerb(w []word) bool {
	opens := prepositions[w[0].low]
	for i := range w {
		switch l := w[i].low; {
		case copulas[l], strings.HasSuffix(l, "n't"), i > 0 && strings.HasSuffix(l, "'s") && !w[i].upper:
			return true
		case opens:
			if i > 1 && goings[l] {
				return true
			}
		case len(l) > 4 && strings.HasSuffix(l, "ed"), i > 0 && len(l) > 3 && strings.HasSuffix(l, "s"), verbs[l]:
			return true
		}
	}
	return false
}

// goings holds forms of verbs that are no nouns, by which a sentence that starts with a preposition is known.
var goings = analysis.Set("go goes went take takes took keep keeps kept get gets got give gives gave sit sits sat depend depends belong belongs begin begins began come comes came happen happens lives sends sent wrote sold told won became needs uses")

func numbered(s string) bool { return strings.ContainsAny(s, "0123456789") }

// worth is the base score of each sort of statement. Standing instructions and decisions score
// highest, because they change how the next session goes.
var worth = map[draft.Sort]float64{draft.Instruction: 7, draft.Decision: 3.5, draft.Constraint: 2.5, draft.Preference: 2}

// Scores that are added to that of the sort.
const (
	worthExplicit = 8.0
	worthNumber   = 1.0
	worthDate     = 1.0
	worthName     = 0.7 // each, up to maxNames
	maxNames      = 3
	worthSelf     = 0.8
	worthPersonal = 1.5 // facts about the speaker and the people around them
	worthHedged   = -0.6
	worthTrouble  = -1.5 // what is broken today is mended tomorrow; the summary's goal has it
	worthItem     = -0.5
	worthOther    = -0.8 // it addresses the reader
	vagueTerm     = 0.2
	nameTerm      = 1.3
	leastWeight   = 2.2 // minimum weight of the terms of a plain fact
	leastRemark   = 4   // the same for a general remark, about nobody and nothing with a name: "Life can be so busy."
)

// weigh computes a candidate's score, and reports whether it is high enough for a statement.
func (k *candidate) weigh(c *sentence, present map[string]bool) bool {
	form := analysis.FormOf(c.text)
	k.own = worth[k.sort]
	if k.explicit {
		k.own += worthExplicit
	}
	names := names(c.words, present)
	k.own += worthName * float64(min(len(names), maxNames))
	number := numbered(c.text)
	if number {
		k.own += worthNumber
	}
	if form.Traits&analysis.Dated != 0 {
		k.own += worthDate
	}
	me := has(c.words, len(c.words), self)
	if me {
		k.own += worthSelf
	}
	if i := personal.in(c.words); i >= 0 && i < 6 || me && givesOwnName(c.words) {
		k.own += worthPersonal
	}
	if !me && k.sort == draft.Fact && has(c.words, len(c.words), troubles) {
		k.own += worthTrouble
	}
	if k.confidence <= 0.5 {
		k.own += worthHedged
	}
	if c.item {
		k.own += worthItem
	}
	if has(c.words, len(c.words), other) {
		k.own += worthOther
	}
	k.figures = figures(k.terms)
	sum := 0.0
	k.weight = make([]float64, len(k.terms))
	for i, t := range k.terms {
		switch {
		case vague()[t], present[t]:
			k.weight[i] = vagueTerm
		case names[t]:
			k.weight[i] = nameTerm
		default:
			k.weight[i] = 1
		}
		sum += k.weight[i]
	}
	least := leastWeight
	if k.sort != draft.Fact || number || len(names) > 0 || !hasCapitals(c.text) && trained.Worth(c.text) >= surelyWorth {
		least = 1.2
	}
	if k.brief {
		least = 0.9
	}
	if k.from.name != "" && k.sort == draft.Fact && !k.brief && !me && !number && len(names) == 0 && k.question == "" {
		least = leastRemark
	}
	if c.item && !me {
		return sum >= 4 && (number || len(names) > 0) && len(k.terms)-len(names) >= 4
	}
	return sum >= least
}

var troubles = analysis.Set("fails fail failed failing failure broken breaks crash crashes crashed crashing bug error errors hangs doesn't won't flaky")

// weighed returns the candidate weighed by its text alone.
func (k candidate) weighed(present map[string]bool) candidate {
	c := sentence{text: k.text, full: k.text, words: wordsOf(k.text)}
	k.terms = analysis.Terms(k.text)
	k.weigh(&c, present)
	return k
}

// givesOwnName reports whether a sentence gives the speaker's name, as in "I'm Ana".
func givesOwnName(words []word) bool {
	return (words[0].low == "i'm" || follows(words, []string{"i", "am"})) && len(words) > 2 && (words[1].upper || words[2].upper && words[1].low == "am")
}

// names returns the terms of the words within a sentence that start with a capital, and of known products.
func names(words []word, present map[string]bool) map[string]bool {
	var out map[string]bool
	for i := range words {
		w := &words[i]
		if i == 0 && !isProduct(w) || !w.upper && !isProduct(w) || self[w.low] || analysis.IsStopWord(w.low) || openings[w.low] || settled[w.low] || isNameOfPresent(w.low, present) {
			continue
		}
		if t := analysis.Stem(w.low); !months[t] {
			if out == nil {
				out = map[string]bool{}
			}
			out[t] = true
		}
	}
	return out
}

// isProduct reports whether a word is the name of a known product, which people also type in lower case.
func isProduct(w *word) bool {
	return len(w.low) > 2 && !vague()[analysis.Stem(w.low)] && !imperatives[w.low] && reading.Product(w.low) != ""
}

var months = analysis.Set("januari februari march april may june juli august septemb octob novemb decemb january february july september october november december")

// vague holds words that are in most of what people say, as index terms.
var vague = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range analysis.Set(`good great nice really thing things lot lots get got getting go going went make makes made making know think feel feeling felt want wanted like liked
		love loved need needed day days time times way ways much many more most well now then still even back new one ones two first last bit kind sort
		stuff something anything everything nothing someone anyone everyone people see seen look looking looks say said tell told talk talking come came
		take took taking give gave use used using try tried trying keep kept let help helped hope awesome amazing cool fun super happy glad sure totally
		definitely absolutely wow thank thanks sounds sound excited exciting pretty quite little big best better always never not no can't will would may
		today lately recently actually maybe probably find found start started put done keep work working works made right long far able whole next
		all any up out over off before after while until lovely beautiful wonderful special such enough own other another every each
		question help please sorry hey hi hello yeah yes ok okay great plan idea ask asked wonder curious moment share sharing enjoy interesting agree chat chatted haha hmm however here example else then yet soon`) {
		m[analysis.Stem(w)] = true
	}
	return m
})
