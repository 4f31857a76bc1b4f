package reading

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/trained"
)

// Minimum score with which a trained judgement replaces the result of the rules, by what that
// is. On the held-out cases of record 0047 the rules alone were right for 45 %, both together
// for 53 %. overSpeaker was lowered from 0.4 on other cases: of 37 claims filed under the user, 28
// were about something else; of 31 today, 22.
const (
	overNothing = 0.35 // no name, or the head of a noun phrase
	overSpeaker = 0.25
	overName    = 0.6  // a word that is written as a name
	overBefore  = 0.45 // the same, behind what is judged: Confluence in "our wiki runs on Confluence"
	overKnown   = 0.8  // a name that records have
)

// judged returns what the text is about: the trained judgement if its score is high enough,
// or else the result of the rules.
func (r *reader) judged(rules found) found {
	if r.otherScript || ownLife.MatchString(r.text) { // trained.Subject saw no examples of it
		return rules
	}
	if rules.weak && r.body < len(r.words) && rules.to <= r.pastVerb(r.body, r.end(r.body)) { // the first word of an order
		rules = found{}
	}
	least := r.leastOver(&rules)
	best, likely := found{}, least
	most := len(r.words)
	if r.answer > 0 {
		most = r.answer
	}
	for from, n := r.body, 0; from < most && n < 2; from, n = r.end(from), n+1 {
		to := from
		for to < r.end(from) && !r.words[to].aside {
			to++
		}
		if to == from {
			continue
		}
		begin := r.words[min(r.pastVerb(from, to), to-1)].start
		a, b, p := trained.Subject(r.text[begin:r.words[to-1].end])
		f, ok := r.spanned(from, to, begin+a, begin+b)
		if ok && (p >= likely || p >= overBefore && least == overName && best.Name == "" && f.to <= rules.from) {
			best, likely = f, max(p, likely)
		}
	}
	if best.Name == "" || least == overSpeaker && (best.Name == "job" || best.Name == "new job") {
		return rules
	}
	if w := r.whole(best.to, r.end(best.from)); w.Name != "" {
		r.parts = append(r.parts, best.Mention)
		return w
	}
	return best
}

// leastOver returns the least score with which the trained judgement replaces the result of the rules.
func (r *reader) leastOver(rules *found) float64 {
	switch {
	case rules.Name == "":
	case r.answer > 0 && rules.from > r.answer && !rules.Known: // an answer gives a value of what the question names
	case rules.Name == r.speaker.Name || rules.Name == "user":
		return overSpeaker
	case rules.Known:
		return overKnown
	case !rules.weak && rules.Confidence >= ByCapital:
		return overName
	}
	return overNothing
}

// spanned returns the mention for text[begin:end] within words[from:to].
func (r *reader) spanned(from, to, begin, end int) (found, bool) {
	for from < to && r.words[from].end <= begin {
		from++
	}
	for to > from && r.words[to-1].start >= end {
		to--
	}
	if from == to || to-from > 5 || to-from == 1 && r.words[from].entry.is(function) || r.is(from, "longer") && r.is(from-1, "no") {
		return found{}, false
	}
	if f := r.at(to - 1); f != nil && f.to <= to && f.from >= from && (f.Known || f.from == from && f.to == to) {
		return *f, true
	}
	f := found{Mention: Mention{Name: r.join(from, to), Display: r.display(from, to), Type: Unknown, Confidence: BySubject}, from: from, to: to, weak: true}
	if display := r.text[begin:end]; (r.words[from].start < begin || r.words[to-1].end > end) && strings.ContainsFunc(display, analysis.Unspaced) {
		f.Name, f.Display = analysis.Entity(display), display // a part of a text in a script without spaces
	}
	if f.Name == "" || isQuantity(f.Name) {
		return found{}, false
	}
	f.Type = TypeOf(f.Name)
	return f, true
}

// ownLife matches what people say of their own life in other languages, and of where "we" live.
var ownLife = lazyregexp.New(`(?i)^(?:user: )?(?:(?:jetzt|ahora|agora|maintenant),? )?(?:we live in|ich (?:wohne|lebe|arbeite|heiße|mag|esse|trinke|habe (?:\pL+ ){0,3}(?:job|stelle) bei)|wir (?:wohnen|leben)|(?:ich bin|wir sind) (?:\pL+ ){0,2}nach \pL+ (?:um)?gezogen|ich bin (?:\pL+ )?(?:allergisch|vegetari|vegan|laktose|verheiratet)|` +
	`je (?:ne )?(?:vis|travaille|préfère|mange|bois)|je n['’]aime|je m['’]appelle|je suis (?:\pL+ )?(?:allergique|végétari|végan|intolérant|mariée?)|j['’](?:habite|aime|ai déménagé)|nous (?:habitons|vivons|avons déménagé)|` +
	`viv(?:o|imos)|trabajo|me llamo|(?:no )?me gustan?|prefiero|soy (?:\pL+ )?(?:alérgic|vegetarian|vegan|celíac)|(?:nos hemos|me he) mudado|mor(?:o|amos)|trabalho|me chamo|prefiro|sou (?:\pL+ )?(?:alérgic|vegetarian|vegan|celíac))`)
