package consolidate

import "slices"

// frame is a parsed simple sentence: its subject, its verb, and the phrases after
// the verb by preposition.
type frame struct {
	subject []word
	key     string // the verb; "be" and the verb for a passive
	verbAt  int
	slots   []slot
	past    bool // about an event that is over
	negated bool
	unsure  bool // has a word such as may, all, only or if
}

// slot is a phrase of a frame. prep is "" for the object.
type slot struct {
	prep  string
	words []word
}

// parse parses one sentence. ok is false if it has no known verb.
func parse(words []word) (f frame, ok bool) {
	at := verbAt(words)
	if at < 0 {
		return f, false
	}
	f.verbAt = at
	f.subject = words[:at]
	for len(f.subject) > 0 && f.subject[len(f.subject)-1].has(negates|modal) {
		f.negated = f.negated || f.subject[len(f.subject)-1].has(negates)
		f.unsure = f.unsure || f.subject[len(f.subject)-1].has(modal)
		f.subject = f.subject[:len(f.subject)-1]
	}
	f.key, f.past = words[at].norm, words[at].has(past)
	i := at + 1
	if words[at].has(be) {
		f.key = "be"
		for i < len(words) && words[i].has(negates) {
			f.negated = true
			i++
		}
		if i < len(words) && words[i].has(passive) {
			f.key = "be " + words[i].norm
			i++
		}
	}
	f.slots = make([]slot, 0, 4)
	cur := slot{words: words[i:i]}
	flush := func() {
		if len(cur.words) > 0 || cur.prep != "" {
			f.slots = append(f.slots, cur)
		}
	}
	for ; i < len(words); i++ {
		w := &words[i]
		switch {
		case w.has(negates):
			f.negated = true
		case w.has(modal | limits):
			f.unsure = true
		}
		switch {
		case w.has(prep|adds) || w.norm == "instead-of" || w.norm == "->":
			flush()
			cur = slot{w.norm, words[i+1 : i+1]}
		case w.cut != 0 && len(cur.words) > 0:
			flush()
			cur = slot{",", words[i : i+1]}
		case len(cur.words) > 0 && timePhrase(words[i:]) > 0:
			flush()
			n := timePhrase(words[i:])
			cur = slot{"when", words[i : i+n]}
			i += n - 1
		default:
			cur.words = cur.words[:len(cur.words)+1]
		}
	}
	flush()
	for _, w := range f.subject {
		f.unsure = f.unsure || w.has(counts|limits|modal|joins)
		f.negated = f.negated || w.has(negates)
	}
	f.readJob()
	return f, true
}

// readJob reads other words for a new employer as "joined": "got a job at Bosch", "my new job is at Bosch", "left Siemens
// for Bosch".
func (f *frame) readJob() {
	prep, n := "at", len(f.subject)
	switch f.key {
	case "get", "find", "take", "have", "accept":
		if !isJob(f.slot("")) || f.key == "have" && f.past || f.slot("for") != nil {
			return
		}
	case "be":
		for n--; n > 0 && !f.subject[n].has(owner); n-- {
		}
		if n++; n < 2 || !isJob(f.subject[n:]) {
			return
		}
	case "leave":
		if prep = "for"; !company(f.slot("")) {
			return
		}
	default:
		return
	}
	to := f.slot(prep)
	if !company(to) {
		return
	}
	slots := []slot{{"", to}}
	for _, s := range f.slots {
		switch {
		case s.prep == "" && f.key == "leave":
			slots = append(slots, slot{"from", s.words})
		case s.prep != "" && s.prep != prep:
			slots = append(slots, s)
		}
	}
	f.key, f.subject, f.slots = "join", f.subject[:n], slots
}

// isJob reports whether words are "job" or the like, perhaps "a new job".
func isJob(words []word) bool {
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	switch words[len(words)-1].norm {
	case "job", "position", "employer":
		return true
	}
	return false
}

// verbAt returns the index of the first verb, or -1.
func verbAt(words []word) int {
	for i := range words {
		if words[i].has(verb | be) {
			return i
		}
	}
	return -1
}

