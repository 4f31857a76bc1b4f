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
	switch {
	case len(s.words) == 0, s.text[0] == '[', strings.HasSuffix(s.text, ":"): // "[image: …]", or an introduction to the text after it
		return refused(reasonEmpty)
	case hasCredential(s):
		return refused(reasonSecret)
	case toAgent:
		return judgeToAgent(s)
	}
	return judgeToPerson(s)
}

func judgeToAgent(s *sentence) verdict {
	w := s.words
	if leadIn(w) == len(w) {
		return refused(reasonTalk)
	}
	if v, ok := asked(w); ok {
		return v
	}
	if reason := chatter(s); reason != "" {
		return refused(reason)
	}
	if reason := notAsserted(w); reason != "" {
		return refused(reason)
	}
	if saysWhoIAm(w, s.start == 0) || saysWhoLeft(w) || saysWhatTheyAre(w) || saysWhoOwns(w) || saysWhatIsUsed(w) {
		return verdict{sort: draft.Fact, confidence: 0.8, brief: true}
	}
	if v, ok := instruction(w); ok {
		return v
	}
	switch {
	case wants.starts(w) > 0, intends.starts(w) > 0 && !has(w, 4, lingers), imperative(w), ordersThing(w):
		return refused(reasonRequest)
	case other[w[0].low], isPhatic(s):
		return refused(reasonTalk)
	case !has(w, len(w), self) && !hasVerb(w):
		return refused(reasonEmpty)
	}
	v := verdict{sort: draft.Fact, confidence: 0.8, open: isLeftToDo(w)}
	v.sortBy(w, !v.open && !has(w, 3, self))
	return v
}

func judgeToPerson(s *sentence) verdict {
	w := s.words
	mine := has(w, len(w), self)
	if i := hypotheses.in(w); i >= 0 && i < 4 {
		return refused(reasonIf)
	}
	if wants.starts(w) > 0 || imperative(w) && !mine || forbids.starts(w) > 0 || // advice, and wishes
		other[w[0].low] || has(w, 4, other) && !mine && !numbered(s.text) || isPhatic(s) {
		return refused(reasonTalk)
	}
	v := verdict{sort: draft.Fact, confidence: 0.8}
	v.sortBy(w, false)
	return v
}

// sortBy sets the sort of a statement by its words, and its confidence. binds says that it may be a constraint.
func (v *verdict) sortBy(w []word, binds bool) {
	for _, k := range sorts {
		if k.sort == draft.Constraint && !binds {
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
}

// isPhatic reports whether a sentence starts with a word of small talk and says nothing about the speaker.
func isPhatic(s *sentence) bool {
	return phatic[s.words[0].low] && !has(s.words, 4, self) && !numbered(s.text)
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
func asked(w []word) (verdict, bool) {
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
	leastBrief    = 0.9 // minimum weight of the terms of a brief statement
	leastSpecific = 1.2 // of a rule or the like, or of a fact with a name or a number
	leastWeight   = 2.2 // of another fact
	leastRemark   = 4   // of a person's general remark to another, about nobody and nothing with a name: "Life can be so busy."
)

// weigh computes a candidate's score, and reports whether it is high enough for a statement.
func (k *candidate) weigh(c *sentence, present map[string]bool) bool {
	names, number, me := names(c.words, present), numbered(c.text), has(c.words, len(c.words), self)
	k.own = k.scoreOf(c, len(names), number, me)
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
	specific := number || len(names) > 0
	switch {
	case c.item && !me:
		return sum >= 4 && specific && len(k.terms)-len(names) >= 4
	case k.brief:
		return sum >= leastBrief
	case k.sort == draft.Fact && k.from.name != "" && !me && !specific && k.question == "":
		return sum >= leastRemark
	case k.sort != draft.Fact, specific, !hasCapitals(c.text) && trained.Worth(c.text) >= surelyWorth:
		return sum >= leastSpecific
	}
	return sum >= leastWeight
}

// scoreOf returns the part of a candidate's score that other candidates don't change.
func (k *candidate) scoreOf(c *sentence, names int, number, me bool) float64 {
	score := worth[k.sort] + worthName*float64(min(names, maxNames))
	if number {
		score += worthNumber
	}
	if analysis.FormOf(c.text).Traits&analysis.Dated != 0 {
		score += worthDate
	}
	if k.explicit {
		score += worthExplicit
	}
	if me {
		score += worthSelf
	} else if k.sort == draft.Fact && has(c.words, len(c.words), troubles) {
		score += worthTrouble
	}
	if i := personal.in(c.words); i >= 0 && i < 6 || me && givesOwnName(c.words) {
		score += worthPersonal
	}
	if k.confidence <= 0.5 {
		score += worthHedged
	}
	if c.item {
		score += worthItem
	}
	if has(c.words, len(c.words), other) {
		score += worthOther
	}
	return score
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
