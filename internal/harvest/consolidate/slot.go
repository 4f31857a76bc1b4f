package consolidate

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/lru"
)

// oneFact is the maximum number of words of a statement that is taken to say one thing. A longer
// one says other things as well, which would be lost if it were replaced.
const oneFact = 24

// change is a value of an earlier statement that a later one replaces.
type change struct {
	was         span   // the old value in the earlier text
	clause      span   // the clause with that value
	is          string // the new value, in the words of the later text
	onlyContent bool   // the earlier text says nothing else
	bond        float64
	judged      bool // found by the trained model only
	perhaps     bool // the change is uncertain
}

// statementValues holds the values, clauses and terms of a statement.
type statementValues struct {
	text    string
	values  []mention
	clauses []span
	terms   [][]term // terms of each clause, without those of values
}

// term is a stemmed content word.
type term struct {
	stem string
	prep bool // a preposition is before it
	name bool // it is written like a name
	open bool // it is the first of its clause
}

// parsed holds what a statement says, read when it is first asked for. Nothing changes it then.
type parsed struct {
	values func() *statementValues
	plans  func() bool
}

// recent holds the statements that were read last. A new claim is compared with many known ones, and most of
// these with the next one, too, so each is read once. It is bounded, so that a forgotten statement leaves it.
var recent struct {
	sync.Mutex
	lru.List[string, parsed]
}

// mostRecent is the maximum number of statements in recent. With 16, learning took half as long again.
const mostRecent = 256

func parsedOf(text string) parsed {
	recent.Lock()
	defer recent.Unlock()
	p, ok := recent.Get(text)
	if !ok {
		p = parsed{
			values: sync.OnceValue(func() *statementValues { return readValues(text) }),
			plans:  sync.OnceValue(func() bool { return readPlans(text) }),
		}
		recent.Put(text, p)
		if recent.Len() > mostRecent {
			recent.TakeOldest()
		}
	}
	return p
}

// valuesOf returns the values of a statement, which the caller must not change.
func valuesOf(text string) *statementValues { return parsedOf(text).values() }

func readValues(text string) *statementValues {
	s := &statementValues{text: text, values: mentions(text)}
	s.clauses = clausesOf(text, s.values)
	for _, c := range s.clauses {
		s.terms = append(s.terms, s.content(c))
	}
	return s
}