// timePhrase counts the words at the start that say when, without a preposition:
// "last month", "two weeks ago", "yesterday".
func timePhrase(w []word) int {
	switch {
	case len(w) > 1 && (w[0].norm == "last" || w[0].norm == "next") &&
		(w[1].has(timely|unit) || w[1].norm == "month" || w[1].norm == "week" || w[1].norm == "year"):
		return 2
	case len(w) > 2 && w[0].has(number) && w[1].has(unit) && w[2].norm == "ago":
		return 3
	case w[0].norm == "yesterday" || w[0].norm == "today" || w[0].norm == "tomorrow" || w[0].norm == "recently":
		return 1
	}
	return 0
}

// slot returns the words under a preposition, nil if there are none.
func (f *frame) slot(prep string) []word {
	for _, s := range f.slots {
		if s.prep == prep {
			return s.words
		}
	}
	return nil
}

// sameSubject reports whether two subjects name the same thing. An empty subject,
// as in an order, is never the same as another.
func sameSubject(a, b []word) bool {
	trim := func(w []word) []word {
		if len(w) > 1 && w[len(w)-1].has(generic) {
			return w[:len(w)-1]
		}
		return w
	}
	a, b = trim(a), trim(b)
	return len(a) > 0 && equalWords(a, b) && !a[0].has(pronoun)
}

// hasWordValue reports whether an attribute's value is a plain word, such as a status.
// "The owner is away" and "the owner is ill" are not about two owners.
func hasWordValue(subject []word) bool {
	for i := range subject[:len(subject)-1] {
		if subject[i].has(choice) {
			return true
		}
	}
	for i := range subject {
		if i > 0 && subject[i].has(prep) {
			subject = subject[:i]
			break
		}
	}
	switch subject[len(subject)-1].norm {
	case "level", "mode", "format", "status", "role", "title", "priority", "color", "branch", "command", "licence", "nickname", "username", "path", "prefix":
		return true
	}
	return false
}

// isAttribute reports whether a subject names an attribute that has one value at a
// time, such as "the port" or "the default branch", and whether that value can
// change.
func isAttribute(subject []word) (one, changes bool) {
	if len(subject) == 0 {
		return false, false
	}
	last := &subject[len(subject)-1]
	for i := range subject { // "the log level in production"
		if i > 0 && subject[i].has(prep) {
			last = &subject[i-1]
			break
		}
	}
	one = last.has(functional)
	for i := range subject[:len(subject)-1] {
		one = one || subject[i].has(choice)
	}
	return one, !last.has(fixed)
}

// keepsNeighbours reports whether each number of b is next to the same word as in a, and
// each preposition and comparison of b is followed by the same word as in a.
func keepsNeighbours(a, b []word) bool {
	for i := range b {
		w := &b[i]
		switch {
		case w.has(number):
			if !beside(a, w.norm, b, i) {
				return false
			}
		case w.is&(prep|limits|counts) != 0 && !condition[w.norm] && (i+1 == len(b) || !b[i+1].has(prep)):
			if next := neighbour(b, i, 1); next != "" && !follows(a, w.norm, next) {
				return false
			}
		}
	}
	return true
}

// neighbour returns the nearest content word in a direction, "" if there is none.
func neighbour(w []word, i, step int) string {
	for i += step; i >= 0 && i < len(w); i += step {
		if isContentWord(&w[i]) {
			return keyOf(&w[i])
		}
	}
	return ""
}

// beside reports whether a has the number at b[i] near one of the content words
// that it is near in b. Near means two content words to each side.
func beside(a []word, number string, b []word, i int) bool {
	near := around(b, i)
	for j := range a {
		if a[j].norm != number {
			continue
		}
		for _, x := range around(a, j) {
			if slices.Contains(near, x) {
				return true
			}
		}
	}
	return false
}

// around returns the two content words before w[i] and the two after it.
func around(w []word, i int) []string {
	var out []string
	for _, step := range [2]int{-1, 1} {
		for j, n := i+step, 0; j >= 0 && j < len(w) && n < 2; j += step {
			if isContentWord(&w[j]) {
				out = append(out, keyOf(&w[j]))
				n++
			}
		}
	}
	return out
}

