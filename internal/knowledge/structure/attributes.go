package structure

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/store"
)

// Aspect is one of an entity's aspects, merged over all its names.
type Aspect struct {
	store.AspectOutline
	Weight float64
}

// Aspects merges the aspects of an entity's names, and returns them heaviest first. Counts
// are added, so a claim with two of the names counts twice. join merges the records of an
// aspect that two names have. u may be nil.
func Aspects(entity string, ofNames [][]store.AspectOutline, u Utility, join func(a, b []store.Ref) []store.Ref) []Aspect {
	at := map[string]int{}
	var out []Aspect
	for _, a := range slices.Concat(ofNames...) {
		i, ok := at[a.Name]
		if !ok {
			at[a.Name] = len(out)
			out = append(out, Aspect{AspectOutline: a})
			continue
		}
		have := &out[i]
		have.Claims, have.Constraints, have.Others = have.Claims+a.Claims, have.Constraints+a.Constraints, have.Others+a.Others
		have.Top = join(have.Top, a.Top)
	}
	largest := 0
	for i := range out {
		largest = max(largest, degree(&out[i].AspectOutline))
	}
	for i := range out {
		a := &out[i]
		var shown, used float64
		if u != nil {
			shown, used = u.Counts(entity, a.Name)
		}
		a.Weight = Weight(&a.AspectOutline, largest, shown, used)
	}
	slices.SortFunc(out, func(a, b Aspect) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// merged merges two lists of records in the order of store.AspectOutline.Top.
func (g *Graph) merged(a, b []store.Ref) []store.Ref {
	out := slices.Concat(a, b)
	rows := make(map[store.Ref]store.Row, len(out))
	for _, ref := range out {
		rows[ref], _ = g.src.Row(ref)
	}
	slices.SortFunc(out, func(x, y store.Ref) int {
		p, q := rows[x], rows[y]
		return cmp.Or(cmp.Compare(q.Support.Tier, p.Support.Tier), q.CreatedAt.Compare(p.CreatedAt), cmp.Compare(p.ID, q.ID), cmp.Compare(x, y))
	})
	return slices.Compact(out)
}

// attributes adds the claims under an entity's heaviest aspects. like has the values that
// depend on the entity.
func (g *Graph) attributes(c *collector, entity string, names []string, like Attribute, b Bounds) {
	var ofNames [][]store.AspectOutline
	for _, o := range c.w.outlines(names) {
		ofNames = append(ofNames, o.Aspects)
	}
	aspects := Aspects(entity, ofNames, g.utility, g.merged)
	for _, a := range aspects[:min(len(aspects), b.Aspects)] {
		for _, ref := range a.Top[:min(len(a.Top), b.Attributes)] {
			if c.added[ref] || c.addedRules[ref] {
				continue
			}
			c.added[ref] = true
			at := like
			at.Ref, at.Entity, at.Aspect, at.Weight = ref, entity, a.Name, a.Weight
			c.t.Attributes = append(c.t.Attributes, at)
		}
	}
}

// order sorts attributes, the best first, by nearness and weight. Each further attribute of
// an aspect counts less, so that one aspect does not fill the list.
func (g *Graph) order(list []Attribute) []Attribute {
	if len(list) == 0 {
		return nil
	}
	type under struct{ entity, aspect string }
	type placed struct {
		score float64
		at    int
	}
	nth := map[under]int{}
	by := make([]placed, len(list))
	for i := range list {
		a := &list[i]
		k := under{a.Entity, a.Aspect}
		nth[k]++
		by[i] = placed{a.Near * a.Weight / float64(nth[k]), i}
	}
	slices.SortFunc(by, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(list[a.at].Ref, list[b.at].Ref))
	})
	out := make([]Attribute, len(list))
	for i, p := range by {
		out[i] = list[p.at]
	}
	return out
}