// content returns the stemmed content words of a clause in their order. In scripts without spaces
// between words it returns pairs of characters.
func (s *statementValues) content(c span) (out []term) {
	text := []byte(s.text[c.from:c.to])
	for i := range s.values {
		for at := max(s.values[i].from, c.from); at < min(s.values[i].to, c.to); at++ {
			text[at-c.from] = ' '
		}
	}
	prep := false
	for w := range strings.FieldsFuncSeq(analysis.WithoutPastNotes(string(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '_'
	}) {
		if r := []rune(w); analysis.Unspaced(r[0]) {
			for i := range len(r) - 1 {
				if pair := string(r[i : i+2]); !unicode.In(r[i], unicode.Hiragana) && !unicode.In(r[i+1], unicode.Hiragana) && !changeCue.MatchString(pair) {
					out = append(out, term{stem: pair})
				}
			}
			continue
		}
		low := lower(w)
		low = strings.TrimSuffix(strings.TrimSuffix(low, "'s"), "’s")
		if i := strings.IndexAny(low, "'’"); i >= 0 && i <= 2 { // l'équipe
			_, size := utf8.DecodeRuneInString(low[i:])
			low = strings.TrimLeft(low[i+size:], "’'")
		}
		if low == "" || isDigit(low[0]) || function(low) || !strings.ContainsFunc(low, unicode.IsLetter) || changeCue.MatchString(" "+low+" ") {
			prep = prepositions[low] || prep && function(low)
			continue
		}
		first, _ := utf8.DecodeRuneInString(w)
		out, prep = append(out, term{analysis.Stem(low), prep, unicode.IsUpper(first), len(out) == 0}), false
	}
	return out
}

func (s *statementValues) all() (out []term) {
	for _, t := range s.terms {
		out = append(out, t...)
	}
	return out
}

// clauseOf returns the index of the clause with a value.
func (s *statementValues) clauseOf(m *mention) int {
	for i, c := range s.clauses {
		if c.from <= m.from && m.to <= c.to {
			return i
		}
	}
	return 0
}

// sameFamily reports whether two stems are probably of one family: one is a prefix of the other, or both
// have a long common prefix.
func sameFamily(a, b string) bool {
	if a == b {
		return true
	}
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n >= 5 || n >= 4 && (n == len(x) || n == len(y))
}

func holds(list []term, w string) bool {
	return slices.ContainsFunc(list, func(o term) bool { return sameFamily(o.stem, w) })
}

// shared counts the terms of a that have a related term in b, and those that have an equal one.
func shared(a, b []term) (alike, equal int) {
	for i, t := range a {
		is := func(o term) bool { return o.stem == t.stem }
		switch {
		case slices.ContainsFunc(a[:i], is):
		case slices.ContainsFunc(b, is):
			alike, equal = alike+1, equal+1
			if t.name && slices.ContainsFunc(b, func(o term) bool { return o.stem == t.stem && o.name }) {
				equal++ // a name counts twice
			}
		case holds(b, t.stem):
			alike++
		}
	}
	return alike, equal
}

// replacedValue returns the value of an earlier statement that a later one replaces. The later one
// must say that something changed, with "now", "moved", "instead" or a similar word in one of the
// supported languages. Only values, words and such cues are compared, so it works for sentences
// that can't be parsed. In doubt it returns false: a value that is not replaced is merely kept
// beside the new one, but a fact that is replaced wrongly is lost.
func replacedValue(before, after string) (change, bool) {
	if !sameSpeaker(before, after) || planned(before, after) {
		return change{}, false
	}
	if c, ok := replacedHolder(before, after); ok {
		return c, true
	}
	if c, ok := replacedPlace(before, after); ok {
		return c, true
	}
	fresh := valuesOf(after)
	if _, _, pair := fresh.fromTo(); !pair && !fresh.tellsChange(0, len(after), true) {
		return change{}, false
	}
	old := valuesOf(before)
	if len(old.values) > 1 && len(fresh.values) > 1 {
		if a, b := old.number(), fresh.number(); a != nil && b != nil && !a.same(b) {
			return change{}, false // "item 3 was moved to shelf 8" says nothing of item 2
		}
	}
	return old.replacedBy(fresh)
}

// number returns the number behind the noun with which a statement begins, nil if there is none: the 57 in "ticket 57 was
// moved to the queue".
func (s *statementValues) number() *mention {
	if len(s.values) == 0 {
		return nil
	}
	m := &s.values[0]
	before := strings.Fields(strings.TrimPrefix(s.text[:m.from], "User: "))
	if n := len(before); m.kind != numberType || n == 0 || n > 2 || n == 2 && !strings.EqualFold(before[0], "the") {
		return nil
	}
	return m
}

// tellsChange reports whether s.text[from:to] says that something has changed. If weakly is true,
// words count as well that say so only together with a value that the statement names.
func (s *statementValues) tellsChange(from, to int, weakly bool) bool {
	part := " " + strings.ToLower(s.text[from:to]) + " "
	return changeCue.MatchString(part) || weakly && weakCue.MatchString(part)
}

// planned reports whether the statement after is only a plan, a wish, a guess or a question, and the
// statement before is none. What may be once does not end what is.
func planned(before, after string) bool { return plans(after) && !plans(before) }

func plans(text string) bool { return parsedOf(text).plans() }

func readPlans(text string) bool {
	if strings.HasSuffix(strings.TrimRight(text, " )"), "?") {
		return true
	}
	planned := false
	for _, c := range clausesOf(text, nil) {
		low := " " + strings.ToLower(text[c.from:c.to]) + " "
		switch changes := changeCue.MatchString(low); {
		case mayBe.MatchString(low), intention.MatchString(low) && !changes:
			planned = true
		case changes:
			return false
		}
	}
	return planned
}

// mayBe matches words of what is not decided, or not done yet. intention matches those of what is decided or wished for,
// unless the statement says as well that something has changed.
var (
	mayBe = lazyregexp.New(`[ ,.;:](might|may (?:be|become|move|switch|change|replace|raise|lower|drop)|maybe|perhaps|possibly|(?:we|i) could|would be nice|should (?:we|i)|thinking (?:of|about)|(?:am|are|i'm|we're) considering|considers|debating|toying with|(?:i'm|we're|i am|we are) (?:just |currently )?(?:adding|fixing|writing|debugging|refactoring|reviewing)|someday|some day|at some point|eventually|in the long run|what if|` +
		`vielleicht|eventuell|könnten?|würden?|sollten wir|wir sollten|überlegen|überlegt|irgendwann|peut-être|pourrai(?:t|s|ent)|pourrions|envisage|envisageons|on pense|devrait-on|un jour|quizás?|tal vez|podríamos|podría|pensando en|algún día|talvez|poderíamos|poderia|um dia)[ ,.;:]|かもしれ|検討|也许|可能会|考虑`)
	intention = lazyregexp.New(`[ ,.;:](going to|gonna|(?:we|i) should|plan(?:s|ning)? to|next (?:year|quarter))[ ,.;:]`)
)

// sameSpeaker reports whether two statements may be by the same person. A statement that a person
// makes about themselves begins with their name.
func sameSpeaker(a, b string) bool {
	x, y := speakerName.FindString(a), speakerName.FindString(b)
	return x == y || x == "" || y == ""
}

var speakerName = lazyregexp.New(`^\p{Lu}\pL{1,20}: `)

// fromTo returns two values of which the statement says that the first became the second: "from
// 450ms to 120ms". Such a statement says so of no other value. ok is false if there are none.
func (s *statementValues) fromTo() (from, to *mention, ok bool) {
	for i := 1; i < len(s.values); i++ {
		a, b := &s.values[i-1], &s.values[i]
		if a.kind != b.kind && b.kind != amountType {
			continue
		}
		if between := strings.Fields(lower(s.text[a.to:b.from])); len(between) < 4 && slices.ContainsFunc(between, func(w string) bool { return towards[w] }) && fromWord.MatchString(s.text[:a.from]) {
			return a, b, true
		}
	}
	return nil, nil, false
}

var (
	towards  = map[string]bool{"to": true, "auf": true, "à": true, "a": true, "para": true, "pra": true}
	fromWord = lazyregexp.New(`(?i)(?:^|[ ,])(?:from|von|vom|de|del|da|do) (?:the )?$`)
)

// notBut is like fromTo for a value that is denied: "no longer on Tuesdays but on Thursdays". The values are
// nil if there are none. only says that both values are right: "not only on Tuesdays but on Thursdays".
func (s *statementValues) notBut() (from, to *mention, only bool) {
	for i := 1; i < len(s.values); i++ {
		a, b := &s.values[i-1], &s.values[i]
		if a.kind != b.kind && b.kind != amountType || len(strings.Fields(s.text[a.to:b.from])) > 4 || !butWord.MatchString(s.text[a.to:b.from]) {
			continue
		}
		if before := s.text[s.clauses[s.clauseOf(a)].from:a.from]; deniedWord.MatchString(before) {
			return a, b, notOnly.MatchString(before)
		}
	}
	return nil, nil, false
}

var (
	butWord    = lazyregexp.New(`(?i)[ ,](?:but|sondern|mais|sino|mas) `)
	deniedWord = lazyregexp.New(`(?i)(?:^|[ ,:])(?:no|not|never|\pL+n['’]t|nicht|keine?n?|plus|pas|não) `)
	notOnly    = lazyregexp.New(`(?i) (?:only|just|merely|simply|always|nur|bloß|immer|seulement|uniquement|toujours|s[oó]lo|solamente|siempre|só|apenas|sempre) `)
)

func (s *statementValues) replacedBy(fresh *statementValues) (change, bool) {
	var best change
	most, ties := 0.0, 0
	from, to, pair := fresh.fromTo()
	least := 0.0
	var added *mention
	if denied, is, only := fresh.notBut(); only {
		added = is
	} else if !pair && is != nil {
		from, to, pair = denied, is, true
		least = onlyNamed // "I'm not there on 3 May but on 4 May" moves nothing to the 4th
	}
	for i := range s.values {
		o := &s.values[i]
		for j := len(fresh.values) - 1; j >= 0; j-- {
			n := &fresh.values[j]
			if s.inRange(i) || fresh.inRange(j) || n == added || !pair && fresh.lists(j, o) {
				continue
			}
			if pair && (n != to || !o.same(from)) || !n.replaces(o) || s.has(n) || fresh.hasMoreLike(o, n) {
				continue
			}
			score := s.bond(o, fresh, n)
			if score <= least {
				continue
			}
			c := change{was: o.span, is: fresh.text[n.from:n.to], clause: s.clauses[s.clauseOf(o)]}
			if score > most {
				best, most, ties = c, score, 0
			} else if score == most && c.clause != best.clause {
				ties++
			}
			break
		}
	}
	if most == 0 || ties > 0 {
		return change{}, false
	}
	best.was = s.withJoined(best.was)
	best.onlyContent, best.bond = s.single(), most
	return best, true
}

// has reports whether the statement names the same value as m.
func (s *statementValues) has(m *mention) bool {
	return slices.ContainsFunc(s.values, func(x mention) bool { return x.kind == m.kind && x.same(m) })
}

// hasMoreLike reports whether the statement has a value that is more like old than its value m is: of "8086 with version 2.0",
// 8086 replaces 9999.
func (s *statementValues) hasMoreLike(old, m *mention) bool {
	return m.decimal() != old.decimal() && slices.ContainsFunc(s.values, func(x mention) bool { return x.kind == m.kind && x.decimal() == old.decimal() && !x.same(old) })
}

// withJoined returns the place of a value, together with those of its kind that it is joined with: "Tuesdays and Thursdays".
func (s *statementValues) withJoined(at span) span {
	inside := func(m *mention) bool { return m.from >= at.from && m.to <= at.to }
	for i := 1; i < len(s.values); i++ {
		a, b := &s.values[i-1], &s.values[i]
		between := s.text[a.to:b.from]
		if a.kind == b.kind && len(strings.Fields(between)) <= 2 && !strings.ContainsAny(between, ".,;") && (inside(a) || inside(b)) {
			at = span{min(a.from, at.from), max(b.to, at.to)}
		}
	}
	return at
}

// correctedValue returns the value that a later statement of the same session corrects: "I was
// wrong, it's 300 a day", or "then 40" after an answer of 64. The earlier statement says what the
// value belongs to.
func correctedValue(before, after string) (change, bool) {
	low := " " + strings.ToLower(analysis.WithoutPastNotes(after)) + " "
	answer := strings.Contains(before, " Answer: ")
	if !correctionCue.MatchString(low) && !(answer && anotherCue.MatchString(low)) {
		return change{}, false
	}
	old, fresh := valuesOf(before), valuesOf(after)
	about, named := partAbout(before, analysis.Terms(after))
	best, found := change{}, false
	for i := len(old.values) - 1; i >= 0; i-- {
		for j := range fresh.values {
			o, n := &old.values[i], &fresh.values[j]
			if answer && o.from < strings.Index(before, " Answer: ") || !n.replaces(o) || o.kind != n.kind || o.unit != n.unit {
				continue
			}
			if inside := named && o.from >= about.from && o.to <= about.to; inside || !found {
				best, found = change{was: o.span, is: after[n.from:n.to], clause: old.clauses[old.clauseOf(o)], onlyContent: old.single()}, true
				if inside {
					return best, true
				}
			}
		}
	}
	return best, found
}

// inRange reports whether value i is one end of a range: "Feb 16 - Mar 15".
func (s *statementValues) inRange(i int) bool {
	ends := func(a, b int) bool {
		if a < 0 || b >= len(s.values) || s.values[a].kind != s.values[b].kind {
			return false
		}
		between := strings.TrimSpace(s.text[s.values[a].to:s.values[b].from])
		return between == "-" || between == "–" || between == "bis"
	}
	return ends(i-1, i) || ends(i, i+1)
}

// lists reports whether value j is in one list with o: "sides of 10 cm, 15 cm and 20 cm".
func (s *statementValues) lists(j int, o *mention) bool {
	for i := range s.values {
		if i == j || !s.values[i].same(o) {
			continue
		}
		a, b := min(i, j), max(i, j)
		between := strings.FieldsFunc(s.text[s.values[a].to:s.values[b].from], func(r rune) bool { return r == ' ' || r == ',' })
		if len(between) <= 2*(b-a) && !slices.ContainsFunc(between, func(w string) bool {
			return w != "and" && w != "or" && w != "und" && !strings.ContainsAny(w, "0123456789") && len(w) > 3
		}) && !towardsIn(between) {
			return true
		}
	}
	return false
}

func towardsIn(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return towards[lower(w)] })
}

