package consolidate

import "strings"

// nouns finds the words that look like verbs and are none: behind an article or a
// genitive, before "of" or another verb, and a bare form behind a singular, as in
// "the health check port is". They count as they are written.
func (t *text) nouns() {
	for i := range t.words {
		w := &t.words[i]
		if !w.has(verb) || w.has(be|finite) || w.norm == "have" || w.norm == "do" {
			continue
		}
		var prev, next *word
		if i > 0 {
			prev = &t.words[i-1]
		}
		if i+1 < len(t.words) {
			next = &t.words[i+1]
		}
		// "Ana's preferred shell", but "Ana's moved to Berlin".
		owned := prev != nil && prev.has(owner) && (!w.has(past|passive|going) || next != nil && next.is&(prep|article|definite) == 0)
		noun := w.has(article|definite|owner) || owned || i == 0 && t.states(next)
		if next != nil && !w.has(past|passive|going) {
			noun = noun || next.norm == "of" || next.has(be|modal) && next.cut == 0 ||
				next.has(verb) && !next.has(going|passive|article|definite) && next.norm != "have" && next.cut == 0
		}
		if prev != nil && !w.has(past|passive|going) && lower(w.raw) == w.norm && !plurals(t.words[:i]) {
			noun = true
		}
		if noun {
			w.norm = lower(w.raw)
			w.is &^= verb | shape
		}
	}
}

// states reports whether a sentence that begins with a bare verb is none of
// orders, as in "Go modules are cached".
func (t *text) states(next *word) bool {
	if next == nil || next.is&(article|definite|prep|negates|verb) != 0 || lower(t.words[0].raw) != t.words[0].norm {
		return false
	}
	for i := 1; i < len(t.words); i++ {
		switch w := &t.words[i]; {
		case w.has(be):
			return true
		case w.has(joins|limits|prep|adds|verb) || w.cut != 0:
			return false
		}
	}
	return false
}

// plurals reports whether a verb without -s may follow these words: a plural, "I",
// an auxiliary, "to", the start of a clause.
func plurals(before []word) bool {
	last := &before[len(before)-1]
	if last.has(modal|negates|prep|adds|pronoun|limits|counts|sign|number|unit) || before[0].has(verb) {
		return true // an order, or behind what a verb may follow
	}
	switch last.norm {
	case "we", "people", "children", "men", "women", "staff", "data", "always", "then", "please", "everybody", "and", "or":
		return true
	}
	for i := range before {
		if before[i].has(joins) || before[i].has(verb|be) {
			return true
		}
	}
	return strings.HasSuffix(last.norm, "s") || last.norm == "user" && !strings.EqualFold(last.raw, "user")
}
