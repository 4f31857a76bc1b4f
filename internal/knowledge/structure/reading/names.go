package reading

import (
	"path"
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
	answers := known.Known(l.names)
	for k := first; k < len(answers) && k < len(l.names); k++ {
		if answers[k] && canonical(l.names[k]) == l.names[k] {
			r.filed = found{Mention: Mention{Name: l.names[k], Display: l.names[k], Type: Unknown, Known: true, Confidence: ByEvidence}}
			break
		}
	}
	names, grams := l.names, l.grams[:first]
	for k := 0; k < len(grams) && k < len(answers); {
		best, i := -1, grams[k].from
		for ; k < len(grams) && k < len(answers) && grams[k].from == i; k++ {
			if answers[k] && r.at(i) == nil && canonical(names[k]) == names[k] && (best < 0 || grams[k].to > grams[best].to) {
				best = k
			}
		}
		if best < 0 || r.at(grams[best].to-1) != nil {
			continue
		}
		g := grams[best]
		if literal := r.words[g.from].name; g.to-g.from == 1 && !r.words[g.from].code && !r.words[g.from].path {
			if names[best] != literal && k < len(grams) && grams[k].from == g.to && answers[k] && !r.words[g.to].broken { // "port search" is a search, though there are ports
				continue
			}
			r.numbers(literal, names[best], &l, answers, best)
		}
		f := found{Mention: Mention{Name: names[best], Display: r.display(g.from, g.to), Known: true, Confidence: ByKnown}, from: g.from, to: g.to}
		f.Type = r.kind(&f)
		if f.to < len(r.words) && r.words[f.to].entry.drop && !r.words[f.to].broken && !r.words[f.to-1].possessive {
			f.Type = heads[r.words[f.to].entry.head-1].typ
			f.to++
		}
		r.insert(f)
	}
}

// numbers records the other number of a name that was found. Singular and plural are
// one thing, and claims that are filed under one are found under both.
func (r *reader) numbers(literal, name string, l *lookup, answers []bool, at int) {
	other := literal
	if name != literal && l.grams[at].to < len(r.words) && !r.words[l.grams[at].to].broken && nominal(&r.words[l.grams[at].to], true) { // the invoice of "invoice layout" has no number
		return
	}
	if name == literal {
		if at+1 >= len(l.grams) || at+1 >= len(answers) || !answers[at+1] || l.grams[at+1] != l.grams[at] {
			return
		}
		other = l.names[at+1]
	}
	if len(r.parts) < 3 && canonical(other) == other && !Common(other) {
		r.parts = append(r.parts, Mention{Name: other, Display: other, Type: Unknown, Known: name == literal, Confidence: ByObject})
	}
}