// single reports whether a statement says only one thing.
func (s *statementValues) single() bool {
	return len(s.clauses) == 1 && len(strings.Fields(s.text)) <= oneFact && !joined.MatchString(s.text)
}

// joined matches a second statement after a conjunction.
var joined = lazyregexp.New(`(?i) (?:and|und|et|y|e) (?:\pL+ ){1,4}(?:is|are|has|have|runs?|goes|ist|sind|hat|haben|est|sont|es|son|é|são|tem) `)

// bond returns how surely n is the new value of what o gives a value to; 0 means that it is not.
func (s *statementValues) bond(o *mention, fresh *statementValues, n *mention) float64 {
	i, j := s.clauseOf(o), fresh.clauseOf(n)
	if staysCue.MatchString(" " + strings.ToLower(fresh.text[fresh.clauses[j].from:fresh.clauses[j].to]) + " ") {
		return 0
	}
	named := slices.ContainsFunc(fresh.values, func(x mention) bool { return x.same(o) })
	if _, to, pair := fresh.fromTo(); !(pair && to.from == n.from) && !fresh.tellsChange(fresh.clauses[max(0, j-1)].from, fresh.clauses[j].to, named) {
		return 0
	}
	mine, theirs := s.terms[i], fresh.terms[j]
	all, freshAll := s.all(), fresh.all()
	if c := s.clauses[i]; len(mine) == 0 || startsWithPronoun(s.text[c.from:c.to]) {
		mine = all // the thing was named in another clause
	}
	if parallel(mine, freshAll, all) {
		return 0
	}
	alike, equal := shared(mine, freshAll)
	if o.kind == amountType && o.unit == n.unit && !measures[o.unit] {
		alike, equal = alike+1, equal+1 // both count the same thing, such as seats
	}
	if named && alike > 0 {
		return 2 + float64(equal)
	}
	if named && o.kind == dateType {
		return onlyNamed
	}
	if equal == 0 || o.kind == numberType && n.kind == numberType && o.unit == "" {
		return 0
	}
	// A statement about the same thing names the first term of one of the two clauses.
	if !(len(mine) > 0 && holds(freshAll, mine[0].stem) || len(theirs) > 0 && holds(all, theirs[0].stem)) {
		return 0
	}
	least := min(len(mine), len(freshAll))
	if equal >= leastSharedTerms && float64(equal) >= leastSharedPart*float64(least) || least <= 3 && n.kind == o.kind {
		return 1 + float64(equal)/float64(max(1, least))
	}
	return 0
}

