package consolidate

import (
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Two statements give one attribute two values when they say the same but for the value: the same
// subject, the same words for the attribute, and values of one type. What is said of the change, if
// anything, may be worded in any way; it only allows the words around the value to differ more.

// valueSlot is a value with the words that say what it is a value of.
type valueSlot struct {
	value *mention
	index int    // of the value
	text  string // of the value
	words string // of the part of the text that the value stands in
	terms []term // what they name
	turns bool   // they say that something changed
}

// laterStatement is a statement that earlier ones are compared with, read once for all.
type laterStatement struct {
	text    string
	values  *statementValues // nil until it is read for words of change
	changed bool             // it says that something changed
	slots   *slottedValues   // nil until it is read for slots
	adds    bool             // it says that something comes to what there is
}

func (l *laterStatement) read() {
	if l.slots == nil {
		l.slots, l.adds = slotsOf(l.text, nil), isAddition(l.text)
	}
}

// revalued finds the value of an earlier statement that a later one gives another value.
func (l *laterStatement) revalued(before string) (change, bool) {
	if !sameSpeaker(before, l.text) {
		return change{}, false
	}
	if l.read(); l.adds {
		return change{}, false
	}
	if c, ok := newHolder(before, l.text); ok {
		return c, true
	}
	fresh, after := l.slots, l.text
	if len(fresh.slots) == 0 || !l.shares(before) {
		return change{}, false
	}
	old := slotsOf(before, fresh)
	var best change
	ties := 0
	for i := range old.slots {
		for j := range fresh.slots {
			o, n := &old.slots[i], &fresh.slots[j]
			if !n.value.replaces(o.value) || n.value.kind != o.value.kind || old.has(n.value) || !n.turns && fresh.has(o.value) || old.inRange(o.index) || fresh.inRange(n.index) {
				continue
			}
			bond := attributeBond(o, n, old, fresh)
			if bond <= 0 {
				continue
			}
			c := change{was: o.value.span, is: after[n.value.from:n.value.to], clause: old.clauses[old.clauseOf(o.value)], whole: old.single(), bond: bond}
			switch {
			case bond > best.bond:
				best, ties = c, 0
			case bond == best.bond && c.was != best.was:
				ties++
			}
		}
	}
	return best, best.bond > 0 && ties == 0
}

// sameHead reports whether both values are said of the same word, and no other word before it tells
// the two apart: "a deadline of April 1" and "the sprint deadline of April 5".
func sameHead(o, n *valueSlot, old *slottedValues) bool {
	head := func(s *valueSlot) (which, word string) {
		at := headOf.FindStringSubmatch(s.words[:max(0, strings.Index(s.words, s.text))])
		if at == nil {
			return "", ""
		}
		if which = lower(at[1]); function(which) {
			which = ""
		}
		return analysis.Stem(which), analysis.Stem(lower(at[2]))
	}
	mine, word := head(o)
	theirs, same := head(n)
	return word != "" && word == same && (mine == theirs || theirs == "" || mine == "" && holds(old.all(), theirs))
}

var headOf = lazyregexp.New(`(?i)(?:^|(\S+) )(\pL{3,}) (?:of|is|von|ist|de|est|es|é|do|da)(?: the)? $`)

// shares reports whether an earlier statement has a word, or the beginning of one, by which this one
// names what its values are of.
func (l *laterStatement) shares(before string) bool {
	low := lower(before)
	for i := range l.slots.slots {
		for _, t := range without(subjects(l.slots.slots[i].terms), nil) {
			r := []rune(t.stem)
			if strings.Contains(low, string(r[:min(len(r), 4)])) {
				return true
			}
		}
	}
	return false
}

// slottedValues is a statement with the slots of its values.
type slottedValues struct {
	*statementValues
	slots []valueSlot
}

func (s *slottedValues) has(m *mention) bool {
	return slices.ContainsFunc(s.values, func(x mention) bool { return x.kind == m.kind && x.same(m) })
}

// slotsOf reads a statement for its values and what they are values of.
// Of an earlier one, given the later, only those are read that it may replace.
func slotsOf(text string, later *slottedValues) *slottedValues {
	s := &slottedValues{statementValues: &statementValues{text: text, values: withNames(text, mentions(text))}}
	replaceable := func(m *mention) bool {
		return later == nil || slices.ContainsFunc(later.values, func(n mention) bool { return n.kind == m.kind && n.replaces(m) })
	}
	if !slices.ContainsFunc(s.values, func(m mention) bool { return replaceable(&m) }) {
		return s
	}
	s.clauses = clausesOf(text, s.values)
	for _, c := range s.clauses {
		s.terms = append(s.terms, s.content(c))
	}
	for i := range s.values {
		m := &s.values[i]
		if !replaceable(m) {
			continue
		}
		part, end := s.partOf(i)
		slot := valueSlot{value: m, index: i, text: text[m.from:m.to], words: text[part.from:part.to], terms: s.content(part)}
		slot.turns = later == nil && turns(text[part.from:end])
		for j := range s.values {
			if o := &s.values[j]; j != i && o.kind >= codeType && part.from <= o.from && o.to <= part.to {
				slot.terms = append(slot.terms, term{stem: o.norm, name: true})
			}
		}
		if k := s.clauseOf(m); k > 0 && len(subjects(slot.terms)) == 0 { // "we raised the minimum Python, it's 3.11"
			before := s.clauses[k-1]
			slot.words = text[before.from:part.to]
			slot.terms = slices.Concat(s.terms[k-1], slot.terms)
			slot.turns = later == nil && turns(text[before.from:end])
		}
		s.slots = append(s.slots, slot)
	}
	return s
}

// partOf returns the part of a clause that speaks of a value: of several, each has the words before
// it, and the last one those behind it as well. A reason behind a value is left out; end is where
// that ends.
func (s *slottedValues) partOf(i int) (part span, end int) {
	m := &s.values[i]
	part = s.clauses[s.clauseOf(m)]
	for j := range s.values {
		if o := &s.values[j]; o.kind == m.kind && o.unit == m.unit || m.kind == numberType && o.kind == numberType {
			switch {
			case j < i && o.to > part.from:
				part.from = o.to
			case j > i && o.from < part.to:
				part.to = m.to
			}
		}
	}
	if k := strings.LastIndex(s.text[part.from:m.from], ": "); k >= 0 && strings.TrimSpace(s.text[part.from+k+2:m.from]) != "" {
		part.from += k + 2
	}
	if at := circumstance.FindStringIndex(s.text[part.from:m.from]); at != nil { // "with TLS on by default the …"
		part.from += at[1] - 1
	}
	end = part.to
	if at := reason.FindStringIndex(s.text[m.to:part.to]); at != nil {
		part.to = m.to + at[0]
	}
	return part, end
}

// attributeBond says how surely two slots are of one attribute of one thing; 0 is no.
func attributeBond(o, n *valueSlot, old, fresh *slottedValues) float64 {
	if unsettled.MatchString(" "+lower(n.words)+" ") || unsettled.MatchString(" "+lower(o.words)+" ") || staysCue.MatchString(" "+lower(n.words)+" ") ||
		supposed.MatchString(" "+lower(fresh.text[:n.value.from])) {
		return 0
	}
	mine, theirs := subjects(o.terms), subjects(n.terms)
	unspaced := slices.ContainsFunc(mine, func(t term) bool { r := []rune(t.stem); return analysis.Unspaced(r[0]) })
	if unspaced {
		return bondUnspaced(o, n)
	}
	both := 0
	for i, t := range mine {
		if holdsName(theirs, t) && !holdsName(mine[:i], t) && lexicon()[t.stem].is&generic == 0 && !broad()[t.stem] {
			both++
		}
	}
	lost, gained := without(mine, theirs), without(theirs, mine)
	if both == 0 || scoped(lost) || scoped(gained) || otherwise(o, n, old, fresh) || !n.turns && (o.names() || n.names()) {
		return 0
	}
	if (o.value.kind >= codeType || version(o.value)) && several(o.terms, n.terms) && !exclusive.MatchString(old.text) {
		return 0
	}
	switch {
	case len(lost)+len(gained) == 0 && (n.turns || settled(o, n)):
		return 2 + float64(both)
	case !n.turns:
		return 0
	case both >= 3 && sameHead(o, n, old):
		return 1 + float64(both)/10 // "the deadline of April 5"
	case len(lost) > 0 && len(gained) > 0:
		return 0
	case both > 1 && len(lost) <= 1 && len(gained) <= 1:
		return 1 + float64(both)/10
	}
	return 0
}

// settled reports whether neither statement tells of something that happened once: who ran ten
// kilometres in May and eight in June did both.
func settled(o, n *valueSlot) bool {
	for _, s := range []*valueSlot{o, n} {
		if happened.MatchString(" " + lower(s.words) + " ") {
			return false
		}
		t := read(s.words)
		for i := range t.words {
			if w := &t.words[i]; !t.alien && w.has(past) && w.has(verb) && !linking()[analysis.Stem(lower(w.raw))] && !turning()[analysis.Stem(lower(w.raw))] {
				return false
			}
		}
	}
	return true
}

// names reports whether a value names what its sentence is about, or something that is counted
// through, and is not what is said of it: "ticket 12 is closed" and "ticket 13 is closed" are both so.
func (s *valueSlot) names() bool {
	at := strings.Index(s.words, s.text)
	if at < 0 {
		return false
	}
	before, after := s.words[:at], s.words[at+len(s.text):]
	switch k := s.value.kind; {
	case k == moneyType || k == percentType:
		return false
	case counted.MatchString(" " + lower(before)):
		return true
	case k == amountType: // a number that names, before a verb, looks like one with a unit
		_, after, _ = strings.Cut(s.text, " ")
	}
	return !strings.ContainsAny(before, ":=") && !predicates(before) && predicates(after)
}

// predicates reports whether words have a verb that a sentence is made with.
func predicates(words string) bool {
	t := read(words)
	for i := range t.words {
		low := lower(t.words[i].raw)
		if t.words[i].has(verb|be) || isCopula[low] || linking()[analysis.Stem(low)] && !function(low) {
			return true
		}
	}
	return false
}

// otherwise reports whether the two name different things by another value: "the 4.2 freeze" and
// "the 4.3 freeze".
func otherwise(o, n *valueSlot, old, fresh *slottedValues) bool {
	others := func(s *slottedValues, part *valueSlot) (out []*mention) {
		k := s.clauseOf(part.value)
		for i := range s.values {
			if m := &s.values[i]; m != part.value && s.clauseOf(m) == k && strings.Contains(part.words, s.text[m.from:m.to]) {
				out = append(out, m)
			}
		}
		return out
	}
	mine, theirs := others(old, o), others(fresh, n)
	for _, a := range mine {
		for _, b := range theirs {
			if a.kind == b.kind && !a.same(b) && !slices.ContainsFunc(theirs, a.same) && !slices.ContainsFunc(mine, b.same) {
				return true
			}
		}
	}
	return false
}

// bondUnspaced compares slots in scripts without spaces between words: what stands before the value,
// or the subject in front of it, must be the same.
func bondUnspaced(o, n *valueSlot) float64 {
	mine, theirs := subjects(o.terms), subjects(n.terms)
	both := 0
	for _, t := range mine {
		if slices.ContainsFunc(theirs, func(u term) bool { return u.stem == t.stem }) {
			both++
		}
	}
	least := min(len(mine), len(theirs))
	switch {
	case least < 2:
		return 0
	case both == least && (n.turns || len(mine) == len(theirs)):
		return 2 + float64(both)
	case n.turns && both >= 2 && float64(both) >= 0.5*float64(least):
		return 1 + float64(both)/10
	}
	return 0
}

// subjects returns the terms that say what something is about: no verbs that only join a value to it,
// and none that say that it changed.
func subjects(terms []term) (out []term) {
	for _, t := range terms {
		if !linking()[t.stem] && !turning()[t.stem] && lexicon()[t.stem].is&timely == 0 {
			out = append(out, t)
		}
	}
	return out
}

func holdsName(list []term, t term) bool {
	return slices.ContainsFunc(list, func(o term) bool {
		return o.stem == t.stem || !(o.name && t.name && !o.open && !t.open) && akin(o.stem, t.stem)
	})
}

// without returns the terms of a list that another one lacks. A generic noun beside what it is of
// says nothing: "the verification service" is "verification".
func without(list, other []term) (out []term) {
	for _, t := range list {
		if !holdsName(other, t) && lexicon()[t.stem].is&generic == 0 && !broad()[t.stem] {
			out = append(out, t)
		}
	}
	return out
}

// scoped reports words that name one of several places, times or sorts of the same thing.
func scoped(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return t.env || scopes()[t.stem] })
}

