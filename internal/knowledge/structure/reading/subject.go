package reading

import (
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
		return r.aboutSpeaker(from, to)
	case ourself:
		return r.aboutUs(from, to)
	case other, pronoun:
		if r.voice == person {
			return r.speech(BySpeech)
		}
		if f := r.firstNamed(from, to); f.Name != "" || r.speaker.Name == "" {
			return f
		}
		return r.spoken()
	case thing:
		return r.aboutThing(from, to, f)
	}
	switch {
	case f.Name == "":
		return r.spoken()
	case r.voice == person, f.weak && r.saidToPerson():
		return r.speech(BySpeech)
	}
	f.Confidence = min(f.Confidence, ByCapital)
	return f
}

// aboutSpeaker is about for a sentence whose subject is "I".
func (r *reader) aboutSpeaker(from, to int) found {
	if r.isOpenTask() { // the task says more than the person who is to do it
		if f := r.firstNamed(from, to); f.Name != "" {
			return f
		}
		if f := r.done(from, to); f.Name != "" {
			return f
		}
	}
	return r.speakerMention()
}

// aboutUs is about for a sentence whose subject is "we".
func (r *reader) aboutUs(from, to int) found {
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
}

// aboutThing is about for a sentence with the subject f.
func (r *reader) aboutThing(from, to int, f found) found {
	told := r.saidToPerson()
	if !told && f.to < to && owning[r.words[f.to].low] { // "Lena owns the importer."
		if o := r.object(f.to, to); o.Name != "" {
			return o
		}
	}
	switch {
	case told && (f.weak || f.Confidence <= ByCapital && f.Type == Unknown && r.has(from, to, first|plural)):
		return r.speech(BySpeaker)
	case r.voice == user && f.weak && r.has(from, f.from, first):
		return r.speech(BySpeech)
	}
	return f
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
	for i < to {
		if s := r.pronounAt(i, to); s != absent {
			return s, found{}
		}
		next := r.afterOpening(i, to)
		if next == i {
			break
		}
		i = next
	}
	if i >= to {
		return absent, found{}
	}
	if f := r.at(i); f != nil {
		return thing, *f
	}
	w := &r.words[i]
	if w.entry.is(verb) && !(i > from && r.words[i-1].entry.is(determiner|adjective)) && r.order(i, to) {
		return absent, r.object(i, to)
	}
	if w.entry.is(auxiliary) {
		return absent, found{}
	}
	return r.nouns(i, to)
}

// pronounAt returns the kind of the pronoun at word i, absent if there is none.
func (r *reader) pronounAt(i, to int) subject {
	w := &r.words[i]
	switch {
	case r.at(i) != nil:
		return absent
	case w.entry.is(first):
		return self
	case w.entry.is(plural):
		return ourself
	case w.entry.is(second):
		return other
	case w.entry.is(third), w.entry.is(neuter) && !w.entry.is(determiner), w.low == "this", w.low == "that":
		if i+1 < to && w.entry.is(determiner) && !r.words[i+1].entry.is(function|finite|past) { // "his laptop", "this job"
			return absent
		}
		return pronoun
	}
	return absent
}

// afterOpening returns the index after "please", "but", "the", "when asked, " or what else may precede a subject at word i;
// i if there is nothing.
func (r *reader) afterOpening(i, to int) int {
	w := &r.words[i]
	switch f := r.at(i); {
	case f != nil:
		if r.isAddressed(f, to) {
			return f.to
		}
	case w.entry.is(preposition|calendar) || conditions[w.low]:
		if end := r.clauseEnd(i, to); end < to {
			return end
		}
		return i + 1
	case w.low == "don't" || w.low == "dont" || w.low == "do" && r.is(i+1, "not") || w.low == "longer" && r.is(i-1, "no"),
		w.entry.is(determiner | adjective), w.entry.is(function) && !w.entry.is(auxiliary):
		return i + 1
	}
	return i
}

var conditions = analysis.Set("when if because since while although whenever")

// isAddressed reports whether a name is that of the person who is spoken to: "Hey Ana, …".
func (r *reader) isAddressed(f *found, to int) bool {
	if !r.saidToPerson() || f.to > to || f.to < to && !r.words[f.to].broken || r.words[f.to-1].possessive {
		return false
	}
	return f.Type != System && f.Type != Tool && f.Confidence <= ByKnown
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