// onlyNamed is the bond of two statements that have nothing in common except the earlier one's
// date. It counts only if no other statement has such a bond.
const onlyNamed = 0.5

func startsWithPronoun(s string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return lexicon()[lower(first)].is&pronoun != 0
}

// parallel reports whether two statements are about different things in the same words: "the
// payments service" and "the ledger service", "the logs in Leeds" and "the logs in York".
func parallel(mine, theirs, all []term) bool {
	differ := func(a, b term) bool { return !holds(theirs, a.stem) && !holds(all, b.stem) }
	for i, t := range mine {
		for j, u := range theirs {
			switch {
			case t.stem != u.stem:
			case i > 0 && j > 0 && !t.open && !u.open && differ(mine[i-1], theirs[j-1]),
				i+1 < len(mine) && j+1 < len(theirs) && mine[i+1].prep && theirs[j+1].prep && !mine[i+1].open && !theirs[j+1].open && differ(mine[i+1], theirs[j+1]):
				return true
			}
		}
	}
	return false
}

// prepositions holds words before a place, a time or a relation.
var prepositions = analysis.Set("in on at for of to from by with im am an für von vom bei mit aus nach auf dans pour de du des sur chez en del con para do da dos das em no na com")

// measures holds units that do not say what is measured.
var measures = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`k km m cm mm kg g mb gb tb kb ms s sec second min minute h hour day week month year time percent
		tage tag woche monat jahr stunde minute sekunde jour semaine mois an heure día semana mes año hora dia mês ano`) {
		m[analysis.Stem(w)], m[w] = true, true
	}
	return m
}()

