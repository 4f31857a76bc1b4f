package reading

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// subject is the kind of the subject of a sentence.
type subject uint8

const (
	absent  subject = iota // an order, or an incomplete sentence
	self                   // I, my
	ourself                // we, our
	other                  // you
	pronoun                // it, this, they
	thing                  // a noun phrase
)

// primary returns what the text is about.
func (r *reader) primary() found {
	if r.voice != person && ownLife.MatchString(r.text) {
		return r.speakerMention()
	}
	best := found{}
	for from := r.body; from < len(r.words) && r.words[from].sentence < r.words[r.body].sentence+4; from = r.end(from) {
		f := r.about(from)
		if f.Confidence > best.Confidence {
			best = f
		}
		if best.Confidence >= BySpeech {
			return best
		}
	}
	if best.Confidence >= ByObject {
		return best
	}
	for i := range r.found {
		if f := &r.found[i]; !f.weak && f.from >= r.body {
			f := *f
			f.Confidence = min(f.Confidence, BySpeech)
			return f
		}
	}
	if f := r.permitted(); f.Name != "" {
		return f
	}
	if f := r.possessor(); f.Name != "" && best.Name == "" {
		return f
	}
	for _, f := range [...]found{r.speaker, r.filed, r.evidence(), r.project()} {
		if f.Name != "" && f.Confidence > best.Confidence {
			if f.Name == r.speaker.Name {
				f.Confidence = BySpeech
			}
			return f
		}
	}
	return best
}

// possessor returns the owner of something in a rule: the importer in "the importer's
// logs".
func (r *reader) possessor() found {
	if !r.rule {
		return found{}
	}
	for i := r.body; i+1 < len(r.words); i++ {
		if w := &r.words[i]; w.possessive && !w.quoted && !w.aside && !w.entry.is(function) && !Common(w.low) {
			return found{Mention: Mention{Name: w.low, Display: w.low, Type: Unknown, Confidence: BySubject}, from: i, to: i + 1}
		}
	}
	return found{}
}

// permitted returns what a rule for everybody is about: the price in "nobody may change a
// price".
func (r *reader) permitted() found {
	if !r.rule || r.voice != nobody {
		return found{}
	}
	for from := r.body; from < len(r.words); from = r.end(from) {
		to := r.end(from)
		for i := from; i+2 < to; i++ {
			if w := &r.words[i]; w.low != "may" && w.low != "must" && w.low != "can" || w.quoted || w.aside {
				continue
			}
			k := i + 1
			for k < to && (r.words[k].entry.is(negative) || adverbs[r.words[k].low]) {
				k++
			}
			if k+1 < to && r.words[k].entry.is(verb) {
				if f := r.object(k, to); f.Name != "" {
					return f
				}
			}
		}
	}
	return found{}
}

// saidToPerson reports whether a person says the text to another person, or there is a name before
// a colon. Then a sentence without a name is about that one.
func (r *reader) saidToPerson() bool {
	return r.voice == person || r.voice == nobody && r.speaker.Name != ""
}

// end returns the end of the sentence of word i.
func (r *reader) end(i int) int {
	s := r.words[i].sentence
	for i < len(r.words) && r.words[i].sentence == s {
		i++
	}
	return i
}

// about returns what the sentence that begins at from is about, if it says so.
func (r *reader) about(from int) found {
	to := r.end(from)
	if body := r.introduced(from, to); body > from { // "Quick intro: the ledger is …"
		if f := r.aboutClause(body, to); f.Name != "" && f.Name != r.speaker.Name {
			return f
		}
	}
	return r.aboutClause(from, to)
}

// introduced returns the start of the statement after a colon, if the words before the
// colon only introduce it; otherwise it returns from.
func (r *reader) introduced(from, to int) int {
	for i := from; i < min(to-2, from+12); i++ {
		if r.words[i].stop == ':' && !r.words[i].quoted {
			if r.has(i+1, to, auxiliary|finite) {
				return i + 1
			}
			break
		}
	}
	return from
}