// several reports statements of what a thing has more than one of: what it uses, reads, depends on.
func several(lists ...[]term) bool {
	for _, terms := range lists {
		if slices.ContainsFunc(terms, func(t term) bool { return multiple()[t.stem] }) {
			return true
		}
	}
	return false
}

// version reports a number that may be one of several that a thing supports.
func version(m *mention) bool {
	return m.kind == numberType && (kinds()[m.unit] > 0 || strings.Contains(m.norm, "."))
}

// elsewhere reports that one statement names an environment and the other does not.
func elsewhere(mine, theirs []term) bool {
	return slices.ContainsFunc(mine, func(t term) bool { return t.env && !holdsName(theirs, t) })
}

// turns reports whether words say that something changed.
func turns(words string) bool {
	low := " " + lower(words) + " "
	if changeCue.MatchString(low) || newCue.MatchString(low) {
		return true
	}
	for w := range strings.FieldsFuncSeq(low, notWord) {
		if turning()[w] || turning()[analysis.Stem(w)] {
			return true
		}
	}
	return false
}

func notWord(r rune) bool { return strings.ContainsRune(" ,.;:!?\"'’()`", r) }

// isAddition reports a statement of something that comes to what there is.
func isAddition(text string) bool { return alsoCue.MatchString(" " + lower(text) + " ") }