// Minimum number, and minimum share of the shorter clause, of terms that two statements about one
// thing have in common.
const (
	leastSharedTerms = 2
	leastSharedPart  = 0.3
)

// genericTerms holds terms that say nothing about a topic: cues of a change, and words that are in most
// statements.
var genericTerms = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`user now moved instead new changed still answer same from today week month year day hour minute until team people also
		jetzt neu statt noch heute woche maintenant désormais nouveau ahora nuevo agora novo one two three four five it we our uns unser wird haben hat nicht
		qui que quoi nous notre chez tous toutes cette ça cela nuestro lo se me te mi su nos pra pro tem nosso nossa meu minha seu sua isso aí top got get
		à de au aux ne pas plus se ce il elle ils est-ce j'ai dû mais ou donc car ha han hay he ya aus ein sagt ab gehen geht ins zur zum den dem des als dass wenn dann aber oder
		porque pero cuando como más muy foi vai tá já mais mas também ele ela eles`) {
		m[analysis.Stem(w)], m[w] = true, true
	}
	return m
})

// staysCue matches words that say that something is unchanged.
var staysCue = lazyregexp.New(`[ ,.;:](stays?|stayed|remains?|unchanged|as before|bleibt|bleiben|unverändert|reste|restent|inchangée?s?|se queda|sigue|siguen|se mantiene|continua|continuam|fica como)[ ,.;:]|そのまま|不变|照旧`)