// Signs holds the parts of a turn that show which entities it is about.
//
// A name in the text is found in any of its spellings. A common word ("go", "set", "main")
// is a name only if it is written as one: as code, as a symbol, with a capital inside a
// sentence, or with its type after it ("the go service").
type Signs struct {
	Signals ken.Signals
	Text    string // text to find names in; if empty, Signals.Question. Of a long text, the beginning and the end are read
	Project string // the project's name, or its folder's path
	Scopes  []ken.Scope
	// Carried are entities from the session's earlier turns and its checkpoint, strongest
	// first, by Focus.Name.
	Carried []string
	// Named holds further names of what the turn names, in any spelling. Beside holds what
	// is connected to it, see Beside.
	Named  []string
	Beside []Beside
	// Done holds texts that show what is being done, such as commands and the arguments of
	// tool calls. Rules of things that these actions involve are included, as for actions
	// that the text asks for; see reading.Deeds.
	Done []string
}

// Origin is the reason why an entity is focal.
type Origin string

// Origins, strongest first.
const (
	FromCode    Origin = "code"    // the turn names it, as code or a symbol
	FromText    Origin = "text"    // the turn names it
	FromSession Origin = "session" // an earlier turn of the session named it
	FromScope   Origin = "scope"   // the turn's scope has its name
	FromProject Origin = "project" // the project has its name
	FromDeed    Origin = "deed"    // an action in the turn involves it
)

// Named reports whether the turn itself names an entity of this origin.
func (o Origin) Named() bool { return o == FromCode || o == FromText }

// rank orders origins; 0 is the strongest.
func (o Origin) rank() int {
	return slices.Index([]Origin{FromCode, FromText, FromSession, FromScope, FromProject, FromDeed}, o)
}

// Near returns how near an entity of this origin is to what the turn is about, 0..1. Only
// the order of the numbers is meaningful.
func (o Origin) Near() float64 {
	switch {
	case o.Named():
		return 1
	case o == FromSession:
		return 0.6
	}
	return 0.4
}

// Focus is an entity that a turn is about.
type Focus struct {
	Name  string   // primary name, in the form of analysis.Entity
	Names []string // all its names, Name first
	From  Origin
	Said  string // the name by which it was found, in the same form
}

// mention is a possible name in the signs.
type mention struct {
	name  string
	from  Origin
	words int  // number of words; more words are more certain
	at    int  // position; earlier is stronger
	alias bool // another name of the product that was named
	typed bool // a common word, which is a name only if one of its heads tells its type
}

// better reports whether m is the stronger mention.
func (m *mention) better(o *mention) bool {
	if a, b := m.from.rank(), o.from.rank(); a != b {
		return a < b
	}
	if m.words != o.words {
		return m.words > o.words
	}
	return m.at < o.at
}

// mentions collects possible names, each once.
type mentions struct {
	list []mention
	at   map[string]int
	// heads maps a common word to the words after it. The word is a name if one of them
	// tells a type.
	heads map[string][]string
}

func (ms *mentions) add(m mention) {
	if m.name == "" {
		return
	}
	if !m.typed && !m.alias {
		for _, other := range reading.ProductNames(m.name) { // postgres is postgresql
			if other != m.name {
				same := m
				same.name, same.alias = other, true
				ms.add(same)
			}
		}
	}
	if i, ok := ms.at[m.name]; ok {
		if m.better(&ms.list[i]) {
			m.typed = m.typed && ms.list[i].typed
			ms.list[i] = m
		} else if !m.typed {
			ms.list[i].typed = false
		}
		return
	}
	ms.at[m.name] = len(ms.list)
	ms.list = append(ms.list, m)
}

// spelled adds a name and its variants. A common word is added only if it is marked as a
// name.
func (ms *mentions) spelled(raw string, from Origin, at int, marked bool) {
	whole := analysis.Entity(raw)
	if whole == "" {
		return
	}
	if marked || !reading.Common(whole) {
		ms.add(mention{name: whole, from: from, words: 1, at: at})
	}
	if !hasVariants(raw) {
		if other := reading.OtherNumber(whole); other != "" && (marked || !reading.Common(whole)) { // an invoice is one of the invoices
			ms.add(mention{name: other, from: from, words: 1, at: at})
		}
		return
	}
	for _, v := range reading.Variants(raw) { // no variant is common
		ms.add(mention{name: v, from: from, words: 1, at: at})
	}
}

