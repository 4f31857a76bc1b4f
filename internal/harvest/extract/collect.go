package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// collector finds candidates for statements in people's messages.
type collector struct {
	toAgent      bool // people speak to an agent, not to each other
	limit        int  // maximum length of a statement, in characters
	present      map[string]bool
	drop         dropped
	found        []candidate
	spoken       *cues  // the session's language; nil is English
	lastQuestion string // the question that the last answer was for
	forgot       int    // how many requests to forget something were read
}

// collect finds the candidates of a session.
func collect(all []speech, toAgent bool, limit int, drop dropped) []candidate {
	l := collector{toAgent: toAgent, limit: limit, present: map[string]bool{}, drop: drop}
	for i := range all {
		if name, _, _ := strings.Cut(lower(all[i].name), " "); name != "" {
			l.present[name] = true
		}
	}
	l.spoken = spokenIn(all)
	for i := range all {
		s := &all[i]
		if i > 0 {
			s.before = &all[i-1]
		}
		if !s.person || s.text == "" {
			continue
		}
		if givesOrders(s.text) {
			drop[reasonSuspect]++
			continue
		}
		var unread int
		if s.parts, unread = sentencesRead(s.text); unread > 0 {
			drop[reasonUnread] += unread
		}
		if toAgent {
			s.parts = spoken(s.parts)
		}
		l.message(s)
		if len(l.found) >= 2*maxCandidates {
			l.found = strongest(l.found, maxCandidates)
		}
	}
	return l.found
}

// spokenIn returns the language that people use in a session.
func spokenIn(all []speech) *cues {
	var b strings.Builder
	for i := range all {
		if all[i].person && b.Len() < headBytes {
			b.WriteString(clip(all[i].text, 400) + " ")
		}
	}
	lang, _ := languageOf(b.String())
	return lang
}

// corrects reports whether a sentence says what was wrong and what is right.
func corrects(c *sentence) bool {
	topic, rest := takenBack(c)
	return len(topic) > 0 && rest < len(c.words)
}

// mostBefore is how many of the latest candidates a correction may refer to.
const mostBefore = 6

// corrects adds a sentence that gives a new value for something said before, in place of the
// candidate that it corrects: "The quota is 500 a day." "I was wrong, it's 300 a day." That is the one
// with most of its words, and the latest of several. A sentence that only takes something back
// removes the candidate.
func (l *collector) corrects(s *speech, c *sentence, room int) bool {
	if c.asks || hasCredential(c) || characters(c.text) > room || hedges.in(c.words) >= 0 {
		return false
	}
	topic, rest := takenBack(c)
	if len(topic) == 0 && !consolidate.MayCorrect(c.text) {
		return false
	}
	best, most := -1, 0
	for n := len(l.found) - 1; n >= max(0, len(l.found)-mostBefore); n-- {
		k := &l.found[n]
		if k.from.name != s.name || len(topic) == 0 && !consolidate.Corrects(k.text, c.text) {
			continue
		}
		about := topic
		if len(about) == 0 {
			about = analysis.Terms(c.text)
		}
		same := 0
		for _, t := range about {
			if slices.Contains(k.terms, t) {
				same++
			}
		}
		if (len(topic) == 0 || 2*same >= len(topic)) && (best < 0 || same > most) {
			best, most = n, same
		}
	}
	if best < 0 || len(topic) > 0 && most == 0 {
		return false
	}
	k := l.found[best]
	fixed := candidate{from: s, text: c.text, quote: c.text, corrected: k.attributed(l.limit), sort: k.sort, confidence: k.confidence, answer: k.answer && k.from != s}
	if rest < len(c.words) {
		if text, noted := amended(&k, c, topic, rest); text != "" && characters(text) <= room {
			fixed.text, fixed.answer, fixed.open = text, k.answer, k.open
		} else if noted != "" && characters(noted) <= room {
			l.found[best].text = noted
			fixed.corrected = ""
			l.found = append(l.found, fixed.weighed(l.present))
			return true
		}
	}
	l.found = slices.Delete(l.found, best, best+1)
	if len(topic) == 0 || rest < len(c.words) {
		l.found = append(l.found, fixed.weighed(l.present))
	}
	l.drop[reasonCorrected]++
	return true
}