// changeCue matches words that say that something has changed.
var changeCue = lazyregexp.New(`[ ,.;:](now|instead|change of plans?|moved|moves to|move to|moves off|moving to|changed|changes to|raised|raise|lifted|lowered|reduced|increased|dropped|no longer|from now on|slipped|slips|shifted|shifting|postponed|pushed back|pushed to|be pushed|was pushed|delayed|brought forward|as of|replaced|back to|used to be|took over|takes over|down to|took it down|make it|makes it|becomes|goes to|after all|anymore|any more|any longer|switched|update:|correction|new date|scratch that|i was wrong|` +
	`jetzt|nur noch|künftig|ab sofort|statt|verschoben|verschiebt|weichen auf|erhöht|gesenkt|nicht mehr|neuerdings|geändert|` +
	`désormais|dorénavant|maintenant|passe à|passe de|passent à|décalé|décalée|reporté|reportée|au lieu|ne .{1,15} plus|changé|` +
	`ahora|desde ahora|cambia|cambió|cambiado|pasa a|pasamos a|en lugar de|en vez de|ya no|movemos|mueve|aplazado|se retrasa|` +
	`agora|mudança|mudou|muda|passa a|passou a|em vez de|adiado|adiada|subiu|baixou|a partir de)[ ,.;:]|` +
	`改成|改到|改为|变成|换成|推迟|提前到|加到|降到|涨到|现在是|不再|変わり|変更|延期|今後は|これからは|に移り|引き上げ|引き下げ`)

// correctionCue matches words with which people correct what they have just said. anotherCue
// matches words with which they try another value.
var (
	correctionCue = lazyregexp.New(`[ ,.;:](no wait|wait,? no|no,? sorry|sorry,? no|scratch that|i meant|or rather|nvm|never ?mind|whoops|oops|hold on|(?:sorry|sry),? wrong|(?:told|gave) (?:you|u|ya) (?:the )?wrong(?: one)?|got (?:it|that) wrong|actually,? no|no,? actually|i was wrong|i misspoke|my mistake|my bad|i mistyped|strike that|that's wrong|not \S+,? but|correction|` +
		`nein,? warte|nein,? moment|ach nein|nein,? doch|quatsch|korrektur|ich meinte|stimmt nicht|vertan|verschrieben|` +
		`non,? attends|ah non|pardon|je me trompe|je me suis trompée?|je voulais dire|enfin non|euh non|` +
		`no,? espera|no,? perdón|perdona|qué digo|quiero decir|me equivoqué|me he equivocado|corrijo|miento|mejor dicho|` +
		`não,? espera|não,? pera|desculpa|quer dizer|me enganei|errei|corrigindo|aliás|melhor dizendo|minto)[ ,.;:]|不对|说错|更正|记错|打错|間違え|訂正|じゃなくて`)
	anotherCue = lazyregexp.New(`^ (?:user: )?(?:ok,? |okay,? |well,? |hm+,? |na gut,? )?(?:then|let's (?:do|try|take|make it|go with)|make it|dann|alors|entonces|então|allora|try|take|nimm|disons)[ ,]|^.{1,40} (?:then|instead|dann|alors|entonces|então)[ .!]+$|那就|では|じゃあ`)
)

// weakCue matches words of statements that replace a value, which many other statements have as
// well.
var weakCue = lazyregexp.New(`[ ,.;:](becomes|become|became|goes to|go to|went|back|after all|cut|not|no more|so it is|nur noch|wird|werden|zurück|doch|nicht|finalement|devient|retour|plus|al final|vuelve|ya|no|acabou|volta|virou|fomos|não)[ ,.;:]`)

// amend returns the earlier text with a note behind the value that changed.
func (c *change) amend(text string, from, at time.Time) string {
	return text[:c.was.to] + changedTo(c.is, from, at, c.perhaps) + text[c.was.to:]
}
