package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// Phrases of an assistant's questions and of the answers that users give.
var (
	offers = list(`shall i, should i, want me to, would you like me to, do you want me to, can i, may i, anything else, is there anything, shall we, ready,
		would you like, do you have any, how does, how do these, how do those, how do they, what do you think, do you want to, feel free, is this okay, which of these, wouldn't that, does that, does this, sounds good, sound good, ok to, okay to, is that ok, is that okay, do you need, what else, how can i, what can i`)
	takeable      = list(`want a, want an, want any, want some, want the, want more, do you want, need a, need an, need any, need some, care for, interested in`)
	takes         = analysis.Set("yes yep yeah yup no nope nah not ok okay sure please thanks thank you thx go ahead do it that of course great good fine perfect absolutely definitely certainly gladly now i'd love to sounds right")
	postponements = list(`later, not now, not today, not yet, tomorrow, after, one sec, one second, one moment, hang on, hold on, hmm, hm, dunno, no idea, i don't know, not sure,
		let me check, let me look, give me, wait, idk, maybe, ask me, skip it, whatever, we'll see, will do, doing it, done, fixed, works now, it works, ok so, i mean, nah, thanks, cheers, ta, i'm off, gotta`)
	ordinals = list(`the first one, first one, the second one, second one, the third one, the last one, the former, the latter, the first, the second, option, both, the cheaper one, the other one, number one, number two,
		le premier, la première, le deuxième, la deuxième, die erste, das erste, der erste, die zweite, das zweite, la primera, el primero, la segunda, el segundo, a primeira, o primeiro, a segunda, o segundo`)
	selfCorrections = list(`no wait, wait no, no sorry, sorry no, scratch that, i meant, or rather, actually no, mmh actually, hmm actually, uh actually, hm no, wait actually, no actually,
		i was wrong, i misspoke, my mistake, my bad, i mistyped, strike that, that's wrong, no hang on`)
	aboutWords = analysis.Set("about with regarding on concerning")

	sayNo  = analysis.Set("no nope nah never nein non não nicht")
	sayYes = analysis.Set("yes yep yeah yup correct exactly right sure true indeed ja oui sí sim genau richtig")
)

// answerMark separates the assistant's question from the user's answer in a statement.
const answerMark = " Answer: "

// asked returns the question at the end of an assistant's message, and the sentence before it
// where the question can't be understood alone. It returns "" if the message ends with no
// question, with one that offers to do something, or with one whose answer is not worth
// keeping.
func (l *collector) asked(agent *speech) (question, context string) {
	if !l.toAgent || agent == nil || agent.person || agent.text == "" || givesOrders(agent.text) {
		return "", ""
	}
	parts := sentences(agent.text)
	if len(parts) == 0 {
		return "", ""
	}
	q := parts[len(parts)-1]
	if len(parts) > 1 && !hasCredential(&parts[len(parts)-2]) {
		context = unmarked(parts[len(parts)-2].text)
	}
	if !q.asks || hasCredential(&q) || characters(q.text) > maxQuestion {
		return "", context
	}
	q.open(nil)
	lang, known := languageOf(q.text)
	if !known { // "Que puis-je faire ?"
		if lang, known = languageOf(agent.text); !known {
			lang = l.spoken
		}
	}
	switch {
	case lang == nil:
		if offers.starts(q.words) > 0 || substance(q.words) < 1 || len(q.words) < 3 {
			return "", context
		}
		if offers.in(q.words) >= 0 {
			return "", context
		}
		if vagueQuestion(q.words) {
			if !numbered(context) && !strings.Contains(context, "`") || characters(context) > maxQuestion {
				return "", context
			}
			return unmarked(context + " " + q.text), context
		}
	case lang == unreadLanguage:
		return "", context
	default:
		if f := lang.form(q.text); lang.starts(f, lang.offers) || lang.unspaced && lang.has(f, lang.offers) || len(strings.Fields(f)) < 3 && !lang.unspaced {
			return "", context
		}
	}
	return unmarked(q.text), context
}

// longestAnswer is the maximum length, in characters, of a sentence that can be an answer.
const longestAnswer = 140

// shortReply is the number of words up to which an answer is assumed to need its question to
// be understood.
const shortReply = 9

