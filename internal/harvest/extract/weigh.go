package extract

import (
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// worth is what a sort is worth beside what is said. Standing instructions and
// decisions come first: they change how the next session goes.
var worth = map[draft.Sort]float64{draft.Instruction: 7, draft.Decision: 3.5, draft.Constraint: 2.5, draft.Preference: 2}

// What is worth knowing, beside the sort.
const (
	worthExplicit = 8.0
	worthNumber   = 1.0
	worthDate     = 1.0
	worthName     = 0.7 // each, up to maxNames
	maxNames      = 3
	worthSelf     = 0.8
	worthPersonal = 1.5 // who somebody is, and who is around
	worthHedged   = -0.6
	worthTrouble  = -1.5 // what is broken today is mended tomorrow; the goal has it
	worthItem     = -0.5
	worthOther    = -0.8 // it speaks to somebody
	vagueTerm     = 0.2
	nameTerm      = 1.3
	leastWeight   = 2.2 // of the terms of a plain fact
	leastWisdom   = 4   // of what a person says of nobody and of nothing with a name: "Life can be so busy."
)

// weigh finds what a candidate is worth, and reports whether that is enough to be
// a statement.
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
	if i := personal.in(c.words); i >= 0 && i < 6 || me && introduces(c.words) {
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
		case vague[t], present[t]:
			k.weight[i] = vagueTerm
		case names[t]:
			k.weight[i] = nameTerm
		default:
			k.weight[i] = 1
		}
		sum += k.weight[i]
	}
	least := leastWeight
	if k.sort != draft.Fact || number || len(names) > 0 {
		least = 1.2
	}
	if k.from.name != "" && k.sort == draft.Fact && !me && !number && len(names) == 0 && k.question == "" {
		least = leastWisdom
	}
	if c.item && !me {
		return sum >= 4 && (number || len(names) > 0) && len(k.terms)-len(names) >= 4
	}
	return sum >= least
}

var troubles = set("fails fail failed failing failure broken breaks crash crashes crashed crashing bug error errors hangs doesn't won't flaky")

// introduces reports "I'm Ana".
func introduces(words []word) bool {
	return (words[0].low == "i'm" || follows(words, []string{"i", "am"})) && len(words) > 2 && (words[1].upper || words[2].upper && words[1].low == "am")
}

// names are the terms of the words that are written with a capital within a sentence.
func names(words []word, present map[string]bool) map[string]bool {
	var out map[string]bool
	for i := range words {
		w := &words[i]
		if i == 0 || !w.upper || self[w.low] || analysis.IsStopWord(w.low) || openings[w.low] || settled[w.low] || called(w.low, present) {
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

var months = set("januari februari march april may june juli august septemb octob novemb decemb january february july september october november december")

// vague words are in most of what people say. Each in the form of an index term.
var vague = func() map[string]bool {
	m := map[string]bool{}
	for w := range set(`good great nice really thing things lot lots get got getting go going went make makes made making know think feel feeling felt want wanted like liked
		love loved need needed day days time times way ways much many more most well now then still even back new one ones two first last bit kind sort
		stuff something anything everything nothing someone anyone everyone people see seen look looking looks say said tell told talk talking come came
		take took taking give gave use used using try tried trying keep kept let help helped hope awesome amazing cool fun super happy glad sure totally
		definitely absolutely wow thank thanks sounds sound excited exciting pretty quite little big best better always never not no can't will would may
		today lately recently actually maybe probably find found start started put done keep work working works made right long far able whole next
		all any up out over off before after while until lovely beautiful wonderful special important such enough own other another every each
		question help please sorry hey hi hello yeah yes ok okay great plan idea ask asked wonder curious moment share sharing enjoy interesting agree chat chatted haha hmm however here example else then yet soon`) {
		m[analysis.Stem(w)] = true
	}
	return m
}()
