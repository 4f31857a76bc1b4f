package consolidate

import (
	"slices"
	"strings"
)

// hunk is a place where two statements differ: words of one are in place of words
// of the other. Either side may be empty.
type hunk struct{ a, b []word }

// alignment is how the words of two statements match. place holds the index in a
// and in b where each hunk begins.
type alignment struct {
	a, b   []word
	hunks  []hunk
	place  [][2]int
	common int  // number of words that both have
	loose  bool // some of them match in another form
}

// align finds the longest common subsequence of words. align(b, a) gives the same
// hunks with sides exchanged.
func align(a, b []word) alignment {
	if less(b, a) {
		x := align(b, a)
		x.a, x.b = a, b
		for i := range x.hunks {
			x.hunks[i].a, x.hunks[i].b = x.hunks[i].b, x.hunks[i].a
			x.place[i][0], x.place[i][1] = x.place[i][1], x.place[i][0]
		}
		return x
	}
	al := alignment{a: a, b: b}
	pre := 0
	for pre < len(a) && pre < len(b) && al.match(pre, pre) {
		pre++
	}
	suf := 0
	for suf < len(a)-pre && suf < len(b)-pre && al.match(len(a)-1-suf, len(b)-1-suf) {
		suf++
	}
	al.common = pre + suf
	al.middle(pre, len(a)-suf, pre, len(b)-suf)
	return al
}

// less orders two statements, so that align does not depend on the order of its
// arguments.
func less(a, b []word) bool {
	for i := range min(len(a), len(b)) {
		if c := strings.Compare(a[i].norm, b[i].norm); c != 0 {
			return c < 0
		}
		if a[i].is&shape != b[i].is&shape {
			return a[i].is&shape < b[i].is&shape
		}
	}
	return len(a) < len(b)
}