// lazyStems is stems for a set that is made when it is used first: a start needs none.
func lazyStems(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return stems(list) })
}

// stems returns a set of words and their stems.
func stems(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w], m[analysis.Stem(w)] = true, true
	}
	return m
}

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

var (
	// linking verbs join a value to what it is a value of.
	linking = lazyStems(`live lives living run running sit stand listen answer respond begin start take last cost need require get got gets go come keep keeps hold lie belong host hosted deploy deployed locate located bind bound serve served reach reachable there here
		ve re ll back want try trying work works stay use uses used have has currently per
		sous avec sans entre chez dès con sin sobre bajo hasta com da do das dos über unter zwischen bis ab ohne gegen
		hier ayer ontem gestern heute demain amanhã semaine semana woche mois mes mês letzte letzten letzter dernière dernier pasada pasado passada passado
		steht stehen liegt liegen läuft laufen hört lauscht beginnt beginnen startet starten kostet kosten dauert dauern braucht brauchen befindet sitzt gilt beträgt heißt kommt kommen findet statt wohne wohnt arbeite arbeitet
		tourne tournent écoute commence coûte coûtent dure trouve situe vit habite habitent travaille prend faut reste c'est
		corre escucha empieza comienza cuesta cuestan dura vive trabaja trabajo queda usa necesita voy vamos está están
		roda rodam escuta fica ficam começa custa custam mora moro trabalho precisa estão`)
	// turning verbs say that something changed.
	turning = lazyStems(`move moved moving raise raised lower lowered lift lifted increase increased reduce reduced cut bump bumped upgrade upgraded downgrade downgraded migrate migrated switch switched change changed shift shifted slip slipped postpone postponed
		delay delayed extend extended shorten shortened become became set drop dropped hand handed transfer transferred swap swapped replace replaced relocate relocated double doubled halve halved rename renamed convert converted port ported went
		umgezogen umgestellt umziehen verschoben erhöht gesenkt gewechselt gewandert gestiegen geändert angehoben verlegt verlängert verkürzt inzwischen mittlerweile
		passé passée monté montée déplacé déplacée changé migré augmenté augmentée réduit déménagé remplacé avancé
		cambiado cambiamos subido subimos subí trasladaron trasladamos movido migrado migramos pasó pasado aumentado bajado bajamos
		subi subimos mudei mudamos migrei migramos aumentei baixei passou movemos troquei trocamos ficou virou`)
	// isCopula are the forms of "to be" that English does not have.
	isCopula = wordSet("ist sind est sont es son está están é são")
	// broad nouns say little of what they stand beside.
	broad = lazyStems(`service server team machine host box side part thing app default minimum minimal maximum user point instance setting settings value number total new own whole current lot moment right`)
	// environments are places in which one thing runs several times, each with values of its own.
	environments = wordSet(`production staging prod dev qa ci local demo sandbox preview canary mobile desktop`)
	// scopes tell one of several from the others.
	scopes = lazyStems(`development test testing qa ci internal external public private primary secondary replica v1 v2 v3 unit integration e2e
		first last weekend sister brother wife husband son daughter mother father child friend partner retry read write upload download input output start end`)
	// multiple verbs take several objects at a time.
	multiple = lazyStems(`use uses support supports depend depends own owns read reads export exports import imports include includes contain contains speak speaks play plays like likes accept accepts offer offers translate translated review reviews talk talks know knows work works write writes send sends have has eat eats visit
		nutzt benutzt unterstützt liest spricht utilise supporte parle usa soporta habla suporta fala`)
)

