package reading

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// nouns returns the noun phrase at i, up to its verb.
func (r *reader) nouns(i, to int) (subject, found) {
	if r.otherScript {
		return absent, found{}
	}
	if r.tongue > german {
		at, f := r.articled(i, to)
		switch {
		case f != nil:
			return thing, *f
		case at == to:
			return absent, found{}
		}
		i, to = at, at+1
	}
	j, acts, name := r.nounsEnd(i, to)
	if name != nil {
		return thing, *name
	}
	for j > i+1 && r.words[j-1].entry.is(adjective) && !r.words[j-1].entry.is(common) { // "run migrations first"
		j--
	}
	if j == i {
		return absent, found{}
	}
	from := max(i, j-3)
	f := found{Mention: Mention{Name: r.join(from, j), Display: r.display(from, j), Type: Unknown, Confidence: BySubject}, from: from, to: j, weak: true}
	if w := r.whole(j, to); w.Name != "" {
		if !isUsual(f.Name) {
			r.parts = append(r.parts, f.Mention)
		}
		return thing, w
	}
	// "the agent" is no name, nor is "Accepted (phased)" or "Gaming is fun".
	if f.Name == "" || isQuantity(f.Name) || j-from == 1 && r.isNoName(&f, acts, to) {
		return absent, found{}
	}
	if e := r.words[j-1].entry; e.head > 0 && j-from > 1 {
		f.Type = heads[e.head-1].typ
	}
	return thing, f
}

// articled returns the index of the first noun in words[i:to] with an article, or a name before it; to if there is neither.
// The rules don't know the verbs of French, Spanish and Portuguese, so a noun must have an article.
func (r *reader) articled(i, to int) (int, *found) {
	for at := i; at < to; at++ {
		if f := r.at(at); f != nil && !f.weak && at > i {
			return at, f
		}
		if r.determined(at) && !r.words[at].entry.is(function) {
			return at, nil
		}
	}
	return to, nil
}

// nounsEnd returns the end of the noun phrase at word i, and the name that ends it, if there is one. acts reports whether a
// verb ends it that only its place reveals; see does.
func (r *reader) nounsEnd(i, to int) (j int, acts bool, name *found) {
	for j = i; j < min(to, i+6) && r.words[j].nameable(); j++ {
		w := &r.words[j]
		if j > i {
			if acts = r.does(i, j, to); acts || r.endsNouns(j, to) {
				break
			}
			if f := r.at(j); f != nil {
				return j, false, f
			}
			if w.entry.is(generic) && w.entry.is(verb) && strings.HasSuffix(r.words[j-1].low, "s") { // "accounts get", "backups run"
				break
			}
		}
		if w.entry.is(function) || r.tongue == german && !w.upper || j > i && r.is(j+1, "than") { // "uploads larger than"
			break
		}
		if w.possessive {
			return j + 1, false, nil
		}
	}
	return j, acts, nil
}

// endsNouns reports whether word j ends the noun phrase before it: it is a verb or a function word, or begins a clause.
func (r *reader) endsNouns(j, to int) bool {
	w := &r.words[j]
	return w.broken || w.entry.is(function|finite|past) || w.entry.is(verb) && !w.entry.is(common) || verbal(w) || r.acts(j, to)
}

// isNoName reports whether the single word f is no name. Before a verb that only its place reveals, fewer words are none.
func (r *reader) isNoName(f *found, acts bool, to int) bool {
	plain := acts && Common(f.Name) || !acts && r.isPlainWord(f, to)
	return plain || verbal(&r.words[f.from]) || strings.ContainsFunc(f.Name, analysis.Unspaced)
}

// whole returns what the noun phrase that ends before word i belongs to: the mailer in "the retry
// limit of the mailer".
func (r *reader) whole(i, to int) found {
	if i >= to || r.words[i].broken || r.words[i].low != "of" {
		return found{}
	}
	for i++; i < to && !r.words[i].broken && r.words[i].entry.is(determiner|adjective); i++ {
	}
	if i >= to || r.words[i].broken {
		return found{}
	}
	if f := r.at(i); f != nil {
		return *f
	}
	_, f := r.nouns(i, to)
	return f
}

