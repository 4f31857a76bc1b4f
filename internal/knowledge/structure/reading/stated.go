package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// stated finds names by their position: on both sides of a relation phrase ("Booking depends
// on search and on identity"), and as what a rule is made for ("jobs in the scheduler must be
// idempotent"). There, a common noun or a gerund is a name.
func (r *reader) stated() {
	if r.voice == person {
		return
	}
	for from := r.body; from < len(r.words); {
		to := r.end(from)
		for i := from + 1; i < to && r.words[to-1].stop != '?'; i++ {
			w := &r.words[i]
			if !w.plain() {
				continue
			}
			if r.rule && r.governs(i, to) {
				r.governed(from, i)
			}
			if !w.entry.is(relating) || r.at(i) != nil {
				continue
			}
			if i+1 < to && r.words[i+1].entry.is(auxiliary) { // "external calls must"
				continue
			}
			if p := r.relation(i, to); p != nil && (p.infinite || p.passive || r.allowsVerb(p, from, i)) {
				if !r.subjects(from, i, p) && !r.is(i-1, "and", "which") {
					continue
				}
				if after := r.behind(i, to, p); after < to {
					r.objects(after, to, p)
				}
			}
		}
		from = to
	}
}

// behind returns the start of the objects of the phrase at word i.
func (r *reader) behind(i, to int, p *relation) int {
	after := i + len(p.words)
	if p.within == "" {
		return after
	}
	for after < to && !r.words[after].broken && r.words[after].low != p.within {
		after++
	}
	if after >= to || r.words[after].low != p.within {
		return to
	}
	return after + 1
}

// governs reports whether word i follows the thing that a rule is made for.
func (r *reader) governs(i, to int) bool {
	switch r.words[i].low {
	case "must", "shall", "may", "mustn't", "cannot":
		return true
	case "has", "have":
		return r.is(i+1, "to")
	case "is", "are", "should", "can":
		return i+1 < to && (r.is(i+1, "never", "always", "only", "not") || invariants[r.words[i+1].low] || bans[r.words[i+1].low])
	}
	return false
}

// governed finds the name in the noun phrase before word i. A name after a preposition in it
// counts, too: in "jobs in the scheduler" that is the scheduler, and jobs only if it is no
// usual word.
func (r *reader) governed(from, i int) {
	if r.words[i].broken {
		return
	}
	inner := false
	for end, n := i, 0; n < 3 && end > from; n++ {
		s := r.span(from, end)
		if s.to == 0 {
			break
		}
		before := s.from - 1
		for before >= from && r.words[before].entry.is(determiner|adjective) && !r.words[before+1].broken {
			before--
		}
		within := before > from && !r.words[before+1].broken && r.words[before].entry.is(preposition)
		switch {
		case s.named:
			inner = inner || within
		case within && (!s.determined || s.usual), !within && !s.determined && !s.opens, inner && s.usual:
		default:
			r.insertSpan(&s, BySubject)
			inner = inner || within
		}
		if !within {
			break
		}
		end = before
	}
}

// span is the noun phrase words[from:to].
type span struct {
	from, to   int
	determined bool // an article or another determiner is before it
	opens      bool // it begins a clause
	usual      bool // it is one word, which is a usual one
	named      bool // it contains a name that was found
}

// span returns the noun phrase that ends before word end; to is 0 if there is none.
func (r *reader) span(from, end int) span {
	j := end - 1
	if j < from || r.words[j].possessive {
		return span{}
	}
	s := span{from: end, to: end}
	for s.from > from && s.to-s.from < 3 {
		k := s.from - 1
		w := &r.words[k]
		if f := r.at(k); f != nil {
			return span{from: f.from, to: end, named: true}
		}
		if s.from < end && r.words[s.from].broken || w.aside || w.quoted || !nominal(w, s.from < end && r.determined(k) || k == from) {
			break
		}
		s.from = k
	}
	if s.from == s.to {
		return span{}
	}
	w := &r.words[s.from]
	if s.from > from && !w.broken {
		p := &r.words[s.from-1]
		s.determined = p.entry.is(determiner)
		for k := s.from - 1; k > from && r.words[k].entry.is(adjective) && !r.words[k].broken; k-- {
			s.determined = s.determined || r.words[k-1].entry.is(determiner)
		}
		s.opens = p.entry.is(adjective) && s.from-1 == from || p.low == "and" || p.low == "or" || p.low == "that" || p.low == "only" || p.low == "because" || p.low == "since"
	} else {
		s.opens = true
	}
	s.usual = s.to-s.from == 1 && isUsual(w.name)
	return s
}