// follows reports whether next follows the word norm in a, before another
// preposition or limit. It is true if a lacks norm.
func follows(a []word, norm, next string) bool {
	has := false
	for i := range a {
		if a[i].norm != norm {
			continue
		}
		has = true
		for j := i + 1; j < len(a) && a[j].is&(prep|limits) == 0; j++ {
			if keyOf(&a[j]) == next || a[j].has(pronoun) {
				return true
			}
		}
	}
	return !has
}

// short cuts what is aligned to maxWords. Only the words of a longer text are
// compared.
func short(w []word) []word { return w[:min(len(w), maxWords)] }

// swapped reports whether two sentences with the same verb have subject and object
// exchanged.
func swapped(a, b []word) bool {
	x, ok1 := parse(a)
	y, ok2 := parse(b)
	if !ok1 || !ok2 || x.key != y.key || len(y.subject) == 0 || len(x.subject) == 0 {
		return false
	}
	who := keyOf(&y.subject[len(y.subject)-1])
	for i := range x.subject {
		for j := range y.subject {
			if keyOf(&x.subject[i]) == keyOf(&y.subject[j]) {
				return false
			}
		}
	}
	for i := x.verbAt; i < len(a); i++ {
		if keyOf(&a[i]) == who {
			return true
		}
	}
	return false
}

// polarity judges two statements that differ only in a negation.
func (p *pair) polarity() (Verdict, bool) {
	olds, news := 0, 0
	var ended, again bool
	var last word
	for _, h := range p.hunks {
		if o, n, ok := alwaysNever(h); ok {
			olds, news, last = olds+o, news+n, h.b[0]
			continue
		}
		for _, side := range []struct {
			words []word
			n     *int
		}{{h.a, &olds}, {h.b, &news}} {
			for _, w := range side.words {
				if w.norm == "again" {
					again = true
					continue
				}
				if !w.has(negates) {
					return Verdict{}, false
				}
				*side.n++
				last, ended = w, ended || w.has(ending)
			}
		}
	}
	if (olds == 0) == (news == 0) || p.uncertain() {
		return Verdict{}, false
	}
	switch {
	case news > 0 && (ended || p.new.strong != ""):
		return Verdict{Relation: Updates, Why: "not any more: " + or(p.new.strong, last.raw)}, true
	case again && olds > 0:
		return Verdict{Relation: Updates, Why: "again"}, true
	case p.new.weak != "" && len(p.new.when) == 0 && p.old.weak == "":
		return Verdict{Relation: Updates, Why: p.new.weak + " the other way"}, true
	}
	return Verdict{Relation: Contradicts, Why: "only one of them says " + quote([]word{last})}, true
}

// alwaysNever reports whether h replaces "always" by "never" or the other way
// round. No other pair of words negates a statement by replacing each other.
func alwaysNever(h hunk) (olds, news int, ok bool) {
	if len(h.a) != 1 || len(h.b) != 1 {
		return 0, 0, false
	}
	switch {
	case h.a[0].norm == "always" && h.b[0].norm == "never":
		return 0, 1, true
	case h.a[0].norm == "never" && h.b[0].norm == "always":
		return 1, 0, true
	}
	return 0, 0, false
}

// uncertain reports whether the statements can be true together with their
// negation. Those are statements about some things, sometimes or perhaps, and
// about the past, where each may be about another event.
func (p *pair) uncertain() bool {
	for _, words := range [][]word{p.a, p.b} {
		for i := range words {
			if words[i].has(past) || partial[words[i].norm] {
				return true
			}
		}
	}
	return false
}

var partial = map[string]bool{
	"some": true, "few": true, "many": true, "several": true, "most": true, "half": true, "often": true, "usually": true,
	"sometimes": true, "occasionally": true, "generally": true, "typically": true, "mostly": true, "mainly": true, "may": true,
	"might": true, "could": true, "perhaps": true, "maybe": true, "possibly": true, "probably": true, "likely": true, "another": true,
	"hardly": true, "rarely": true, "seldom": true, "barely": true,
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
