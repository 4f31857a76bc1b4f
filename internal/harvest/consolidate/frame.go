package consolidate

// frame is a simple sentence taken apart: who, does what, and the phrases after
// it, each under its preposition.
type frame struct {
	subject []word
	key     string // the verb; "be" and the verb for a passive
	verbAt  int
	slots   []slot
	past    bool // of an event that is over
	negated bool
	unsure  bool // says may, all, only, if
}

// slot is a phrase of a frame. The object has no preposition.
type slot struct {
	prep  string
	words []word
}

// parse reads one sentence; ok is false when it finds no verb.
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
	return f, true
}

// verbAt finds the verb of a sentence, -1 when there is none.
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

// slot returns the words under a preposition; nil when there are none.
func (f *frame) slot(prep string) []word {
	for _, s := range f.slots {
		if s.prep == prep {
			return s.words
		}
	}
	return nil
}

// sameSubject reports whether both speak of the same thing. A subject that is not
// said, as in an order, is nobody's.
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

// worded reports an attribute whose value is a plain word, such as a status. "The
// owner is away" and "the owner is ill" give no two owners.
func worded(subject []word) bool {
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

// attribute reports whether a subject names an attribute that has one value, such
// as "the port" or "the default branch", and whether that value ever changes.
func attribute(subject []word) (one, changes bool) {
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
