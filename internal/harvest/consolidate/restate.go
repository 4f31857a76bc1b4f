package consolidate

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// A paraphrase must share at least minRestated content words with the injected
// sentence, and at least restatedShare of that sentence's content words.
const (
	minRestated   = 2
	restatedShare = 0.4
)

// covers reports whether x says everything that t says.
func (x *injectedSentence) covers(t *text) bool {
	v := (&pair{old: &x.text, new: t, alignment: align(short(x.text.words), short(t.words))}).judge()
	switch v.Relation {
	case Same, Restates:
		return true
	case Contradicts, Updates, Refines:
		return false
	}
	said, common, ok := x.says(t)
	if !ok {
		return false
	}
	theirs := 0
	for key, is := range x.words {
		w := word{norm: key, is: is}
		if _, ok := said[key]; !ok && w.restricts() {
			return false // t leaves out a restriction
		}
		if isContentWord(&w) || w.has(verb) {
			theirs++
		}
	}
	if x.conditional() && !(&injectedSentence{words: said}).conditional() {
		return false
	}
	return common >= minRestated && float64(common) >= restatedShare*float64(theirs) &&
		!swapped(x.text.words, t.words) && keepsNeighbours(x.text.words, t.words)
}

// restricts reports whether a word of a sentence limits what the sentence says.
func (w *word) restricts() bool {
	return w.is&(negates|limits) != 0 && w.is&(prep|adds) == 0 && !condition[w.norm] || partial[w.norm] || temporal[w.norm]
}

// says returns the words of t, and how many of its content words and verbs x has as well. It returns false if t says something
// that x does not.
func (x *injectedSentence) says(t *text) (said map[string]trait, common int, ok bool) {
	said = map[string]trait{}
	for i := range t.words {
		w := &t.words[i]
		key := keyOf(w)
		if _, again := said[key]; again {
			continue
		}
		said[key] |= w.is
		is, known := x.words[key]
		switch {
		case known && w.has(past) && is&past == 0, !known && x.hasOpposite(w.norm):
			return nil, 0, false // one says that it happened, the other only that it was planned
		case known && (isContentWord(w) || w.has(verb)):
			common++
		case known, wish[key] && x.wishes(), condition[key] && x.conditional():
		case decides(w), isContentWord(w):
			return nil, 0, false
		}
	}
	return said, common, true
}

var (
	condition = analysis.Set("if when whenever")
	wish      = analysis.Set("want prefer like ask")
)

func (x *injectedSentence) wishes() bool {
	for w := range wish {
		if _, ok := x.words[w]; ok {
			return true
		}
	}
	return false
}

func (x *injectedSentence) hasOpposite(norm string) bool {
	for i := range x.text.words {
		if areOpposite(x.text.words[i].norm, norm) {
			return true
		}
	}
	return false
}

func (x *injectedSentence) conditional() bool {
	for w := range condition {
		if _, ok := x.words[w]; ok {
			return true
		}
	}
	return false
}

// keyOf returns the form in which a word is looked up: its stem, or for a number or
// an identifier the word itself.
func keyOf(w *word) string {
	if w.is&(number|exact|sign) != 0 {
		return w.norm
	}
	return analysis.Stem(w.norm)
}

// decides reports whether a word changes the meaning of a statement, so that the
// other must have it too.
func decides(w *word) bool {
	return w.is&(negates|limits|counts|number|timely|sign|exact) != 0 && w.is&be == 0 && w.is&(prep|adds) == 0 ||
		w.has(modal) && !mild[w.norm] || partial[w.norm] || contrast[w.norm]
}

// contrast holds words that exclude others of their kind. temporal holds those
// whose omission removes a restriction.
var (
	contrast = analysis.Set("before after until during within without above below over under first second third fourth last next both")
	temporal = analysis.Set("before after until during within without") // which restrict what they are left out of
)

// isContentWord reports whether w is a content word. Function words, verbs that fit
// anything, and words with which people refer to what they read are not.
func isContentWord(w *word) bool {
	if w.is&(number|exact|timely) != 0 {
		return true
	}
	return w.is&(prep|adds|joins|be|pronoun|filler|generic|modal|negates|limits|counts|sign) == 0 && !light[w.norm] && !light[strings.ToLower(w.raw)]
}

var (
	mild  = analysis.Set(`will would can shall supposed able`)
	light = analysis.Set(`use have run do get make keep set need take give see say tell know think believe mention find put come go call name
		mean recall remember note notes memory knowledge context information info earlier above according stated noted fact confirmed confirm
		yes yeah right correct exactly sure ok okay great based so thing here there let well course understood understand looks seems seem look
		indicate indicates shows show provided recorded saved conversation told injected reminder instance example say want
		that who what which one specifically namely basically remind saying mentioned mind used lives live sits sit running hosted stored
		kept located based`)
)