// nominal reports whether a word may be part of a noun phrase without an article. free says
// that there can't be a verb in that place.
func nominal(w *word, free bool) bool {
	if len(w.name) < 2 || number(w.name) || !w.nameable() {
		return false
	}
	if indefinites[w.low] || w.entry.is(function|past|calendar|adjective) || !w.entry.is(common) && (w.entry.is(finite) || w.entry.is(verb) && !free) {
		return false
	}
	return len(w.low) < 5 || !fits(w.low, strings.HasSuffix, "ly", "ed") || w.upper && !w.opens
}

var indefinites = analysis.Set("nothing anything everything something everybody everyone anybody someone else")

// insertSpan adds a noun phrase as a name, and records the parts of a compound.
func (r *reader) insertSpan(s *span, confidence float64) bool {
	name := r.join(s.from, s.to)
	if name == "" || s.to-s.from == 1 && Common(name) {
		return false
	}
	f := found{Mention: Mention{Name: name, Display: r.display(s.from, s.to), Type: Unknown, Confidence: confidence}, from: s.from, to: s.to}
	if e := r.words[s.to-1].entry; e.head > 0 && s.to-s.from > 1 {
		f.Type = heads[e.head-1].typ
		if short := headless(name); short != "" { // the grading service is grading
			f.Name = short
		}
	}
	r.insert(f)
	if f.Name == name {
		r.compound(s.from, s.to)
	}
	return true
}

// compound records the modifiers of the noun phrase words[from:to] that can be names: the
// invoice of "invoice numbers".
func (r *reader) compound(from, to int) {
	for k := from; k+1 < to && len(r.parts) < 3; k++ {
		w := &r.words[k]
		if Common(w.name) || !r.rule && isUsual(w.name) || graded(w.low) || len(w.low) < 3 {
			continue
		}
		r.parts = append(r.parts, Mention{Name: w.name, Display: r.display(k, k+1), Type: Unknown, Confidence: ByObject})
	}
}

// graded reports whether a word has the ending of an adjective or adverb.
func graded(low string) bool {
	return fits(low, strings.HasSuffix, "ed", "ly", "al", "ous", "ive", "ful", "less", "able", "ible", "ic", "ary", "ate", "ent", "ant")
}

// subjects finds the names before the phrase at word i, including every member of a list. It
// reports whether there is a name.
func (r *reader) subjects(from, i int, p *relation) bool {
	j, be := i-1, false
	many := p.infinite
	for j >= from && !r.words[j+1].broken && (r.words[j].entry.is(auxiliary) || r.words[j].entry.is(hedge) || adverbs[r.words[j].low]) {
		be = be || r.is(j, "is", "was", "are", "were", "be", "been", "being")
		many = many || r.is(j, "are", "were")
		j--
	}
	if j < from || r.words[j+1].broken {
		return false
	}
	if p.passive && !be {
		return r.at(j) != nil
	}
	s := r.span(from, j+1)
	n := 0
	for ; s.to > 0 && n < 6; n++ {
		if !s.named && (!s.determined && !s.opens || p.infinite && j == i-1 && n == 0 && r.joint(from, s.from) < 0 && !strings.HasSuffix(r.words[j].low, "s") || !r.insertSpan(&s, BySubject)) {
			break
		}
		at := r.joint(from, s.from)
		if !many || at < 0 {
			return true
		}
		s = r.span(from, at)
		s.opens = s.opens || s.to > 0 && (s.from == from || r.words[s.from-1].low == "and")
	}
	return n > 0
}