// middle aligns what is left without the common words at both ends.
func (al *alignment) middle(a0, a1, b0, b1 int) {
	n, m := a1-a0, b1-b0
	if n == 0 && m == 0 {
		return
	}
	if n == 0 || m == 0 {
		al.add(a0, a1, b0, b1)
		return
	}
	var table [(maxWords + 1) * (maxWords + 1)]uint8
	at := func(i, j int) *uint8 { return &table[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if al.match(a0+i, b0+j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	i, j, si, sj := 0, 0, 0, 0
	for i < n && j < m {
		switch {
		case al.match(a0+i, b0+j) && *at(i, j) == *at(i+1, j+1)+1:
			if i > si || j > sj {
				al.add(a0+si, a0+i, b0+sj, b0+j)
			}
			i, j = i+1, j+1
			si, sj = i, j
			al.common++
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	if si < n || sj < m {
		al.add(a0+si, a1, b0+sj, b1)
	}
}

func (al *alignment) add(a0, a1, b0, b1 int) {
	al.hunks = append(al.hunks, hunk{al.a[a0:a1], al.b[b0:b1]})
	al.place = append(al.place, [2]int{a0, b0})
}

// match reports whether word i of a and word j of b have the same meaning.
func (al *alignment) match(i, j int) bool {
	x, y := &al.a[i], &al.b[j]
	if x.equals(y) {
		al.loose = al.loose || respelled(x.raw, y.raw)
		return true
	}
	if isPluralOf(x, y) && hasNoQuantity(al.a[:i]) && hasNoQuantity(al.b[:j]) || (x.is^y.is)&compound != 0 && lower(x.raw) == lower(y.raw) {
		al.loose = true
		return true
	}
	return false
}

// respelled reports whether two words are spelled differently. Case, apostrophes
// and commas don't count.
func respelled(x, y string) bool {
	return x != y && lower(x) != lower(y) && !strings.ContainsAny(x, "'’,") && !strings.ContainsAny(y, "'’,")
}

// hasNoQuantity reports whether the noun behind these words has no word before it that says
// how many there are.
func hasNoQuantity(before []word) bool {
	for i := len(before) - 1; i >= 0; i-- {
		switch w := &before[i]; {
		case w.has(article | definite | owner | number | counts):
			return false
		case w.has(verb | be | prep | joins | limits | modal | negates | adds):
			return true
		}
	}
	return true
}

// isPluralOf reports whether two words are the singular and the plural of a bare noun,
// as in "integration tests need Docker". With an article, a number or a quantifier
// the difference would mean how many, with a time how often.
func isPluralOf(x, y *word) bool {
	if len(x.norm) > len(y.norm) {
		x, y = y, x
	}
	const bare = article | definite | owner | timely | name | exact | number | unit | verb | pronoun | counts
	if len(x.norm) < 3 || (x.is|y.is)&bare != 0 || x.norm == "user" {
		return false
	}
	s, ok := strings.CutPrefix(y.norm, x.norm)
	return ok && (s == "s" || s == "es" && strings.HasSuffix(x.norm, "s"))
}

// prune drops hunks that hold only a generic noun right after the noun that it
// belongs to: "the staging environment" is the same as "staging".
func (p *pair) prune() {
	kept, places := p.hunks[:0], p.place[:0]
	for i, h := range p.hunks {
		one, words, at := h.a, p.a, p.place[i][0]
		if len(h.a) == 0 {
			one, words, at = h.b, p.b, p.place[i][1]
		}
		if len(h.a)+len(h.b) == 2 && len(one) == 2 && one[0].norm == "to" && one[1].norm == "be" {
			p.shorter = one // wants it to be so
			continue
		}
		if len(h.a)+len(h.b) == 1 && one[0].has(generic) && at > 0 && one[0].cut == 0 &&
			(at+1 == len(words) || words[at+1].cut != 0 || words[at+1].has(verb|be|prep|joins|modal|negates|adds)) &&
			!words[at-1].has(verb|be|prep|counts|negates|number|generic|modal|limits|joins|pronoun) && !one[0].has(article|definite|owner) {
			p.shorter = one
			continue
		}
		kept, places = append(kept, h), append(places, p.place[i])
	}
	p.hunks, p.place = kept, places
}

// pruned judges statements that differ only in generic nouns.
func (p *pair) pruned() (Verdict, bool) {
	if len(p.hunks) > 0 || len(p.shorter) == 0 || !p.sameDate() {
		return Verdict{}, false
	}
	return Verdict{Relation: Restates, Why: quote(p.shorter) + " adds nothing"}, true
}

func (p *pair) sameDate() bool { return slices.Equal(p.old.when, p.new.when) }

// reordered judges statements that have the same words in another order: a phrase
// moved from one end to the other, or "X is the Y" reversed.
func (p *pair) reordered() (Verdict, bool) {
	if len(p.a) != len(p.b) || p.old.parts != 1 || p.new.parts != 1 || !p.sameDate() {
		return Verdict{}, false
	}
	n := len(p.a)
	for k := 1; k < n; k++ {
		if equalWords(p.a[k:], p.b[:n-k]) && equalWords(p.a[:k], p.b[n-k:]) && (adverbial(p.a[k:]) || adverbial(p.a[:k])) {
			return Verdict{Relation: Restates, Why: quote(p.a[k:]) + " stands elsewhere"}, true
		}
	}
	if i, j := copulaAt(p.a), copulaAt(p.b); i > 0 && j > 0 && equalWords(p.a[:i], p.b[j+1:]) && equalWords(p.a[i+1:], p.b[:j]) &&
		(isSingleThing(p.a[:i]) || isSingleThing(p.a[i+1:])) {
		return Verdict{Relation: Restates, Why: "turned round"}, true
	}
	return Verdict{}, false
}

func equalWords(a, b []word) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].equals(&b[i]) {
			return false
		}
	}
	return true
}

// adverbial reports whether a phrase means the same at the start and at the end of
// a sentence: where, when, of what. It must be a single such phrase, so that
// moving it changes the meaning of no other word.
func adverbial(words []word) bool {
	if len(words) < 2 || !words[0].has(prep|limits) || words[0].norm == "to" || words[0].norm == "of" || words[0].norm == "by" {
		return false
	}
	for _, w := range words[1:] {
		if w.has(verb | be | prep) {
			return false
		}
	}
	return true
}

// copulaAt returns the index of the only verb in "X is Y", or -1 for other
// sentences.
func copulaAt(words []word) int {
	at := -1
	for i := range words {
		switch {
		case words[i].norm == "be" && at < 0 && i > 0:
			at = i
		case words[i].has(be | negates | modal | counts | limits | passive), words[i].has(verb) && !words[i].has(definite|article):
			return -1
		}
	}
	return at
}

// isSingleThing reports whether a phrase names a single thing: with "the", or as an
// attribute that has one value.
func isSingleThing(words []word) bool {
	if len(words) == 0 || words[0].has(article) {
		return false
	}
	for _, w := range words {
		if w.has(functional|choice) || w.has(definite) {
			return true
		}
	}
	return false
}

// voiced judges "X is run by Y" and "Y runs X".
func (p *pair) voiced() (Verdict, bool) {
	is := func(words []word) bool {
		return slices.ContainsFunc(words, func(w word) bool { return w.has(passive) })
	}
	if is(p.a) == is(p.b) {
		return Verdict{}, false
	}
	x, ok1 := parse(p.a)
	y, ok2 := parse(p.b)
	if !ok1 || !ok2 || p.old.parts != 1 || p.new.parts != 1 || x.negated || y.negated || x.unsure || y.unsure || x.past != y.past || !p.sameDate() {
		return Verdict{}, false
	}
	if !strings.HasPrefix(x.key, "be ") {
		x, y = y, x
	}
	by := x.slot("by")
	if x.key != "be "+y.key || len(by) == 0 || len(x.subject) == 0 || len(y.slots) == 0 || y.slots[0].prep != "" ||
		!equalWords(by, y.subject) || !equalWords(x.subject, y.slots[0].words) || len(x.slots) != len(y.slots) {
		return Verdict{}, false
	}
	for _, s := range y.slots[1:] {
		if !equalWords(s.words, x.slot(s.prep)) {
			return Verdict{}, false
		}
	}
	return Verdict{Relation: Restates, Why: "active and passive"}, true
}
