package consolidate

import (
	"slices"
	"strings"
)

// prune forgets a generic noun that only one statement has, right after the noun
// that it goes with: "the staging environment" is staging.
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

// pruned judges statements that differ in generic nouns alone.
func (p *pair) pruned() (Verdict, bool) {
	if len(p.hunks) > 0 || len(p.shorter) == 0 || !p.sameDate() {
		return Verdict{}, false
	}
	return Verdict{Relation: Restates, Why: quote(p.shorter) + " adds nothing"}, true
}

func (p *pair) sameDate() bool { return slices.Equal(p.old.when, p.new.when) }

// reordered judges statements that have the same words in another order: a phrase
// moved from one end to the other, or "X is the Y" turned round.
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
		(identity(p.a[:i]) || identity(p.a[i+1:])) {
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

// adverbial reports a phrase that means the same at the start of a sentence and at
// its end: where, when, of what. It says one such thing only, so that no word
// changes the one that it belongs to.
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

// copulaAt finds the only verb of "X is Y"; -1 for anything else.
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

// identity reports a phrase that means one thing: with "the", or an attribute that
// has one value.
func identity(words []word) bool {
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