// amended returns the text of k with the value that the correction c gives for the topic, where c says nothing
// else. If it does, and k says other things as well, noted is the text of k with a note on that value.
func amended(k *candidate, c *sentence, topic []string, rest int) (text, noted string) {
	if len(topic) == 0 {
		return consolidate.Restated(k.text, c.text), consolidate.Correct(k.text, c.text)
	}
	return consolidate.CorrectAbout(k.text, topic, c.text[c.words[rest].start:])
}

// takeBack drops the candidate that sentence i of a message corrects. That is the last one of the
// same message or, if the message starts with the correction, the answer in the speaker's message
// before.
func (l *collector) takeBack(s *speech, i int) {
	n := len(l.found) - 1
	if n < 0 || l.found[n].from != s && (i > 0 || !l.found[n].answer || l.found[n].from != s.previous()) {
		return
	}
	if l.found[n].sort == draft.Fact || l.found[n].answer {
		l.found = l.found[:n]
		l.drop[reasonCorrected]++
	}
}

// spoken splits sentences at words that begin a new subject without a full stop before them: "…,
// lol, btw the port is 8080". It also splits a request from a fact behind it.
func spoken(in []sentence) []sentence {
	out := make([]sentence, 0, len(in))
	for _, s := range in {
		for i := 2; i+1 < len(s.words); i++ {
			w := s.words
			at := 0
			switch {
			case goingOn.starts(w[i:]) > 0 && !w[i].code && (!w[i].comma || w[i-1].comma): // not: "we're on node 22 btw, …"
				at = i
			case laughs[w[i].low]:
				at = i + 1
			case s.restarts(i):
				at = i
			default:
				continue
			}
			first := s
			first.cutAt(w[at].start)
			first.full, first.asks = first.text, false
			out = append(out, first)
			s.cutTo(w[at].start)
			s.full = s.text
			i = 1
		}
		if i := factAfterRequest(s.words); i > 0 {
			request := s
			request.cutAt(s.words[i].start)
			request.full = request.text
			out = append(out, request)
			s.cutTo(s.words[i].start)
			s.full = s.text
		}
		out = append(out, s)
	}
	return out
}

var goingOn = list("btw, by the way, oh and, one more thing, fyi, also note, anyway, ok so, übrigens, au fait, por cierto, aliás")

// hasCandidate reports whether the last candidate comes from message s.
func (l *collector) hasCandidate(s *speech) bool {
	return len(l.found) > 0 && l.found[len(l.found)-1].from == s
}

// isNoun reports whether word i can be the noun that a determiner before it, such as "this", refers
// to.
func isNoun(words []word, i int) bool {
	w := low(words, i)
	return w != "" && !analysis.IsStopWord(w) && !asking[w] && !standIns[w] && !strings.HasSuffix(w, "'s") && w != "of" && w != "not"
}

// ending says how a session ended.
type ending struct {
	unanswered string   // the user's last message, if no answer came
	open       []string // what the assistant named as still to be done
	last       string   // the assistant's last sentence about the state of the work
}

const (
	maxOpen     = 4
	maxOpenItem = 160 // characters
)

var (
	nexts = list(`next step, next steps, next up, next i, remaining, still to do, still need, still needs, todo, to do, left to do, follow-up, follow up, not yet, open question, open questions,
		outstanding, pending, i will now, i'll now, blocked, waiting for, waiting on, want me to, would you like me to, should i, shall i, tomorrow`)
	closings = list(`let me know, feel free, happy to help, hope this helps, is there anything, good luck, you're welcome, if you have, if you need, don't hesitate`)
)

// endOf reads the end of a session: the user's last message if it was not answered, or else what
// the assistant's last message leaves open.
func endOf(all []speech) ending {
	var s ending
	i := len(all) - 1
	for i >= 0 && strings.TrimSpace(all[i].text) == "" {
		i--
	}
	if i < 0 || all[i].name != "" {
		return s
	}
	if all[i].person {
		s.unanswered = unanswered(&all[i])
		for i >= 0 && all[i].person {
			i--
		}
	}
	if i < 0 || givesOrders(all[i].text) {
		return s
	}
	listed, item := false, false // whether the last line found was a list's
	for _, p := range sentences(all[i].text) {
		if hasCredential(&p) || closings.in(p.words) >= 0 {
			continue
		}
		at := nexts.in(p.words)
		switch {
		case p.item && listed, at == 0 && !strings.HasSuffix(p.text, ":"):
			if len(s.open) < maxOpen && len(p.words) > 2 {
				s.open = append(s.open, clip(unmarked(p.text), maxOpenItem))
			}
		case at >= 0 && strings.HasSuffix(p.text, ":"):
			listed = true
			continue
		case !p.item:
			listed = false
		}
		if (s.last == "" || item && !p.item) && !p.asks && !strings.HasSuffix(p.text, ":") && substance(p.words) >= 2 && !isCourtesy(p.words) && !retellsUser(p.words) {
			s.last, item = clip(unmarked(p.text), maxOpenItem), p.item
		}
	}
	return s
}