// answers reports whether a sentence answers the question before it. It returns false for a
// sentence that puts the answer off, asks something itself or changes the subject.
func answers(s *sentence, lang *cues) bool {
	w := s.words
	if len(w) == 0 || s.asks || hasCredential(s) || characters(s.text) > longestAnswer || isUnmarkedQuestion(w) && len(w) > 3 || strings.HasSuffix(s.text, ":") {
		return false
	}
	if lang != nil {
		return lang.answers(s)
	}
	first, short := w[0].low, len(w) <= shortReply
	switch {
	case wants.starts(w) > 0, hypotheses.starts(w) > 0, strings.HasSuffix(s.text, "!"):
		return false
	case self[first] && len(w) > 1, !short && !needsContext(w, false): // it can be understood without the question
		return false
	case numbered(s.text):
		return true
	case postponements.starts(w) > 0, requests.starts(w) > 0, phatic[first] && len(w) <= 3:
		return false
	}
	return !(sayYes[first] || sayNo[first]) || len(w) == 1 || substance(w) >= 2
}

// answers is the same for a sentence in this language.
func (c *cues) answers(s *sentence) bool {
	f := c.form(s.text)
	return c != unreadLanguage && !c.starts(f, c.later) && !(c.has(f, c.greetings) && len(s.words) < 4) && !c.has(f, c.wanted) && !c.has(f, c.asked) && !c.has(f, c.hypothetical)
}

// takesOffer reports whether a question offers something and the reply takes or refuses it: "Want a
// meal plan?" "Yes please." It cuts the reply to what it says besides: "Yes please, and my name is Sam."
func takesOffer(question string, reply *sentence) bool {
	if i := strings.LastIndex(question, ". "); i >= 0 {
		question = question[i+2:]
	}
	if takeable.starts(wordsOf(question)) == 0 {
		return false
	}
	w := reply.words
	for i := range w {
		if i > 0 && w[i-1].comma && (w[i].low == "and" || w[i].low == "but") && i+1 < len(w) {
			reply.cutTo(w[i+1].start)
			return true
		}
		if !takes[w[i].low] {
			return false
		}
	}
	return true
}

// lastWord cuts a sentence to the text behind a phrase that takes back what was said before
// it, as in "two, no wait, one". back reports whether there is such a phrase, and rest whether
// any text follows it.
func lastWord(s *sentence, lang *cues) (back, rest bool) {
	if lang != nil {
		f := lang.form(s.text)
		if lang == unreadLanguage || !lang.has(f, lang.corrections) {
			return false, true
		}
		if lang.unspaced {
			for _, p := range lang.corrections {
				if i := strings.LastIndex(s.text, p); i >= 0 {
					tail := strings.TrimLeft(s.text[i+len(p):], "ました了。、,， ")
					if characters(tail) < 2 {
						return true, false
					}
					s.cutTo(len(s.text) - len(tail))
					return true, true
				}
			}
			return true, false
		}
		for i := len(s.words) - 1; i >= 0; i-- {
			for _, p := range lang.corrections {
				phrase := strings.Fields(p)
				if !follows(s.words[i:], phrase) {
					continue
				}
				if i+len(phrase) >= len(s.words) {
					return true, false
				}
				s.cutTo(s.words[i+len(phrase)].start)
				return true, true
			}
		}
		return true, false
	}
	for i := len(s.words) - 1; i >= 0; i-- {
		n := selfCorrections.starts(s.words[i:])
		if n == 0 || i > 0 && (!s.words[i-1].comma || len(s.words)-i-n > 25) {
			continue
		}
		if i+n >= len(s.words) {
			return true, false
		}
		s.cutTo(s.words[i+n].start)
		return true, true
	}
	return false, true
}

// amends adds a candidate for a sentence that gives only another value for what was said right before: by
// the same person, whose candidate it replaces, or by the assistant.
func (l *collector) amends(s *speech, i int, c *sentence, room int) bool {
	reply, ok := consolidate.ReadReply(c.text)
	if !ok || c.asks || hasCredential(c) {
		return false
	}
	var fixed candidate
	replaced, old := -1, ""
	for n := len(l.found) - 1; n >= max(0, len(l.found)-mostBefore) && replaced < 0; n-- {
		k := &l.found[n]
		if k.from != s && (i > 0 || k.from != s.previous()) {
			break
		}
		if text, was := reply.Amend(k.text); text != "" && characters(text) <= room {
			fixed, replaced, old = *k, n, was
			fixed.from, fixed.text, fixed.quote, fixed.corrected = s, text, c.text, k.attributed(l.limit)
		}
	}
	if i == 0 && s.before != nil && !s.before.person && !givesOrders(s.before.text) {
		parts := sentences(s.before.text)
		for n := len(parts) - 1; n >= max(0, len(parts)-mostBefore); n-- {
			p := beforeI(&parts[n])
			text, was := reply.Amend(p.text)
			if text == "" || characters(text) > room {
				continue
			}
			if replaced >= 0 && strings.EqualFold(was, old) || !tellsFact(p) {
				break
			}
			fixed, replaced = candidate{from: s, text: yours.Replace(text), quote: c.text, sort: draft.Fact, confidence: 0.8, agents: true}, -1
			break
		}
	}
	if fixed.text == "" {
		return false
	}
	if replaced >= 0 {
		l.found = slices.Delete(l.found, replaced, replaced+1)
		l.drop[reasonCorrected]++
	}
	l.found = append(l.found, fixed.weighed(l.present))
	return true
}