// aboutClause is about for words[from:to].
func (r *reader) aboutClause(from, to int) found {
	sub, f := r.subject(from, to)
	switch sub {
	case self:
		if r.isOpenTask() { // the task says more than the person who is to do it
			if f := r.firstNamed(from, to); f.Name != "" {
				return f
			}
			if f := r.done(from, to); f.Name != "" {
				return f
			}
		}
		return r.speakerMention()
	case ourself:
		if f := r.changed(from, to); f.Name != "" && r.voice != person {
			return f
		}
		if f := r.firstNamed(from, to); f.Name != "" && r.voice != person {
			return f
		}
		if r.anyOf(from, to, "prefer", "like", "want", "love", "hate", "avoid") {
			return r.speech(BySpeech)
		}
		if f := r.chosenFor(from, to); f.Name != "" && r.voice != person {
			return f
		}
		return r.spoken()
	case other, pronoun:
		if r.voice != person {
			if f := r.firstNamed(from, to); f.Name != "" || r.speaker.Name == "" {
				return f
			}
			return r.spoken()
		}
		return r.speech(BySpeech)
	case thing:
		if f.to < to && owning[r.words[f.to].low] && !r.saidToPerson() { // "Lena owns the importer."
			if o := r.object(f.to, to); o.Name != "" {
				return o
			}
		}
		switch {
		case r.saidToPerson() && f.weak, r.saidToPerson() && f.Confidence <= ByCapital && f.Type == Unknown && r.has(from, to, first|plural):
			return r.speech(BySpeaker)
		case r.voice == user && f.weak && r.has(from, f.from, first):
			return r.speech(BySpeech)
		}
		return f
	}
	if f.Name != "" {
		if r.voice == person || r.saidToPerson() && f.weak {
			return r.speech(BySpeech)
		}
		f.Confidence = min(f.Confidence, ByCapital)
		return f
	}
	return r.spoken()
}

// changed returns what somebody gave another value: the API in "we moved the API to Node 22".
func (r *reader) changed(from, to int) found {
	for i := from; i+3 < to; i++ {
		if !changing[r.words[i].low] || !r.words[i+1].entry.is(determiner) || r.words[i+1].broken {
			continue
		}
		_, f := r.nouns(i+2, to)
		if f.Name == "" && !r.words[i+2].entry.is(function) { // also a usual noun: "the API"
			f = found{Mention: Mention{Name: r.join(i+2, i+3), Display: r.display(i+2, i+3), Type: Unknown}, from: i + 2, to: i + 3}
		}
		if f.Name != "" && f.to < to && r.is(f.to, "to", "from", "onto") {
			f.Confidence = ByCapital
			return f
		}
		break
	}
	return found{}
}

var changing = analysis.Set("moved migrated switched upgraded downgraded bumped ported updated converted changed raised lowered renamed")

// chosenFor returns what something was chosen for: the scheduler in "let's go with REST for the scheduler".
func (r *reader) chosenFor(from, to int) found {
	if !r.anyOf(from, to, "decided", "agreed", "chose", "picked", "settled", "go", "going", "use") {
		return found{}
	}
	for i := from; i+2 < to; i++ {
		if r.is(i, "for") && r.words[i+1].entry.is(determiner) {
			_, f := r.nouns(i+2, to)
			f.Confidence = min(f.Confidence, ByCapital)
			return f
		}
	}
	return found{}
}

// owning holds verbs of a person who answers for something. The thing says more than the person.
var owning = analysis.Set("owns maintains owned maintained")

// isOpenTask reports whether the text is a task that a session left open.
func (r *reader) isOpenTask() bool {
	return strings.HasPrefix(strings.TrimPrefix(r.low, "user: "), "still to do: ")
}

// done returns the object of somebody's action: the rejection mails in "I haven't written
// the rejection mails".
func (r *reader) done(from, to int) found {
	for i := from; i+1 < to; i++ {
		w := &r.words[i]
		if w.entry.is(function|first|preposition) || !r.words[i+1].entry.is(determiner) {
			continue
		}
		j := i + 1
		for j < to && r.words[j].entry.is(determiner|adjective) {
			j++
		}
		if _, f := r.nouns(j, to); f.Name != "" {
			f.Confidence = min(f.Confidence, ByObject)
			return f
		}
	}
	return found{}
}

// spoken returns the speaker, for a sentence that names nothing. For a user it returns
// none, unless the sentence says how the user wants things to be.
func (r *reader) spoken() found {
	if r.voice == user && !r.rule {
		return found{}
	}
	return r.speech(BySpeech)
}

