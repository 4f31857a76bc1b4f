package reading

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// name finds the names in the text, in their order. Known names come first, since
// they may have more words, then words that are written as names.
func (r *reader) name(known Names) {
	r.known(known)
	for i := 0; i < len(r.words); i++ {
		if f := r.at(i); f != nil {
			i = f.to - 1
			continue
		}
		if m, n := r.written(i); n > 0 && m.Name != "" {
			r.insert(found{Mention: m, from: i, to: i + n})
			i += n - 1
		}
	}
	r.heads()
}

// at returns the mention that covers word i, nil for none.
func (r *reader) at(i int) *found {
	for k := range r.found {
		if f := &r.found[k]; f.from <= i && i < f.to {
			return f
		}
	}
	return nil
}

// insert adds a mention and keeps the order of positions.
func (r *reader) insert(f found) {
	if own := Product(f.Name); own != "" && !Common(own) && f.Type != Person { // one name for all its spellings
		if f.Name = own; f.Type == Unknown || f.Type == System {
			f.Type = Tool
		}
	}
	i := len(r.found)
	for i > 0 && r.found[i-1].from > f.from {
		i--
	}
	r.found = slices.Insert(r.found, i, f)
}

// gram is a range of words that may be a known name.
type gram struct{ from, to int }

// known looks up all known names in one call: every group of one to four words, each
// in singular and plural, and the words of identifiers. If two groups overlap, the
// one that begins first wins, then the longer one, then the literal one.
func (r *reader) known(known Names) {
	if known == nil || len(r.words) == 0 {
		return
	}
	var places [128]gram
	l := lookup{r: r, grams: places[:0], names: make([]string, 0, 3*len(r.words))}
	l.groups()
	path, first := r.file(), len(l.names)
	for _, v := range path {
		l.add(v, -1, -1)
	}
	if len(l.names) == 0 {
		return
	}
	l.answers = known.Known(l.names)
	for k := first; k < min(len(l.names), len(l.answers)); k++ {
		if l.isKnown(k) {
			r.filed = found{Mention: Mention{Name: l.names[k], Display: l.names[k], Type: Unknown, Known: true, Confidence: ByEvidence}}
			break
		}
	}
	l.grams = l.grams[:min(first, len(l.answers))]
	for k := 0; k < len(l.grams); {
		var best int
		if best, k = l.best(k); best >= 0 && r.at(l.grams[best].to-1) == nil {
			r.knownName(&l, best, k)
		}
	}
}

// knownName adds the name number best of a lookup. Those that begin at a later word are from next on.
func (r *reader) knownName(l *lookup, best, next int) {
	g, name := l.grams[best], l.names[best]
	if w := &r.words[g.from]; g.to-g.from == 1 && !w.code && !w.path {
		if name != w.name && next < len(l.grams) && l.grams[next].from == g.to && l.answers[next] && !r.words[g.to].broken { // "port search" is a search, though there are ports
			return
		}
		r.numbers(w.name, name, l, best)
	}
	f := found{Mention: Mention{Name: name, Display: r.display(g.from, g.to), Known: true, Confidence: ByKnown}, from: g.from, to: g.to}
	f.Type = r.kind(&f)
	if f.to < len(r.words) && r.words[f.to].entry.drop && !r.words[f.to].broken && !r.words[f.to-1].possessive {
		f.Type = heads[r.words[f.to].entry.head-1].typ
		f.to++
	}
	r.insert(f)
}

// numbers records the other number of a name that was found. Singular and plural are
// one thing, and claims that are filed under one are found under both.
func (r *reader) numbers(literal, name string, l *lookup, at int) {
	other := literal
	if name != literal && l.grams[at].to < len(r.words) && !r.words[l.grams[at].to].broken && nominal(&r.words[l.grams[at].to], true) { // the invoice of "invoice layout" has no number
		return
	}
	if name == literal {
		if at+1 >= len(l.grams) || !l.answers[at+1] || l.grams[at+1] != l.grams[at] {
			return
		}
		other = l.names[at+1]
	}
	if len(r.parts) < 3 && canonical(other) == other && !Common(other) {
		r.parts = append(r.parts, Mention{Name: other, Display: other, Type: Unknown, Known: name == literal, Confidence: ByObject})
	}
}

// lookup collects the names to look up, the word range of each, and whether records have it.
type lookup struct {
	r       *reader
	names   []string
	grams   []gram
	answers []bool
}