// afterIntro removes an introduction that only answers or refers: "yes,", "as
// noted,", "according to my notes:", "I remember that".
func afterIntro(w []word) []word {
	if len(w) > 3 && w[0].norm == "user" && strings.EqualFold(w[0].raw, "i") && light[w[1].norm] && verbAt(w[2:]) > 0 {
		return w[2:] // "I know that …"
	}
	for i := 1; i < len(w) && i <= 6; i++ {
		if w[i].cut != ',' && w[i].cut != ':' && w[i].cut != '.' && w[i].cut != '-' {
			continue
		}
		for j := range w[:i] {
			if isContentWord(&w[j]) && w[j].norm != "user" || w[j].has(negates|number) {
				return w
			}
		}
		return afterIntro(w[i:])
	}
	return w
}

// sentences splits words at sentence ends.
func sentences(w []word) [][]word {
	var out [][]word
	from := 0
	for i := 1; i <= len(w); i++ {
		if i == len(w) || w[i].cut == '.' {
			out = append(out, w[from:i:i])
			from = i
		}
	}
	return out
}

// clauses splits words at sentence ends, and at "and" before another verb.
func clauses(w []word) [][]word {
	var out [][]word
	for _, s := range sentences(w) {
		from := 0
		for i := 1; i < len(s); i++ {
			if s[i].norm == "and" && verbAt(s[i:]) > 0 && verbAt(s[from:i]) >= 0 {
				out = append(out, s[from:i:i])
				from = i + 1
			}
		}
		if from < len(s) {
			out = append(out, s[from:])
		}
	}
	return out
}

// based replaces "is based in" by "lives in".
func (t *text) based() {
	for i := 0; i+2 < len(t.words); i++ {
		if w := t.words[i:]; w[0].norm == "be" && w[1].norm == "base" && w[1].has(passive) && w[2].norm == "in" {
			w[1].norm, w[1].is = "live", verb
			t.words = append(t.words[:i], w[1:]...)
			return
		}
	}
}

// dates changes "15 October" and "15th of October" to the order "October 15", and
// removes "version" before a number.
func (t *text) dates() {
	w := t.words
	for i := 0; i+1 < len(w); i++ {
		j := i + 1
		if w[j].norm == "of" && j+1 < len(w) {
			j++
		}
		switch {
		case w[i].has(number) && len(w[i].norm) <= 2 && isMonth[w[j].norm] && (j+1 == len(w) || !w[j+1].has(number) || len(w[j+1].norm) > 2):
			t.edits++
			w[i], w[j] = w[j], w[i]
			w[i].cut, w[j].cut = w[j].cut, 0
			if j == i+2 {
				w = append(w[:i+1], w[j:]...)
			}
		case w[i].norm == "version" && w[i+1].has(number) && i > 0 && !w[i-1].has(be|verb|prep):
			w = append(w[:i], w[i+1:]...)
		}
	}
	t.words = w
}

var isMonth = map[string]bool{
	"january": true, "february": true, "march": true, "april": true, "may": true, "june": true, "july": true,
	"august": true, "september": true, "october": true, "november": true, "december": true,
}

// copula changes "Port: 8080" to "Port is 8080" if there is no verb.
func (t *text) copula() {
	for i := range t.words {
		if t.words[i].has(be | verb) {
			return
		}
	}
	for i := 1; i < len(t.words) && i < 6; i++ {
		if t.words[i].cut == ':' {
			t.words = append(t.words, word{})
			copy(t.words[i+1:], t.words[i:])
			t.words[i] = word{norm: "be", raw: ":", is: be}
			t.words[i+1].cut = 0
			return
		}
	}
}

// genitive changes "the owner of the ledger is" to the order "the ledger's owner
// is", on both sides of the verb. After an attribute, it treats "for" like "of".
func (t *text) genitive() {
	at := verbAt(t.words)
	if at < 0 {
		return
	}
	rest := t.words[at+1:]
	if t.words[at].norm == "be" {
		rest = turnGenitive(rest)
	}
	subject := turnGenitive(t.words[:at])
	if len(subject)+1+len(rest) == len(t.words) {
		return
	}
	t.edits++
	w := append(subject[:len(subject):len(subject)], t.words[at])
	t.words = append(w, rest...)
}

// turnGenitive changes "owner of ledger" to "ledger owner". Longer phrases are left as they
// are.
func turnGenitive(w []word) []word {
	of := -1
	for i := range w {
		if w[i].has(verb|be|negates|modal|counts|limits|joins) && i > 0 || w[i].cut != 0 && i > 0 || w[i].has(article) {
			return w
		}
		if of < 0 && i > 0 && i < 3 && (w[i].norm == "of" || w[i].norm == "for" && w[i-1].has(functional)) {
			of = i
		} else if of >= 0 && w[i].has(prep) {
			return w
		}
	}
	if of < 1 || of+1 >= len(w) {
		return w
	}
	out := make([]word, 0, len(w)-1)
	out = append(out, w[of+1:]...)
	out[len(out)-1].is |= owner
	return append(out, w[:of]...)
}