// speech returns the speaker with confidence c.
func (r *reader) speech(c float64) found {
	f := r.speaker
	if f.Name != "" {
		f.Confidence = c
	}
	return f
}

// speakerMention returns the person who says "I". A speaker's rule about a thing is about
// the thing.
func (r *reader) speakerMention() found {
	if r.speaker.Name != "" {
		return r.speaker
	}
	return found{Mention: Mention{Name: "user", Display: "I", Type: Person, Confidence: ByCapital}}
}

// firstNamed returns the first name in words[from:to].
func (r *reader) firstNamed(from, to int) found {
	for i := range r.found {
		if f := r.found[i]; f.from >= from && f.from < to && !f.weak {
			f.Confidence = min(f.Confidence, ByCapital)
			return f
		}
	}
	return found{}
}

// subject returns the subject of words[from:to].
func (r *reader) subject(from, to int) (subject, found) {
	i := from
	for i < to { // openings: "please", "but", "when asked, "
		w := &r.words[i]
		switch {
		case r.at(i) != nil:
			f := r.at(i)
			if f.to <= to && r.saidToPerson() && f.Type != System && f.Type != Tool && f.Confidence <= ByKnown && (f.to == to || r.words[f.to].broken) && !r.words[f.to-1].possessive { // "Hey Ana, …"
				i = f.to
				continue
			}
		case w.entry.is(preposition) || w.low == "when" || w.low == "if" || w.low == "because" || w.low == "since" || w.low == "while" || w.low == "although" || w.low == "whenever" || w.entry.is(calendar):
			j := i + 1
			for j < to && !r.words[j].broken {
				j++
			}
			if j < to {
				i = j
				continue
			}
			i++
			continue
		case w.low == "don't" || w.low == "dont" || w.low == "do" && r.is(i+1, "not") || w.low == "longer" && r.is(i-1, "no"):
			i++
			continue
		case w.entry.is(first):
			return self, found{}
		case w.entry.is(plural):
			return ourself, found{}
		case w.entry.is(second):
			return other, found{}
		case w.entry.is(third), w.entry.is(neuter) && !w.entry.is(determiner), w.low == "this" || w.low == "that":
			if i+1 < to && w.entry.is(determiner) && !r.words[i+1].entry.is(function|finite|past) {
				i++
				continue
			}
			return pronoun, found{}
		case w.entry.is(determiner) || w.entry.is(function) && !w.entry.is(auxiliary) || w.entry.is(adjective):
			i++
			continue
		}
		break
	}
	if i >= to {
		return absent, found{}
	}
	if f := r.at(i); f != nil {
		return thing, *f
	}
	w := &r.words[i]
	if w.entry.is(verb) && !(i > from && (r.words[i-1].entry.is(determiner) || r.words[i-1].entry.is(adjective))) && r.order(i, to) {
		return absent, r.object(i, to)
	}
	if w.entry.is(auxiliary) {
		return absent, found{}
	}
	return r.nouns(i, to)
}

// order reports whether a base form begins an order and no noun phrase: no finite verb
// follows before the next mark.
func (r *reader) order(i, to int) bool {
	for j := i + 1; j < to && j < i+5; j++ {
		w := &r.words[j]
		if w.broken || w.entry.is(determiner|preposition) {
			return true
		}
		if w.entry.is(auxiliary) || w.entry.is(finite) && !w.entry.is(common) {
			return false
		}
	}
	return true
}