// lookup collects the names to look up, and the word range of each.
type lookup struct {
	r     *reader
	names []string
	grams []gram
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
	if !w.upper || w.entry.class&(calendar|first|plural|second|third|neuter) != 0 || len(w.name) < 2 || w.quoted && w.opens {
		return 0
	}
	if w.entry.is(function) || w.opens && w.entry.is(verb|adjective|label) {
		return 0
	}
	n := 1
	for i+n < len(r.words) && n < 4 && !r.words[i+n-1].possessive {
		x := &r.words[i+n]
		if x.broken || !x.upper || x.path || x.aside || x.entry.class&(calendar|first|function) != 0 {
			break
		}
		n++
	}
	if w.opens && n == 2 && r.words[i+1].capitals && isUsual(r.words[i+1].name) { // "Promote ADR 3"
		return 0
	}
	switch {
	case n > 1:
		return n
	case w.capitals && isUsual(w.name), number(w.name): // API, JSON; v8
		return 0
	case i > 0 && units[w.low] && number(r.words[i-1].name): // 20 MB
		return 0
	case !w.opens && r.tongue == german: // every noun has a capital
		if w.capitals || w.entry.is(product) || !r.determined(i) && i+1 < len(r.words) && personVerbs[r.words[i+1].low] {
			return 1
		}
		return 0
	case !w.opens:
		if r.words[i-1].aside { // the first word behind a label
			return 0
		}
		return 1
	case w.entry.is(common):
		return 0
	case w.entry.is(product), w.capitals, w.possessive, i+1 < len(r.words) && personVerbs[r.words[i+1].low]:
		return 1
	}
	return 0
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
		if f := r.at(i); f != nil {
			continue
		}
		from, determined := r.phrase(i)
		if f := r.at(from); f != nil && f.to <= i { // "the Redis cluster", "GitHub Actions workflow"
			if f.to == i && !w.entry.drop && heads[w.entry.head-1].typ == Person && !f.Known && f.Type != Tool { // "the Money team"
				f.Name, f.Display, f.Type, f.to = r.join(f.from, i+1), r.display(f.from, i+1), Person, i+1
			}
			if f.to == i && w.entry.drop {
				if f.Type == Unknown {
					f.Type = heads[w.entry.head-1].typ
				}
				f.to = i + 1
			}
			continue
		}
		if from == i {
			continue
		}
		if !determined && from > 0 && !r.words[from].broken && i-from > 1 {
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

// Variants returns the names under which a thing may be filed that a text calls name.
// They are distinct, in the form of analysis.Entity, the most literal first: the name
// itself; the words of an identifier ("PaymentsService" is payments service); the end
// of a path and its folder; and each without a head that tells the type (payments
// service is payments). The same names in their other number follow; see OtherNumber.
// Names that are Common are left out. There are at most 8, and none for an empty
// name.
func Variants(name string) []string {
	out := literal(name)
	for _, s := range out[:min(len(out), 4)] {
		if o := OtherNumber(s); o != "" && len(out) < 8 && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// literal returns the variants without those in other numbers.
func literal(name string) []string {
	out := make([]string, 0, 4)
	add := func(s string) {
		s = canonical(lower(s))
		if s != "" && len(out) < 8 && !Common(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	bare := strings.Trim(strings.TrimSpace(name), "`\"'")
	add(bare)
	words := strings.TrimSuffix(bare, "()")
	if isPath(words) || dotted(words) {
		base := path.Base(words)
		add(base)
		if i := strings.LastIndexByte(base, '.'); i > 0 {
			base = base[:i]
			add(base)
		}
		add(humps(base))
		add(headless(canonical(lower(humps(base)))))
		if dir := path.Dir(words); dir != "." && dir != "/" {
			add(path.Base(dir))
			add(headless(canonical(lower(path.Base(dir)))))
		}
		return out
	}
	apart := humps(words)
	add(apart)
	add(headless(canonical(lower(apart))))
	return out
}

// headless returns a name without a last word that tells its type: payments for
// payments service. It returns "" if there is no such word, or if the rest is common.
func headless(name string) string {
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return ""
	}
	if e := lexicon()[name[i+1:]]; !e.drop || Common(name[:i]) {
		return ""
	}
	return name[:i]
}

// humps splits an identifier into its words: PaymentsService, HTTPServer.
func humps(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i > 0 && c >= 'A' && c <= 'Z' {
			prev := s[i-1]
			small := prev >= 'a' && prev <= 'z' || prev >= '0' && prev <= '9'
			last := prev >= 'A' && prev <= 'Z' && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z'
			if small || last {
				b.WriteByte(' ')
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// OtherNumber returns the singular of a name whose last word looks like a plural, or
// else its plural: invoices for invoice, and back. It returns "" for words without
// another number, for paths and identifiers with a dot, and if the result is Common.
// It knows English rules only and may return strings that are no words ("redi"). So
// use it to look names up, never to create one.
func OtherNumber(name string) string {
	n := len(name)
	if n < 4 || strings.ContainsAny(name, "/.") || !letter(name[n-1]) {
		return ""
	}
	var out string
	switch {
	case strings.HasSuffix(name, "ss"), strings.HasSuffix(name, "us"), strings.HasSuffix(name, "is"):
		return ""
	case strings.HasSuffix(name, "ies") && n > 4:
		out = name[:n-3] + "y"
	case strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "xes"), strings.HasSuffix(name, "ches"), strings.HasSuffix(name, "shes"):
		out = name[:n-2]
	case name[n-1] == 's':
		out = name[:n-1]
	case name[n-1] == 'y' && !strings.ContainsRune("aeiou", rune(name[n-2])):
		out = name[:n-1] + "ies"
	case name[n-1] == 'x', strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		out = name + "es"
	default:
		out = name + "s"
	}
	if len(out) > 120 || Common(out) || canonical(out) != out {
		return ""
	}
	return out
}