// isKnown reports whether records have name number k.
func (l *lookup) isKnown(k int) bool { return l.answers[k] && canonical(l.names[k]) == l.names[k] }

// best returns the number of the longest known name of those from k on that begin with one word, -1 for none, and the next number.
func (l *lookup) best(k int) (best, next int) {
	best, from := -1, l.grams[k].from
	for ; k < len(l.grams) && l.grams[k].from == from; k++ {
		if l.isKnown(k) && l.r.at(from) == nil && (best < 0 || l.grams[k].to > l.grams[best].to) {
			best = k
		}
	}
	return best, k
}

func (l *lookup) add(name string, from, to int) {
	l.names = append(l.names, name)
	l.grams = append(l.grams, gram{from, to})
}

// groups adds the groups of words in the text.
func (l *lookup) groups() {
	r := l.r
	size := 0
	for i := range r.words {
		size += len(r.words[i].name) + 1
	}
	var b strings.Builder
	b.Grow(size)
	var offsets [64]int
	at := offsets[:0]
	for i := range r.words {
		at = append(at, b.Len())
		b.WriteString(r.words[i].name)
		b.WriteByte(' ')
	}
	at = append(at, b.Len())
	joined := b.String()
	for i := range r.words {
		w := &r.words[i]
		if w.name == "" || w.entry.is(function) && !w.marked() {
			continue
		}
		for n := 1; n <= 4 && i+n <= len(r.words); n++ {
			last := &r.words[i+n-1]
			if last.name == "" || n > 1 && (last.broken || r.words[i+n-2].possessive) {
				break
			}
			if last.entry.is(function) && n > 1 || n == 1 && !r.distinct(i) {
				continue
			}
			name := joined[at[i] : at[i+n]-1]
			l.add(name, i, i+n)
			if n > 1 && !strings.HasSuffix(name, "s") || last.code || last.path || last.entry.is(function|verb) && !last.entry.is(common) {
				continue
			}
			if o := OtherNumber(name); o != "" {
				l.add(o, i, i+n)
			}
		}
		if w.code || w.path {
			for _, v := range Variants(r.text[w.start:w.end]) {
				if v != w.name {
					l.add(v, i, i+1)
				}
			}
		}
	}
}

// file returns names that the file in the claim's evidence may be named after. An imported file
// may be a note about what its name says. Other imported files, and those with names in capitals
// such as CLAUDE.md, are named after a format.
func (r *reader) file() []string {
	for i := range r.claim.Evidence {
		e := &r.claim.Evidence[i]
		if p := e.Path; p != "" {
			base := p[strings.LastIndexByte(p, '/')+1:]
			ext := ""
			if dot := strings.LastIndexByte(base, '.'); dot > 0 {
				base, ext = base[:dot], base[dot:]
			}
			if imported(e) && (ext != ".md" || base == strings.ToUpper(base)) {
				continue
			}
			return Variants(base)
		}
	}
	return nil
}

// marked reports whether a word is written as a name: as code, or with a capital
// inside a sentence.
func (w *word) marked() bool {
	return w.code || w.path || w.upper && !w.opens && !w.capitals && w.entry.class&(calendar|first) == 0 && !w.aside
}

// distinct reports whether a word may be a name without more: it is not common, or is
// written as a name, or is followed by a head that tells its type.
func (r *reader) distinct(i int) bool {
	w := &r.words[i]
	if !Common(w.name) || w.marked() {
		return true
	}
	return !w.entry.is(function|adjective) && i+1 < len(r.words) && r.words[i+1].entry.drop && !r.words[i+1].broken
}

// kind guesses the type of the thing at a mention.
func (r *reader) kind(f *found) Type {
	w := &r.words[f.to-1]
	switch {
	case f.Name == r.speaker.Name:
		return Person
	case w.entry.is(product):
		return Tool
	case w.code || w.path:
		return System
	case w.entry.head > 0 && f.to-f.from > 1:
		return heads[w.entry.head-1].typ
	case r.person(f):
		return Person
	}
	return Unknown
}

// person reports whether a name is used like that of a person: "Ada said", "told
// Ada".
func (r *reader) person(f *found) bool {
	if !r.words[f.from].upper {
		return false
	}
	if f.to < len(r.words) && personVerbs[r.words[f.to].low] {
		return true
	}
	if f.from == 0 {
		return false
	}
	return r.is(f.from-1, "told", "asked", "met", "ask", "tell", "married", "mr", "mrs", "ms", "dr", "named", "friend", "sister", "brother",
		"colleague", "boss", "hey", "hi", "thanks")
}