// joint returns the end of the list member before the one that begins at word i; -1 if there
// is none.
func (r *reader) joint(from, i int) int {
	for i > from && r.words[i-1].entry.is(determiner) && !r.words[i].broken {
		i--
	}
	switch {
	case i > from+1 && (r.words[i-1].low == "and" || r.words[i-1].low == "or") && !r.words[i].broken:
		return i - 1
	case i > from && r.words[i].broken && r.words[i-1].stop == ',':
		return i
	}
	return -1
}

// adverbs can be between a subject and its verb.
var adverbs = analysis.Set(`also only currently now already still heavily mainly therefore always both all never not`)

// objects finds the names after a phrase, including every member of a list.
func (r *reader) objects(i, to int, p *relation) {
	prep := p.last()
	for n := 0; i < to && n < 6; n++ {
		j := r.afterDeterminers(i, to, "both")
		if n > 0 {
			j = r.afterDeterminers(i, to, "both", prep)
		}
		if j >= to || j > i && r.words[j].broken {
			return
		}
		if f := r.at(j); f != nil {
			i = f.to
		} else {
			end, bare := r.nominalEnd(j, to), j == i
			if bare && n > 0 && end-j > 1 || end < to && !r.words[end].broken && r.words[end].low == "of" {
				return
			}
			if n > 0 { // "on pricing and on identity"
				bare = !bare && r.words[j-1].low == prep
			}
			if end == j || !r.isNameable(j, end, bare, p) {
				return
			}
			r.insertSpan(&span{from: j, to: end}, ByObject)
			i = end
		}
		if i = r.afterNumbers(i, to); i >= to {
			return
		}
		comma := r.words[i-1].stop == ','
		switch {
		case r.is(i, "and", "or") && (comma || !r.words[i].broken):
			i++
		case comma && (r.words[i].low == prep || r.at(i) != nil || r.words[i].entry.is(determiner)):
		default:
			return
		}
	}
}

// last returns the last word of a phrase, which is repeated in a list: "depends on pricing and on identity".
func (p *relation) last() string { return p.words[len(p.words)-1] }

// afterDeterminers returns the index after the articles and adjectives at i, and after words of lows among them.
func (r *reader) afterDeterminers(i, to int, lows ...string) int {
	j := i
	for j < to && r.at(j) == nil && (r.words[j].entry.is(determiner|adjective) || r.is(j, lows...)) && (j == i || !r.words[j].broken) {
		j++
	}
	return j
}

// nominalEnd returns the end of the noun phrase without a name at word j; j if there is none, or if a name follows.
func (r *reader) nominalEnd(j, to int) int {
	end := j
	for end < min(to, j+3) && (end == j || !r.words[end].broken) && r.at(end) == nil && nominal(&r.words[end], end == j) {
		end++
	}
	if end < to && r.at(end) != nil && !r.words[end].broken {
		return j
	}
	return end
}

// afterNumbers returns the index after the numbers at word i: the end of "PostgreSQL 15".
func (r *reader) afterNumbers(i, to int) int {
	for i < to && number(r.words[i].name) && !r.words[i].broken {
		i++
	}
	return i
}

// isNameable reports whether the phrase p makes the noun phrase words[from:to] a name. A noun
// without an article may be a substance or an action ("uses caching", "requires approval").
// Then a usual word is a name only after a phrase that relates things to things.
func (r *reader) isNameable(from, to int, bare bool, p *relation) bool {
	w := &r.words[from]
	if to-from == 1 && Common(w.name) || !bare && r.words[from-1].low != "the" && r.words[from-1].low != "our" && r.words[from-1].low != "its" {
		return false
	}
	if !bare {
		return to-from <= 2
	}
	joins := p.typ == Informs || p.typ == Blocks || len(p.words) > 1 && (p.typ == Requires || p.words[0] == "talks" || p.words[0] == "talk")
	if to-from > 1 {
		return joins && to-from == 2 && !w.upper
	}
	return joins || !isUsual(w.name) && !verbal(w) && !isDeed(w.low) && (to == len(r.words) || r.words[to].broken || r.words[to].entry.is(function))
}

// isDeed reports whether a noun names an action or a quality, by its ending.
func isDeed(low string) bool {
	return fits(low, strings.HasSuffix, "tion", "sion", "ment", "ance", "ence", "ness", "ity", "al", "ing", "ism", "ship")
}