// added judges two statements of which one says everything that the other says, and
// more. The addition must leave the rest true: a reason, a name, a version, another
// sentence. "In Go files" and "if the tests pass" are restrictions: what is true
// there need not be true elsewhere.
func (p *pair) added() (Verdict, bool) {
	rich, poor := p.new, p.old
	side, relation := 1, Refines
	if p.oneSided(0) {
		rich, poor = p.old, p.new
		side, relation = 0, Restates
	} else if !p.oneSided(1) {
		return Verdict{}, false
	}
	words := rich.words
	verb := verbAt(words)
	if verb < 0 || poor.parts != 1 || len(poor.words) < 2 || !p.datesGrow(rich, poor) {
		return Verdict{}, false
	}
	said := ""
	if len(rich.when) > len(poor.when) {
		said = "since " + rich.when[0]
	}
	for i, h := range p.hunks {
		more := h.b
		if side == 0 {
			more = h.a
		}
		at := p.place[i][side]
		if at <= verb || !retractsNothing(more) || !onlyAdds(words, at, at+len(more), negativeOrAll(poor.words)) {
			return Verdict{}, false
		}
		said = quote(more)
	}
	if said == "" {
		return Verdict{}, false
	}
	if relation == Refines {
		return Verdict{Relation: Refines, Why: "adds " + said}, true
	}
	return Verdict{Relation: Restates, Why: "leaves out " + said}, true
}

// oneSided reports whether only one statement has words that the other lacks. side
// is 0 for the old one, 1 for the new one.
func (p *pair) oneSided(side int) bool {
	for _, h := range p.hunks {
		if side == 1 && len(h.a) > 0 || side == 0 && len(h.b) > 0 {
			return false
		}
	}
	if len(p.hunks) > 0 {
		return true
	}
	return side == 1 && len(p.new.when) > len(p.old.when) || side == 0 && len(p.old.when) > len(p.new.when)
}

func (p *pair) datesGrow(rich, poor *text) bool {
	return len(poor.when) == 0 || slices.Equal(rich.when, poor.when)
}

// retractsNothing reports whether added words retract nothing.
func retractsNothing(more []word) bool {
	if more[0].norm == "because" {
		return true // a reason may well be that something is not so
	}
	for i := range more {
		if w := &more[i]; w.has(negates|limits|modal|counts) && !w.has(adds) || w.norm == "or" || w.norm == "instead-of" && i > 0 {
			return false
		}
	}
	return true
}

// negativeOrAll reports whether an addition makes the statement weaker: one about
// "no coffee" or "all requests" does not imply one about coffee with milk.
func negativeOrAll(words []word) bool {
	for i := range words {
		if words[i].has(negates | limits | counts) {
			return true
		}
	}
	return false
}

// conditional holds verbs whose success may depend on what is added.
var conditional = map[string]bool{"pass": true, "fail": true, "work": true, "break": true, "compile": true, "build": true}

// takesBack holds verbs with which another sentence may say that the first one is
// no longer true.
var takesBack = map[string]bool{"change": true, "move": true, "migrate": true, "replace": true, "switch": true, "remove": true, "drop": true,
	"delete": true, "stop": true, "expire": true, "end": true, "close": true, "retire": true, "quit": true, "leave": true}

// onlyAdds reports whether words[from:to] only adds to the words before. In a weak
// statement, only a reason or another sentence does.
func onlyAdds(words []word, from, to int, weak bool) bool {
	first, prev := &words[from], &words[from-1]
	last := to == len(words) || words[to].cut != 0
	switch {
	case first.cut == '.' && last:
		return !slices.ContainsFunc(words[from:to], func(w word) bool { return takesBack[w.norm] })
	case first.norm == "because" && last && to-from > 1:
		return true
	case weak:
		return false
	case first.has(number) && to-from == 1:
		version := strings.Contains(first.norm, ".") && prev.is&(unit|timely|verb|be|prep|number) == 0
		return version || prev.has(name|exact) && !prev.has(number) || kindOf(words[from-1:from]) > 0
	}
	return last && isSupplement(words, from, to)
}

// isSupplement reports whether the last words of a clause, from words[from] on, only say more about the words before: "(the
// old one)", "which …", "in March", "via ssh".
func isSupplement(words []word, from, to int) bool {
	first, prev, several := &words[from], &words[from-1], to-from > 1
	next := func(t trait) bool { return several && words[from+1].has(t) }
	if first.cut == '(' || first.cut == '-' {
		return true
	}
	switch first.norm {
	case "which", "who":
		return first.cut == ','
	case "instead-of":
		return several
	case "and":
		return several && !next(number) // a second port may be a different port
	case "in", "on":
		// This says when an event was, not where or how often something is so.
		return words[verbAt(words)].has(past) && (next(timely) || next(number) && len(words[from+1].norm) == 4) && !prev.has(timely)
	case "at":
		return prev.has(timely) && next(number|timely)
	case "as":
		return next(article)
	case "name", "call":
		return first.has(past|passive) && prev.has(article) && several
	case "via", "use", "by":
		if first.norm == "use" && !first.has(going) || first.norm == "by" && next(number) {
			return false
		}
		return several && !next(timely|choice|going) && !conditional[words[verbAt(words)].norm]
	}
	return false
}