// personVerbs have a person as their subject.
var personVerbs = analysis.Set(`said says told asked asks thinks thought wants wanted likes liked loves loved prefers preferred hates lives lived moved went knows owns
	maintains leads reviews reviewed joined left decided agreed suggested mentioned explained believes feels felt enjoys works worked wrote
	bought`)

// written returns the name at word i and its number of words; 0 if the word is not
// written as a name.
func (r *reader) written(i int) (Mention, int) {
	w := &r.words[i]
	if w.aside || !w.nameable() {
		return Mention{}, 0
	}
	if m, n := r.korean(i); n > 0 {
		return m, n
	}
	if m, ok := r.unspacedNames(i); ok {
		return m, 1
	}
	if n := r.numbered(i); n > 0 {
		return Mention{Name: r.join(i, i+n), Display: r.display(i, i+n), Type: Concept, Confidence: ByIdentifier}, n
	}
	switch {
	case w.path:
		return Mention{Name: w.name, Display: r.text[w.start:w.end], Type: System, Confidence: ByPath}, 1
	case w.code:
		typ := System
		if w.entry.is(product) {
			typ = Tool
		}
		if len(w.name) < 2 || number(w.name) {
			return Mention{}, 0
		}
		return Mention{Name: w.name, Display: r.text[w.start:w.end], Type: typ, Confidence: ByIdentifier}, 1
	}
	if n := r.capitals(i); n > 0 {
		f := found{Mention: Mention{Name: r.join(i, i+n), Display: r.display(i, i+n), Confidence: ByCapital}, from: i, to: i + n}
		f.Type = r.kind(&f)
		return f.Mention, n
	}
	if w.entry.is(product) && !r.isSpanishVerb(i) {
		return Mention{Name: w.name, Display: r.text[w.start:w.end], Type: Tool, Confidence: ByProduct}, 1
	}
	if i > 1 && r.is(i-1, "called", "named") && !w.entry.is(function|past|finite|verb) && !r.words[i-2].entry.is(function|past|finite|verb) && !number(w.name) {
		f := found{Mention: Mention{Name: w.name, Display: r.text[w.start:w.end], Confidence: ByCapital}, from: i, to: i + 1} // "a project called opencode"
		f.Type = r.kind(&f)
		return f.Mention, 1
	}
	return Mention{}, 0
}

// isSpanishVerb reports whether word i is "llama" in small letters in "se llama" or another Spanish sentence.
func (r *reader) isSpanishVerb(i int) bool {
	w := &r.words[i]
	return w.low == "llama" && !w.upper && (r.tongue == spanish || r.is(i-1, "se", "te", "lo", "la", "le", "los", "las"))
}

// numbered returns the number of words of a document's number, such as ADR 0027 or
// RFC 9110; 0 for none.
func (r *reader) numbered(i int) int {
	if w := &r.words[i]; !w.capitals || w.possessive || i+1 >= len(r.words) || r.words[i+1].broken {
		return 0
	}
	if low := r.words[i+1].low; len(low) < 3 || strings.Trim(low, "0123456789") != "" {
		return 0
	}
	return 2
}

// capitals returns the number of words of a capitalised name that begins at i. The
// first word of a sentence has a capital anyway: it is a name only if a second
// capital, or a verb for persons, follows.
func (r *reader) capitals(i int) int {
	w := &r.words[i]
	if !w.upper || len(w.name) < 2 || w.entry.is(calendar|function|first|plural|second|third|neuter) || w.opens && (w.quoted || w.entry.is(verb|adjective|label)) {
		return 0
	}
	n := 1
	for i+n < len(r.words) && n < 4 && !r.words[i+n-1].possessive {
		x := &r.words[i+n]
		if x.broken || !x.upper || x.path || x.aside || x.entry.is(calendar|first|function) {
			break
		}
		n++
	}
	if n == 1 && !r.isCapitalName(i) || n == 2 && w.opens && r.words[i+1].capitals && isUsual(r.words[i+1].name) { // "Promote ADR 3"
		return 0
	}
	return n
}