// nouns returns the noun phrase at i, up to its verb.
func (r *reader) nouns(i, to int) (subject, found) {
	if r.otherScript {
		return absent, found{}
	}
	if r.tongue > german { // the rules don't know these languages' verbs, so a noun must have an article
		for i < to && !(i > 0 && r.words[i-1].entry.is(determiner) && !r.words[i].entry.is(function) && !r.words[i].broken) {
			if i++; i < to && r.at(i) != nil && !r.at(i).weak {
				return thing, *r.at(i)
			}
		}
		if i >= to {
			return absent, found{}
		}
		to = i + 1
	}
	j, acts := i, false
	for j < to && j < i+6 {
		w := &r.words[j]
		if w.name == "" || strings.ContainsAny(w.name, "(){}[]=\"\\^|") {
			break
		}
		if acts = j > i && r.does(i, j, to); acts || j > i && (verbal(w) || r.acts(j, to)) {
			break
		}
		if j > i && w.broken || w.entry.is(function) || j > i && w.entry.is(finite|past) || j > i && w.entry.is(verb) && !w.entry.is(common) {
			break
		}
		if f := r.at(j); f != nil && j > i {
			return thing, *f
		}
		if j > i && w.entry.is(generic) && w.entry.is(verb) && strings.HasSuffix(r.words[j-1].low, "s") && !w.broken { // "accounts get", "backups run"
			break
		}
		if r.tongue == german && !w.upper {
			break
		}
		if j > i && r.is(j+1, "than") { // "uploads larger than"
			break
		}
		j++
		if w.possessive {
			break
		}
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
	if f.Name == "" || isQuantity(f.Name) || j-from == 1 && (acts && Common(f.Name) || !acts && r.isPlainWord(&f, to) || verbal(&r.words[from]) || strings.ContainsFunc(f.Name, analysis.Unspaced)) {
		return absent, found{}
	}
	if e := r.words[j-1].entry; e.head > 0 && j-from > 1 {
		f.Type = heads[e.head-1].typ
	}
	return thing, f
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
	low, noun := r.words[j].low, r.words[j-1].low
	n := len(low)
	if r.tongue != english || i == 0 || !r.words[i-1].entry.is(determiner|adjective) || n < 4 || low[n-1] != 's' || strings.HasSuffix(low, "ss") || strings.HasSuffix(low, "us") || strings.HasSuffix(low, "is") ||
		strings.HasSuffix(noun, "s") || r.words[j].upper || r.words[j].possessive || r.words[j-1].entry.is(adjective) {
		return false
	}
	if j+1 >= to || r.words[j+1].broken {
		return false
	}
	next := &r.words[j+1]
	end := r.clauseEnd(j+1, to)
	switch {
	case r.words[j].entry.is(generic | common): // "logs to stdout", "times out"
		if !r.is(j+1, "to", "into", "out") {
			return false
		}
	case r.is(j+1, "to", "out", "off", "up", "down", "into", "after", "within", "until", "every", "when", "if", "while", "because", "automatically", "itself", "twice", "once"):
	case r.is(j+1, "at", "for") && (isFigure(r.word(j+2)) || r.is(j+2, "noon", "midnight", "night", "dawn", "dusk")):
	case r.words[to-1].stop != '.': // a fragment, such as "the tuition fees for March"
		return false
	case r.is(j+1, "at", "in", "on", "with"): // not: "the holiday rentals in Porto cost …"
		if end-j > 5 {
			return false
		}
	case next.entry.is(adjective|generic) && end-j > 2, !next.entry.is(function) && len(next.low) > 3 && strings.HasSuffix(next.low, "s"):
	default:
		return false
	}
	for k := j + 1; k < end && !subordinates[r.words[k].low]; k++ {
		if e := r.words[k].entry; e.is(auxiliary|finite|past) && !e.is(preposition) || e.is(verb) && !e.is(common|adjective) && !r.words[k-1].entry.is(determiner|preposition) || strings.HasSuffix(r.words[k].low, "n't") {
			return false
		}
	}
	return true
}

// object returns what an order that begins at i is about: the first name in it, or else the noun
// phrase after the verb, or else the one after a preposition. A name in the reason or the
// condition is the last choice.
func (r *reader) object(i, to int) found {
	end := i + 1
	for end < to && !subordinates[r.words[end].low] {
		end++
	}
	if f := r.firstNamed(i, end); f.Name != "" {
		return f
	}
	if r.voice == user && r.rule && behaviours[r.words[i].low] {
		return r.speech(BySpeech)
	}
	for j := i + 1; j < end; j++ {
		for j < end && r.words[j].entry.is(determiner|adjective|preposition) {
			j++
		}
		if j == end {
			break
		}
		if _, f := r.nouns(j, end); f.Name != "" {
			f.Confidence = min(f.Confidence, ByObject)
			return f
		}
		for j < end && !r.words[j].entry.is(preposition) {
			j++
		}
	}
	return r.firstNamed(end, to)
}

// subordinates begin a reason, a condition or a time.
var subordinates = analysis.Set("because since while whereas so unless until when whenever if as that which who")