// isQuantity reports whether a name is an amount: 32 megs, €35, takes 50 min.
func isQuantity(name string) bool {
	return strings.ContainsAny(name, "€$£¥%~") || slices.ContainsFunc(strings.Fields(name), number)
}

// isPlainWord reports whether a single word is no name as a subject or an object. In a
// rule, which is always about something, fewer words are plain; but "jobs" in "jobs in the
// scheduler" is.
func (r *reader) isPlainWord(f *found, to int) bool {
	if !r.rule || r.voice != nobody || f.to < to && r.is(f.to, "in", "of", "on") {
		return isUsual(f.Name)
	}
	return Common(f.Name)
}

// acts reports whether word j ends in -s and has an object after it, so that it is a verb:
// "the substrate schedules a job".
func (r *reader) acts(j, to int) bool {
	low := r.words[j].low
	n := len(low)
	if n < 4 || low[n-1] != 's' || low[n-2] == 's' || j+1 >= to || r.words[j+1].broken {
		return false
	}
	next := &r.words[j+1]
	return next.entry.is(determiner) || next.code || next.path
}

// does reports whether word j, after the noun at i, is a verb of the third person because the clause has no other: "the
// office closes at six", but not "the release notes are written by hand".
func (r *reader) does(i, j, to int) bool {
	if r.tongue != english || i == 0 || !r.words[i-1].entry.is(determiner|adjective) || !r.endsLikeVerb(j) || j+1 >= to || r.words[j+1].broken {
		return false
	}
	end := r.clauseEnd(j+1, to)
	return r.hasComplement(j, end, to) && !r.hasVerb(j+1, end)
}

// endsLikeVerb reports whether word j has the -s of a verb and the noun before it has no plural's.
func (r *reader) endsLikeVerb(j int) bool {
	w, noun := &r.words[j], &r.words[j-1]
	if len(w.low) < 4 || w.low[len(w.low)-1] != 's' || fits(w.low, strings.HasSuffix, "ss", "us", "is") {
		return false
	}
	return !strings.HasSuffix(noun.low, "s") && !noun.entry.is(adjective) && !w.upper && !w.possessive
}

// hasComplement reports whether what follows word j, up to the end of the clause, can follow a verb.
func (r *reader) hasComplement(j, end, to int) bool {
	if r.words[j].entry.is(generic | common) { // "logs to stdout", "times out"
		return r.is(j+1, "to", "into", "out")
	}
	switch next := &r.words[j+1]; {
	case r.is(j+1, "to", "out", "off", "up", "down", "into", "after", "within", "until", "every", "when", "if", "while", "because", "automatically", "itself", "twice", "once"):
		return true
	case r.is(j+1, "at", "for") && (isFigure(r.word(j+2)) || r.is(j+2, "noon", "midnight", "night", "dawn", "dusk")):
		return true
	case r.words[to-1].stop != '.': // a fragment, such as "the tuition fees for March"
		return false
	case r.is(j+1, "at", "in", "on", "with"): // not: "the holiday rentals in Porto cost …"
		return end-j <= 5
	default:
		return next.entry.is(adjective|generic) && end-j > 2 || !next.entry.is(function) && len(next.low) > 3 && strings.HasSuffix(next.low, "s")
	}
}

// hasVerb reports whether words[from:end] have a verb before their first subordinate clause.
func (r *reader) hasVerb(from, end int) bool {
	for k := from; k < end && !subordinates[r.words[k].low]; k++ {
		e := r.words[k].entry
		if e.is(auxiliary|finite|past) && !e.is(preposition) || strings.HasSuffix(r.words[k].low, "n't") {
			return true
		}
		if e.is(verb) && !e.is(common|adjective) && !r.words[k-1].entry.is(determiner|preposition) {
			return true
		}
	}
	return false
}