var (
	newCue    = lazyregexp.New(`[ ,.;:](?:new|neue[rnms]?|nouveau|nouvel|nouvelle|nuev[oa]|nov[oa]|since|seit|depuis|desde|as of|these days|going forward|from here on|from now|from june|from (?:january|february|march|april|may|june|july|august|september|october|november|december)|ab (?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember))[ ,.;:]|新|搬|迁|换|调到|升|降|移|切|上げ|下げ|にした|にしました|替え`)
	alsoCue   = lazyregexp.New(`[ ,.;:](?:also|too|as well|additionally|in addition|besides|another|auch|außerdem|zusätzlich|ebenfalls|weitere[rns]?|aussi|également|en plus|encore un|también|además|otr[oa]|também|além|outr[oa])[ ,.;:!]|也|还有|另外|另一|もう一|も(?:使|対応|あり)`)
	unsettled = lazyregexp.New(`[ ,.;:'’](?:if|whether|would|could|should|might|may|maybe|perhaps|probably|plan(?:s|ned|ning)? to|considering|wants?|wanted|not|n['’]t|t|never|no|nobody|used to|was|were|had|would've|` +
		`würde|würden|könnte|könnten|sollte|sollten|vielleicht|evtl|eventuell|falls|wenn|war|waren|nicht|kein|keine|nie|niemals|` +
		`pourrait|devrait|peut-être|était|étaient|jamais|podría|debería|quizás?|tal vez|era|eran|estaba|nunca|poderia|deveria|talvez|estava|não)[ ,.;:]|不|没|ない|ません|かもしれ|でした`)
	counted = lazyregexp.New(`[ (](?:number|numbers|no\.|nr\.?|issue|ticket|pr|mr|bug|task|step|stage|phase|chapter|section|paragraph|line|row|column|page|slide|case|item|question|exercise|lesson|example|figure|table|record|decision|migration|commit|build|sprint|week|day|room|gate|track|episode|season|level|part|` +
		`nummer|schritt|kapitel|abschnitt|zeile|spalte|seite|aufgabe|frage|übung|woche|tag|raum|zimmer|folge|teil|numéro|étape|chapitre|ligne|tâche|exercice|semaine|jour|salle|épisode|partie|número|paso|capítulo|línea|página|tarea|ejercicio|semana|día|sala|episodio|parte|passo|linha|tarefa|exercício|dia|episódio) #?$`)
	supposed     = lazyregexp.New(`[ ,.;:](?:if|unless|whether|in case|falls|wenn|sofern|si|se|quand|cuando|quando) `)
	happened     = lazyregexp.New(`[ ,.;:'’](?:i gave|i met|i ran|i paid|i bought|i spent|ich habe|haben wir|j'ai|nous avons|he \pL+[ai]do|hemos|fui|paguei|comprei|gastei|pagué|compré)[ ,.;:]`)
	circumstance = lazyregexp.New(`(?i)^(?:with|since|after|because of|due to|thanks to|nach|seit|wegen|après|depuis|desde|después de|depois d[aeo]|tras) .{2,60}? (?:the|our|my|die|der|das|unser|unsere|le|la|les|notre|el|los|las|o|a|os|nosso|nossa) `)
	reason       = lazyregexp.New(`(?i),? (?:because|since|so that|after|due to|weil|nachdem|seit|wegen|parce que|depuis|après|porque|desde|después de|tras|depois d[aeo]|as of|as from|ab sofort)[ .].*$`)
	// exclusive says that nothing else is so.
	exclusive = lazyregexp.New(`(?i) (?:is|are) (?:what|the one|the only|who|which)\b|(?:^|[ :])(?:ist|sind) (?:das|der|die), |c'est .{1,40} qui |\bes (?:el|la|lo|quien) que?\b|\bé (?:o|a|quem) que?\b|(?:^|[ :])(?:our|the) (?:only|default|main) `)
)
