package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/trained"
)

// messageReader reads the sentences of one message in their order.
type messageReader struct {
	*collector
	from   *speech
	room   int      // maximum length of a statement, in characters
	lang   *cues    // nil is English
	typed  bool     // to an agent, and without a program's output
	long   bool     // to an agent, and so long that its middle was probably pasted
	quotes [][2]int // where quotations are
	listed [][2]int // where lists are whose items were read below the line before them
	whole  [][2]int // where lists of whole sentences are

	before   *sentence // the statement right before, which a pronoun may refer to
	question string    // the assistant's question that is not answered yet
	context  string    // the assistant's sentence before that question
	answered bool
	madeUp   bool // the sentences from here on are made up
	passing  int  // the end of a list that holds only now
	requests []ForgetRequest
}

// message appends the candidates of one message.
func (l *collector) message(s *speech) {
	m := messageReader{collector: l, from: s, room: l.limit - characters(cmp.Or(s.name, userName)) - len(": "), lang: l.language(s)}
	m.question, m.context = l.asked(s.before)
	if l.toAgent {
		m.typed, m.long, m.quotes = !hasProgramOutput(s.text), seemsPasted(s.parts), quotations(s.text)
	}
	if m.typed && m.lang != unreadLanguage {
		m.listed, m.whole = l.lists(s, m.room)
	}
	for i := range s.parts {
		part := s.parts[i]
		part.item = part.item && !within(m.whole, &part)
		if !m.skips(&part) && !m.readForget(&part) && !m.readCorrection(i, &part) && !m.readAnswer(i, &part) {
			m.read(i, &part)
		}
	}
	if !m.answered {
		l.lastQuestion = ""
	}
	s.withoutForgotten(m.requests)
}

// skips reports whether a sentence is not read as the speaker's own: it stands in a list that was read
// already, is quoted, is made up or holds only now.
func (m *messageReader) skips(part *sentence) bool {
	switch {
	case within(m.listed, part):
	case slices.ContainsFunc(m.quotes, func(q [2]int) bool { return part.start >= q[0] && part.end <= q[1]+2 }):
		m.drop[reasonQuoted]++
	case m.madeUp || m.toAgent && beginsPlay(part):
		m.drop[reasonIf]++
		m.madeUp, m.question = true, ""
	case part.start < m.passing || m.toAgent && holdsOnlyNow(part):
		m.drop[reasonRequest]++
		m.question = ""
		if i := slices.IndexFunc(m.whole, func(at [2]int) bool { return part.start >= at[0] && part.end <= at[1] }); i >= 0 {
			m.passing = m.whole[i][1]
		}
	default:
		return false
	}
	m.before = nil
	return true
}

// readForget obeys a request to forget something, and cuts the sentence to what follows the request. It
// reports whether nothing is left to read.
func (m *messageReader) readForget(part *sentence) bool {
	if !m.typed {
		return false
	}
	r, end, ok := asksToForget(part)
	if !ok {
		return false
	}
	m.requests, m.before, m.question = append(m.requests, r), nil, ""
	m.drop[reasonRequest]++
	rest := part.text[end:]
	if m.forget(m.from, &r, rest, m.room) || rest == "" {
		return true
	}
	part.cutTo(end)
	part.full = part.text
	return false
}

// readCorrection reports whether sentence i only corrected what was said before.
func (m *messageReader) readCorrection(i int, part *sentence) bool {
	if !m.typed || !(m.question == "" && m.amends(m.from, i, part, m.room) || m.corrects(m.from, part, m.room)) {
		return false
	}
	m.before, m.answered, m.question = nil, m.answered || m.question != "", ""
	return true
}

// mostReplies is how many sentences at the start of a message may answer the assistant, or take back what
// was said before.
const mostReplies = 3

// readAnswer reports whether sentence i answered the assistant's question, or only took something back. It cuts
// the sentence to what follows the words that take something back.
func (m *messageReader) readAnswer(i int, part *sentence) bool {
	if !m.typed || i >= mostReplies {
		return false
	}
	if topic, _ := takenBack(part); len(topic) > 0 {
		return false
	}
	back, rest := lastWord(part, m.lang)
	if back {
		m.takeBack(m.from, i)
		m.before = nil // the sentence before may be what was taken back
		if !rest {
			m.drop[reasonCorrected]++
			return true
		}
		part.full = part.text
		m.question = cmp.Or(m.question, m.lastQuestion)
	}
	if i == 0 && m.question != "" && takesOffer(m.question, part) {
		m.question = ""
	}
	reply := *part
	if len(reply.words) > 1 {
		reply.open(nil)
	}
	if i == 0 && m.question == "" && len(reply.words) < 6 && ordinals.starts(reply.words) > 0 {
		m.question = m.context
	}
	if m.question == "" || i > 0 && !back && m.lastQuestion != m.question || !answers(&reply, m.lang) || !m.answer(m.from, part, m.question, m.lang) {
		return false
	}
	m.lastQuestion, m.question, m.before, m.answered = m.question, "", nil, true
	return true
}

// read appends the candidates of sentence i, which states something or is left out.
func (m *messageReader) read(i int, part *sentence) {
	if m.isPasted(i) && !has(part.words, len(part.words), self) {
		m.drop[reasonPasted]++
		m.before = nil
		return
	}
	if m.lang == nil {
		part.open(m.present)
		if !(m.toAgent && politeRule(part)) && !part.head() {
			m.drop[reasonQuestion]++
			m.before = nil
			return
		}
	}
	for _, c := range part.clauses(m.room) {
		m.before = m.clause(&c)
	}
}

