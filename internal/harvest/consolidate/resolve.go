package consolidate

import "strings"

// resolve joins phrases into single words, sets the tense of verbs, and removes words
// without meaning. It changes t.words in place.
func (t *text) resolve() {
	in := t.words
	t.parts = min(len(in), 1)
	ours, theirs := 0, 0
	for i := range in {
		if i > 0 && in[i].cut == '.' {
			t.parts++
		}
		if i == 0 || in[i].cut == '.' {
			if !in[i].has(exact) {
				in[i].is &^= name // every word is capitalised here
			}
		}
		t.ambiguous(i)
		if in[i].has(english) {
			ours++
		}
		if in[i].has(foreign) {
			theirs++
		}
	}
	if t.notEnglish = theirs > ours; t.notEnglish {
		return
	}
	r := resolver{text: t, in: in, out: in[:0], aux: -1}
	t.edits = leadIn(in)
	for r.i = t.edits; r.i < len(r.in); r.i++ {
		r.step()
	}
	t.words = r.out
	t.nouns()
	t.based()
	t.dates()
	t.copula()
	t.genitive()
}

// ambiguous decides what "May", "second" and a few other words mean here.
func (t *text) ambiguous(i int) {
	w := &t.words[i]
	switch w.norm {
	case "may":
		if w.raw == "May" && (i > 0 || len(t.words) > 1 && t.words[1].has(number)) {
			w.is = timely
		}
	case "second":
		if i > 0 && t.words[i-1].has(number) {
			w.is = unit
		} else {
			w.is = counts
		}
	default:
		if w.has(unit) && (i == 0 || !t.words[i-1].has(number)) {
			w.norm = lower(w.raw) // "takes days" is not "takes a day"
		}
	}
	if first := w.raw[0]; i > 0 && w.cut == 0 && w.has(verb) && 'A' <= first && first <= 'Z' && w.raw != strings.ToUpper(w.raw) {
		w.norm, w.is = lower(w.raw), name // Go, Will, GitHub Actions Cache
	}
}

// leadIn returns the number of words that only announce a statement: "note that",
// "remember:".
func leadIn(in []word) int {
	if len(in) < 3 {
		return 0
	}
	switch in[0].norm {
	case "note", "remember", "fyi", "reminder":
		if in[1].norm == "that" {
			return 2
		}
		if in[1].cut == ':' || in[1].cut == ',' {
			return 1
		}
	}
	return 0
}

// resolver is the state of one pass over the words.
type resolver struct {
	text *text
	in   []word
	out  []word
	i    int
	det  trait // of the article before the current word
	cut  byte  // the mark before a removed word
	aux  int   // index in out of a form of be, have or do whose verb is to come; -1 for none
	did  bool  // the verb of a removed "did" is to come
	does bool  // the verb of a removed "does" is to come
	perf bool  // the participle of a removed "have" is to come
	base bool  // the verb of "used to" or "stopped" is to come
}

// norm returns the normal form of the word ahead of the current one by that many places,
// "" past the end.
func (r *resolver) norm(ahead int) string {
	if i := r.i + ahead; i < len(r.in) {
		return r.in[i].norm
	}
	return ""
}

func (r *resolver) is(ahead int, t trait) bool {
	i := r.i + ahead
	return i < len(r.in) && r.in[i].has(t)
}

func (r *resolver) step() {
	w := r.in[r.i]
	if w.cut == 0 || r.cut == '.' {
		w.cut = r.cut
	}
	if r.drop(&w) {
		r.cut = w.cut
		return
	}
	r.cut = 0
	w.is |= r.det
	r.det = 0
	r.tense(&w)
	r.out = append(r.out, w)
	if w.norm == "user" && w.raw != "" && strings.EqualFold(w.raw, "my") {
		r.det = definite
	}
}

// auxiliary resolves verbs that only help another: "does not use" is "use" with a
// negation, "has to" is "must", "stopped using" and "used to use" are "use" no longer.
func (r *resolver) auxiliary(w *word) bool {
	next := 1
	for r.is(next, negates|filler) {
		next++
	}
	switch w.norm {
	case "do":
		if w.has(going) || !r.is(next, verb|be) || r.is(next, going) {
			return false
		}
		r.did, r.does = w.has(past), true
		return true
	case "have":
		switch {
		case r.norm(1) == "to" && !w.has(past|going):
			r.i++
			w.norm, w.is = "must", modal
			return false
		case r.is(next, past) || r.norm(next) == "be":
			// What has lived in a place still lives there, but "has been deployed" is an
			// event.
			r.perf = !w.has(past) && (r.norm(next) == "be" || stative[r.norm(next)])
			return !w.has(past)
		}
	case "need":
		if r.norm(1) == "to" && !w.has(past|going) {
			r.i++
			w.norm, w.is = "must", modal
		}
	case "get":
		if r.is(1, past) && !w.has(going) { // "gets rebuilt"
			e := lexicon()["is"]
			if w.has(past) {
				e = lexicon()["was"]
			}
			w.norm, w.is = e.norm, e.is
		}
	case "use":
		if w.has(past) && r.norm(1) == "to" && r.is(2, verb|be) && (len(r.out) == 0 || !r.out[len(r.out)-1].has(be)) {
			r.i++
			w.norm, w.is = "not", negates|ending
			r.text.strong, r.base = "used to", true
		}
	case "stop", "quit", "cease":
		if !w.has(going) && r.is(1, going) {
			w.norm, w.is = "not", negates|ending
			r.text.strong, r.base = "stopped", true
		}
	}
	return false
}

// tense sets the form of a verb from the auxiliaries before it.
func (r *resolver) tense(w *word) {
	if w.has(verb) && r.does {
		w.is |= finite
	}
	switch {
	case w.has(verb) && r.aux >= 0 && (w.has(past) || lower(w.raw) == w.norm): // "is run" is a participle as well
		w.is = w.is&^past | passive
	case w.has(verb) && r.aux >= 0 && w.has(going) && stative[w.norm] && r.out[r.aux].norm == "be" && r.aux == len(r.out)-1:
		w.is &^= going
		w.cut = r.out[r.aux].cut
		r.out = r.out[:r.aux]
	case w.has(verb) && (r.perf || r.base):
		w.is &^= past | going
	case w.has(verb) && r.did:
		w.is |= past
	}
	switch {
	case w.has(be):
		r.aux = len(r.out)
		r.perf = r.perf && w.norm == "be" // has been
	case !w.has(negates | counts):
		r.aux, r.perf, r.did, r.does, r.base = -1, false, false, false, false
	}
}

// stative holds verbs that mean the same in "is using" as in "uses".
var stative = map[string]bool{"use": true, "live": true, "work": true, "run": true, "listen": true, "rely": true}