// hasVariants reports whether a name may have variants: an identifier, a path, or several
// words.
func hasVariants(raw string) bool {
	return strings.ContainsAny(raw, "./_-( ") || strings.ContainsAny(raw[min(1, len(raw)):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// typed records a common word with the word after it.
func (ms *mentions) typed(name, head string, at int) {
	ms.add(mention{name: name, from: FromText, words: 1, at: at, typed: true})
	ms.heads[name] = append(ms.heads[name], head)
}

// means reports whether a mention is really a name.
func (ms *mentions) means(m *mention) bool {
	if !m.typed {
		return true
	}
	const name = "payments" // any name that is not common
	return slices.ContainsFunc(ms.heads[m.name], func(head string) bool {
		return slices.Contains(reading.Variants(name+" "+head), name)
	})
}

// mentionsOf collects the possible names in all signs.
func mentionsOf(s *Signs) *mentions {
	const usual = 64 // a message of some sentences
	ms := &mentions{list: make([]mention, 0, usual), at: make(map[string]int, usual), heads: map[string][]string{}}
	for i, sym := range s.Signals.Symbols {
		ms.spelled(sym, FromCode, i, true)
	}
	text := s.Text
	text = cmp.Or(text, s.Signals.Question)
	n := ms.text(text)
	for _, list := range [][]string{s.Signals.Entities, s.Signals.Keywords} {
		for i, name := range list {
			ms.spelled(name, FromText, n+i, false)
		}
	}
	for i, name := range s.Named {
		ms.add(mention{name: analysis.Entity(name), from: FromCode, words: 1, at: len(s.Signals.Symbols) + i})
	}
	for i, name := range s.Carried {
		ms.add(mention{name: analysis.Entity(name), from: FromSession, words: 1, at: i})
	}
	for _, name := range reading.Deeds(text) {
		ms.add(mention{name: name, from: FromDeed, words: 1, alias: true})
	}
	for i, done := range s.Done {
		for _, name := range reading.Deeds(done) {
			ms.add(mention{name: name, from: FromDeed, words: 1, at: i, alias: true})
		}
		ms.done(done, i)
	}
	for i, sc := range s.Scopes {
		ms.add(mention{name: analysis.Entity(sc.ID), from: FromScope, words: 2, at: i})
		if sc.Type == ken.ScopeProject || sc.Type == ken.ScopeRepo {
			ms.spelled(base(sc.ID), FromScope, i, true)
		}
	}
	ms.spelled(base(s.Project), FromProject, 0, false)
	return ms
}

// done adds the files and products in the text of an action.
func (ms *mentions) done(text string, at int) {
	words := strings.FieldsFunc(text[:min(len(text), maxDone)], func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;:(){}[]<>|&=", r) })
	for _, w := range words {
		name := analysis.Entity(w)
		switch {
		case name == "" || reading.Common(name):
		case strings.ContainsAny(w, "/."):
			for _, v := range reading.Variants(w) {
				ms.add(mention{name: v, from: FromDeed, words: 1, at: at, alias: true})
			}
		case reading.Product(name) != "":
			ms.add(mention{name: name, from: FromDeed, words: 1, at: at})
		}
	}
}

// maxDone bounds the bytes that are read of a text in Signs.Done.
const maxDone = 2048

// base returns the last part of a path, or a name unchanged.
func base(p string) string {
	p = strings.TrimRight(strings.ReplaceAll(p, "\\", "/"), "/")
	return strings.TrimSuffix(p[strings.LastIndexByte(p, '/')+1:], ".git")
}

// Bounds of the search for names.
const (
	headWords = 600 // words at the beginning of a long text
	tailWords = 400 // words at its end
	maxNgram  = 4   // words of one name
	maxRunes  = 8   // runes of a name in a script without spaces
)

// token is a word of a text with its context.
type token struct {
	text     string
	name     string // in the form of analysis.Entity
	code     bool   // between backticks
	capital  bool   // begins with a capital
	opens    bool   // first of a sentence
	closes   bool   // a clause ends after it
	sentence int
}

// text adds the possible names in a text, and returns its number of words.
func (ms *mentions) text(text string) int {
	tokens := tokenize(text)
	titles := titleCaseSentences(tokens)
	for i := range tokens {
		t := &tokens[i]
		from := FromText
		if t.code {
			from = FromCode
		}
		ms.spelled(t.text, from, i, t.code || t.capital && !t.opens && !titles[t.sentence])
		if unspaced(t.text) {
			ms.runs(t.text, i)
		}
		ms.phrases(tokens[i:], i)
	}
	return len(tokens)
}

// phrases adds possible names of several words that begin with the first token. A phrase
// without its first article, or without its head, is added as a name of fewer words.
func (ms *mentions) phrases(tokens []token, at int) {
	first := &tokens[0]
	name, code := first.name, first.code
	for n := 1; n < maxNgram && n < len(tokens) && !tokens[n-1].closes && name != ""; n++ {
		t := &tokens[n]
		if t.name == "" {
			return
		}
		if n == 1 && reading.Common(first.name) {
			ms.typed(first.name, t.name, at)
		}
		name, code = name+" "+t.name, code && t.code
		from := FromText
		if code {
			from = FromCode
		}
		ms.add(mention{name: name, from: from, words: n + 1, at: at})
	}
}

// tokenize splits a text at white space.
func tokenize(text string) []token {
	var out []token
	code, opens, sentence := false, true, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") { // a fence, and not a word
			code, opens = !code, true
			continue
		}
		fields := strings.Fields(line)
		for i, f := range fields {
			ticks := strings.Count(f, "`")
			t := token{code: code || ticks > 0, opens: opens, sentence: sentence}
			if ticks%2 == 1 {
				code = !code
			}
			if ticks > 0 {
				f = strings.ReplaceAll(f, "`", "")
			}
			end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(f, "\"'”’»)]}>*_"))
			opens = strings.ContainsRune(".!?:", end) || i == len(fields)-1
			t.closes = opens || end == ',' || end == ';'
			t.text = strings.TrimRight(strings.Trim(f, "\"'“”‘’«»()[]{}<>*_"), ".,;:!?…")
			t.name = analysis.Entity(t.text)
			r, _ := utf8.DecodeRuneInString(t.text)
			t.capital = unicode.IsUpper(r)
			if opens {
				sentence++
			}
			if t.name != "" {
				out = append(out, t)
			} else if n := len(out); n > 0 && t.closes {
				out[n-1].closes = true
			}
		}
	}
	if len(out) > headWords+tailWords {
		out[headWords-1].closes = true
		out = append(out[:headWords], out[len(out)-tailWords:]...)
	}
	return out
}

// titleCaseSentences returns the sentences in which most words have a capital. There, a
// capital does not mark a name.
func titleCaseSentences(tokens []token) map[int]bool {
	out := map[int]bool{}
	for i := 0; i < len(tokens); {
		words, capitals, s := 0, 0, tokens[i].sentence
		for ; i < len(tokens) && tokens[i].sentence == s; i++ {
			if words++; tokens[i].capital {
				capitals++
			}
		}
		if 2*capitals > words && words > 2 {
			out[s] = true
		}
	}
	return out
}

// unspaced reports whether a word is in a script without spaces between words.
func unspaced(word string) bool { return strings.ContainsFunc(word, analysis.Unspaced) }

// runs adds the parts of an unspaced text that may be names.
func (ms *mentions) runs(text string, at int) {
	runes := []rune(text)
	runes = runes[:min(len(runes), headWords)]
	for i := range runes {
		for n := 2; n <= maxRunes && i+n <= len(runes); n++ {
			ms.add(mention{name: analysis.Entity(string(runes[i : i+n])), from: FromText, words: 1, at: at})
		}
	}
}