// A message to an agent with pastedSentences or more was probably pasted, unless they are as short as
// people type them. Only the first and the last typedAtEnds sentences of it count, and those in the first
// person. If it holds a program's output, only those in the first person count.
const (
	pastedSentences = 10
	typedAtEnds     = 2
	typedWords      = 8 // of a sentence, in the mean
)

// isPasted reports whether sentence i was probably pasted.
func (m *messageReader) isPasted(i int) bool {
	return m.toAgent && !m.typed || m.long && i >= typedAtEnds && i < len(m.from.parts)-typedAtEnds
}

// seemsPasted reports whether a message of these sentences was probably pasted.
func seemsPasted(parts []sentence) bool {
	words := 0
	for i := range parts {
		words += len(parts[i].words)
	}
	return len(parts) >= pastedSentences && words > typedWords*len(parts)
}

// clause adds a clause as a candidate. It returns the candidate's text as a sentence, to which the next clause may
// refer, or nil if there is no candidate.
func (m *messageReader) clause(c *sentence) *sentence {
	v := m.judge(c)
	if v.explicit {
		c.cutRequest()
	}
	if v.reason == "" && characters(c.text) > m.room {
		v.reason = reasonLong
	}
	said, question := c, ""
	if v.reason == "" && !v.explicit {
		said, question, v.reason = m.inContext(c)
	}
	if v.reason == "" && (m.saysLittle(said, &v, question) || !m.add(said, &v, question, said != c)) {
		v.reason = reasonEmpty
	}
	if v.reason != "" {
		m.drop[v.reason]++
		return nil
	}
	return said
}

// judge classifies a clause.
func (m *messageReader) judge(c *sentence) verdict {
	if m.lang != nil {
		return m.lang.judge(c)
	}
	c.open(m.present)
	return judge(c, m.toAgent)
}

// cutRequest cuts a sentence to what is to be remembered: "Remember that the port is 8080", but not "Remember to …".
func (s *sentence) cutRequest() {
	w, n := s.words, remembers.starts(s.words)
	if n == 0 || n == len(w) {
		return
	}
	mine := self[w[n].low] && w[n].low != "me" && w[n].low != "us" && n+2 < len(w)
	if w[n-1].low == "that" || s.text[w[n-1].end] == ':' || mine {
		s.cutTo(w[n].start)
	}
}

// inContext returns a clause as it can be understood alone: joined with the statement before it, or with the
// question that it answers. reason is not empty if it can't be.
func (m *messageReader) inContext(c *sentence) (said *sentence, question, reason string) {
	switch {
	case m.lang != nil && !m.lang.needsContext(c.text):
	case m.lang != nil || needsContext(c.words, !m.toAgent):
		if said = m.before.with(c, m.from.text); said != nil && characters(said.text) <= m.room {
			return said, "", ""
		}
		if question = m.questionTo(m.from, m.room-characters(c.text)); question == "" {
			return c, "", reasonUnnamed
		}
	case characters(c.text) < shortAnswer && !m.hasCandidate(m.from):
		question = m.questionTo(m.from, m.room-characters(c.text))
	}
	return c, question, ""
}

// saysLittle reports whether a plain fact is probably not worth keeping.
func (m *messageReader) saysLittle(c *sentence, v *verdict, question string) bool {
	return m.toAgent && v.sort == draft.Fact && !v.explicit && !v.brief && question == "" && trained.Worth(c.text) < leastWorth && !corrects(c)
}

// add adds a candidate, in place of the last one if c was joined with it. It returns false if the candidate
// weighs too little.
func (m *messageReader) add(c *sentence, v *verdict, question string, joined bool) bool {
	k := candidate{from: m.from, text: c.text, quote: c.text, question: question, sort: v.sort, confidence: v.confidence, explicit: v.explicit, open: v.open, brief: v.brief}
	replaces := joined && m.hasCandidate(m.from)
	last := len(m.found) - 1
	if replaces {
		k.keep(&m.found[last])
	}
	k.terms = analysis.Terms(c.text + " " + question)
	if !k.weigh(c, m.present) {
		return false
	}
	if replaces {
		m.found = m.found[:last]
	}
	m.found = append(m.found, k)
	return true
}

// leastWorth is the lowest score of trained.Worth with which a plain fact is kept. On sentences that the model was
// not trained on, 96 of 100 worth keeping are above it, and 25 of 100 others.
const leastWorth = 0.36

// surelyWorth is the lowest score of trained.Worth with which a short sentence without capitals is kept. Its names
// can't be seen.
const surelyWorth = 0.7

func hasCapitals(text string) bool { return strings.ContainsFunc(text, unicode.IsUpper) }

// language returns the language of a message. Where the message is too short to tell, it is that
// of the session or of the message before. Nil is English.
func (l *collector) language(s *speech) *cues {
	if !l.toAgent {
		return nil
	}
	lang, known := languageOf(s.text)
	if known {
		return lang
	}
	if l.spoken == nil && s.before != nil && !s.before.person { // "14 Uhr"
		lang, _ = languageOf(s.before.text)
		return lang
	}
	return l.spoken
}