// yours replaces what an assistant calls the user's.
var yours = strings.NewReplacer(" your ", " the ", "Your ", "The ")

// beforeI returns a sentence without a clause at its end that is about the speaker: "Ben owns it, so I'd
// ask him."
func beforeI(s *sentence) *sentence {
	for i := range s.words {
		if !self[s.words[i].low] {
			continue
		}
		for i--; i > 2; i-- {
			if s.words[i].comma {
				head := *s
				head.cutAt(s.words[i+1].start)
				return &head
			}
		}
		break
	}
	return s
}

// tellsFact reports whether a sentence of the assistant says something that can be understood alone and
// that is not about what it does or about how somebody feels.
func tellsFact(s *sentence) bool {
	w := s.words
	return !s.asks && len(w) > 3 && !hasCredential(s) && !has(w, len(w), self) && !has(w, len(w), addressed) && hasVerb(w) && !needsContext(w, false) && hypotheses.in(w) < 0
}

var addressed = analysis.Set("you you're you'll you've yourself")

// takenBack returns the terms of what a sentence says was wrong, and where the sentence goes on: "I
// was wrong about the admin port, it's 9090." It returns none if the sentence does not name it.
func takenBack(s *sentence) (topic []string, rest int) {
	for i := range s.words {
		n := selfCorrections.starts(s.words[i:])
		if n == 0 || !aboutWords[low(s.words, i+n)] || i > 0 && !s.words[i-1].comma {
			continue
		}
		end := i + n + 1
		for end < len(s.words) && !s.words[end-1].comma {
			end++
		}
		if end > i+n+1 {
			topic = analysis.Terms(s.text[s.words[i+n+1].start:s.words[end-1].end])
		}
		return topic, end
	}
	return nil, 0
}

// answer adds a candidate made of a sentence and the question that it answers. It returns
// false if that text is too long.
func (l *collector) answer(s *speech, c *sentence, question string, lang *cues) bool {
	v := verdict{sort: draft.Fact, confidence: 0.8}
	if lang == nil && hedges.in(c.words) >= 0 {
		v.confidence = 0.5
	}
	if lang == nil && len(c.words) <= 2 && (sayYes[c.words[0].low] || sayNo[c.words[0].low]) && offersAction(question) {
		l.drop[reasonRequest]++
		return true // "Tag it now?" "Yes."
	}
	text := strings.TrimSpace(question) + answerMark + c.text
	if characters(text) > l.limit {
		return false
	}
	if hasCredential(&sentence{text: text, full: text, words: wordsOf(text)}) {
		l.drop[reasonSecret]++
		return true // it is an answer, but is not stored
	}
	k := candidate{from: s, text: text, quote: c.text, sort: v.sort, confidence: v.confidence, answer: true}
	l.found = append(l.found, k.weighed(l.present))
	return true
}

// offersAction reports whether a question offers to do something, that is, starts with an imperative
// verb.
func offersAction(question string) bool {
	if i := strings.LastIndex(question, ". "); i >= 0 {
		question = question[i+2:]
	}
	w := wordsOf(question)
	first := low(w, 0)
	return !auxiliary[first] && (imperatives[first] || strings.HasSuffix(question, " now?"))
}

// Reports returns what the assistant said that it had done, each with its time, the latest last.
func Reports(tr *session.Transcript) (out []draft.Dated) {
	all := speeches(tr)
	for i := range all {
		s := &all[i]
		if s.person || s.name != "" || s.text == "" || givesOrders(s.text) {
			continue
		}
		for _, p := range sentences(s.text) {
			if !p.asks && !hasCredential(&p) && consolidate.TellsDone(p.text) && hypotheses.in(p.words) < 0 && !retellsUser(p.words) {
				out = append(out, draft.Dated{Text: unmarked(p.text), At: s.entry.At})
			}
		}
	}
	return out[max(0, len(out)-maxReports):]
}

// maxReports is the maximum number of reports of a session.
const maxReports = 20