// isCapitalName reports whether word i, which has a capital, is a name by itself.
func (r *reader) isCapitalName(i int) bool {
	w := &r.words[i]
	acts := i+1 < len(r.words) && personVerbs[r.words[i+1].low]
	switch {
	case w.capitals && isUsual(w.name), number(w.name): // API, JSON; v8
		return false
	case i > 0 && units[w.low] && number(r.words[i-1].name): // 20 MB
		return false
	case !w.opens && r.tongue == german: // every noun has a capital
		return w.capitals || w.entry.is(product) || acts && !r.determined(i)
	case !w.opens:
		return !r.words[i-1].aside // the first word behind a label is none
	case w.entry.is(common):
		return false
	}
	return w.entry.is(product) || w.capitals || w.possessive || acts
}

// units are written in capitals behind a number, and name nothing there.
var units = analysis.Set("kb mb gb tb pb kib mib gib tib hz khz mhz ghz kbit mbit gbit kbps mbps gbps mb/s gb/s v kv kw mw kwh usd eur gbp chf am pm utc gmt cet cest est edt pst pdt bst")

// heads finds noun phrases whose last word tells the type of what they name.
func (r *reader) heads() {
	for i := range r.words {
		w := &r.words[i]
		if w.entry.head == 0 || w.aside || w.code || w.path {
			continue
		}
		if i+1 < len(r.words) && !r.words[i+1].broken && !w.possessive && r.words[i+1].entry.head > 0 && r.at(i+1) == nil {
			continue // "service registry": the last one is the head
		}
		if r.at(i) != nil {
			continue
		}
		from, determined := r.phrase(i)
		if f := r.at(from); f != nil && f.to <= i { // "the Redis cluster", "GitHub Actions workflow"
			if f.to == i {
				r.addHead(f)
			}
			continue
		}
		if from == i || !determined && from > 0 && !r.words[from].broken && i-from > 1 {
			continue
		}
		name := r.join(from, i+1)
		if w.entry.drop {
			if short := r.join(from, i); i-from > 1 || !Common(short) {
				name = short
			}
		}
		r.insert(found{Mention: Mention{Name: name, Display: r.display(from, i+1), Type: heads[w.entry.head-1].typ, Confidence: ByHead}, from: from, to: i + 1})
	}
}

// addHead adds the head behind a name to it.
func (r *reader) addHead(f *found) {
	e := r.words[f.to].entry
	typ := heads[e.head-1].typ
	switch {
	case e.drop:
		if f.to++; f.Type == Unknown {
			f.Type = typ
		}
	case typ == Person && !f.Known && f.Type != Tool: // "the Money team"
		f.to++
		f.Name, f.Display, f.Type = r.join(f.from, f.to), r.display(f.from, f.to), Person
	}
}

// phrase returns the start of the noun phrase that ends with word i, after its
// determiner and its adjectives, and whether it has a determiner.
func (r *reader) phrase(i int) (from int, determined bool) {
	from = i
	for from > 0 && i-from < 3 && !r.words[from].broken && !r.words[from].opens {
		p := &r.words[from-1]
		if p.aside || p.name == "" || p.possessive || p.path || p.entry.is(function|finite|past|calendar|adjective) || p.entry.is(verb) && !p.entry.is(common) && !r.determined(from-1) || verbal(p) && !(strings.HasSuffix(p.low, "ing") && r.determined(from-1)) || number(p.name) {
			break
		}
		from--
		if f := r.at(from); f != nil {
			return f.from, true
		}
	}
	if from > 0 && !r.words[from].broken {
		p := &r.words[from-1]
		determined = p.entry.is(determiner) || p.possessive || p.entry.is(preposition)
		for k := from - 1; k > 0 && r.words[k].entry.is(adjective); k-- {
			determined = determined || r.words[k-1].entry.is(determiner)
		}
	} else {
		determined = r.words[from].opens
	}
	return from, determined
}

// determined reports whether an article or another determiner is right before word i.
// Then the word is no verb.
func (r *reader) determined(i int) bool {
	return i > 0 && !r.words[i].broken && r.words[i-1].entry.is(determiner)
}

// verbal reports whether a word before a noun is probably a verb form or an adverb:
// "using", "deployed", "quickly".
func verbal(w *word) bool {
	if len(w.low) < 5 || w.upper && !w.opens {
		return false
	}
	return fits(w.low, strings.HasSuffix, "ly", "ed") || strings.HasSuffix(w.low, "ing") && !w.entry.is(common) && !gerunds[w.low]
}

// gerunds are names of things that a project has.
var gerunds = analysis.Set("staging billing pricing onboarding shipping logging routing messaging")