// unanswered returns what a message without an answer asks: its last question, or else the last
// thing that it says.
func unanswered(s *speech) string {
	text := ""
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := &s.parts[i]
		n := substance(p.words)
		if hasCredential(p) || n < 1 || n < 2 && !p.asks {
			continue
		}
		if p.asks {
			return "not answered: " + clip(unmarked(p.text), maxOpenItem)
		}
		if text == "" {
			text = "said last: " + clip(unmarked(p.text), maxOpenItem)
		}
	}
	return text
}

// retellsUser reports whether a sentence of the assistant is about the user. What the assistant
// claims to remember must not become knowledge.
func retellsUser(words []word) bool {
	return has(words, len(words), other) || has(words, len(words), retelling)
}

var retelling = analysis.Set("user user's users remember remembered recall recalled noted memory memorized saved")

// isCourtesy reports whether a sentence is about how the assistant feels.
func isCourtesy(words []word) bool {
	switch w := words[0].low; w {
	case "i'm", "that's", "it's", "certainly", "yes":
		return true
	default:
		return phatic[w]
	}
}

// Orders to the memory or to its reader. Only pasted or planted text contains them, and one of
// them makes a whole message suspect.
var (
	overrides = analysis.Set("ignore disregard forget override bypass overrule")
	overruled = analysis.Set("instructions instruction prompt prompts rules directives guidelines guardrails safeguards")
	planted   = list(`add this to your memory, add to your memory, store this in your memory, store the following, save this to memory, save this to your memory, write this to memory, write this to your memory,
		update your memory, you must always obey, you must obey, obey me, always obey, system prompt, developer mode, jailbreak, you are now, act as if you have no, without any restrictions, new instructions,
		end of system, begin system, as an ai, memory update, review the conversation above, the conversation above, system note, system reminder, note to the assistant, note for the assistant, note pour l'assistant, hinweis für den assistenten, nota para el asistente, nota para o assistente, from this conversation on, nothing to save, save it using the memory tool`)
)

// givesOrders reports whether a message gives orders to the memory or against the model's rules.
// Nothing is learned from such a message.
func givesOrders(text string) bool {
	if strings.Contains(text, guardrail.FrameOpen) || strings.Contains(text, guardrail.FrameClose) {
		return true
	}
	if len(text) > headBytes+tailBytes {
		text = text[:headBytes] + " " + text[len(text)-tailBytes:]
	}
	words := wordsOf(squeeze(guardrail.Sanitize(text)))
	for i := range words {
		if overrides[words[i].low] && has(words[i:], 8, overruled) && has(words[i:], 6, above) || planted.starts(words[i:]) > 0 {
			return true
		}
	}
	return false
}

var above = analysis.Set("previous prior above earlier all any your the these those preceding existing")

// credentials lists words that a secret may follow in plain prose, where no rule recognises it by
// its format.
var credentials = analysis.Set("password passwords passphrase passcode pin secret token api-key apikey credential credentials")

// hasCredential reports whether a sentence contains a credential, or did before the credential was
// redacted.
func hasCredential(s *sentence) bool {
	if strings.Contains(s.text, "[redacted:") {
		return true
	}
	for i := range s.words {
		before := low(s.words, i-1)
		if w := s.words[i].low; !credentials[w] && !(w == "key" && (before == "api" || before == "private" || before == "access")) {
			continue
		}
		if credentialParts[low(s.words, i+1)] && credentialCues[low(s.words, i+2)] && !numbered(s.text[s.words[i].end:]) { // "the API key header is X-Api-Key"
			continue
		}
		for k, w := range s.words[i:min(i+7, len(s.words))] { // "the password of the backup is …"
			if k > 0 && credentialCues[w.low] || w.end < len(s.text) && s.text[w.end] == ':' {
				return true
			}
		}
	}
	return false
}

// credentialParts are words after the name of a credential that make it the name of something else.
var credentialParts = analysis.Set("header headers field fields parameter policy manager form page screen rotation length dialog prompt")

// credentialCues are words between the name of a credential and its value.
var credentialCues = analysis.Set("is are was were =")
