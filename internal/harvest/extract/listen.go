package extract

import (
	"cmp"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// listener reads what persons say.
type listener struct {
	toAgent bool // they speak to an agent rather than to each other
	limit   int  // characters of a statement
	present map[string]bool
	drop    dropped
	found   []candidate
}

// listen finds the candidates of a session.
func listen(all []speech, toAgent bool, limit int, drop dropped) []candidate {
	l := listener{toAgent: toAgent, limit: limit, present: map[string]bool{}, drop: drop}
	for i := range all {
		if name, _, _ := strings.Cut(lower(all[i].name), " "); name != "" {
			l.present[name] = true
		}
	}
	for i := range all {
		s := &all[i]
		if !s.person || s.text == "" {
			continue
		}
		if suspect(s.text) {
			drop[reasonSuspect]++
			continue
		}
		s.parts = sentences(s.text)
		if i > 0 {
			s.before = &all[i-1]
		}
		l.hear(s)
		if len(l.found) >= 2*maxCandidates {
			l.found = strongest(l.found, maxCandidates)
		}
	}
	return l.found
}

// hear appends the candidates of one message.
func (l *listener) hear(s *speech) {
	room := l.limit - characters(cmp.Or(s.name, userName)) - len(": ")
	long, pasted := l.toAgent && len(s.parts) >= pastedSentences, l.toAgent && printed(s.text)
	var before *sentence // the statement right before, that a pronoun may refer to
	for i := range s.parts {
		part := s.parts[i]
		if (pasted || long && i >= typed && i < len(s.parts)-typed) && !has(part.words, len(part.words), self) {
			l.drop[reasonPasted]++
			before = nil
			continue
		}
		part.open(l.present)
		if !part.head() {
			l.drop[reasonQuestion]++
			before = nil
			continue
		}
		for _, c := range part.clauses(room) {
			before = l.sentence(s, before, &c, room)
		}
	}
}

// A message to an agent of so many sentences was hardly typed. Of what stands in
// it, the sentences at either end count, and those in the first person; of a message
// with a program's output in it, only the latter.
const (
	pastedSentences = 10
	typed           = 2
)

// sentence appends what one sentence says, and returns what the next one may
// refer to.
func (l *listener) sentence(s *speech, before, c *sentence, room int) *sentence {
	c.open(l.present)
	v := judge(c, l.toAgent)
	if n := remembers.starts(c.words); v.explicit && n < len(c.words) && c.words[n-1].low == "that" {
		c.cutTo(c.words[n].start)
	}
	var joined *sentence
	question := ""
	switch {
	case v.reason != "":
	case characters(c.text) > room:
		v.reason = reasonLong
	case v.explicit:
	case leans(c.words, !l.toAgent):
		if joined = before.with(c, s.text); joined != nil && characters(joined.text) <= room {
			c = joined
		} else if joined, question = nil, l.questionTo(s, room-characters(c.text)); question == "" {
			v.reason = reasonUnnamed
		}
	case characters(c.text) < shortAnswer && !l.heard(s):
		question = l.questionTo(s, room-characters(c.text))
	}
	if v.reason == "" {
		k := candidate{from: s, text: c.text, quote: c.text, question: question, sort: v.sort, confidence: v.confidence, explicit: v.explicit}
		if joined != nil { // it takes the place of the one before
			k.keep(&l.found[len(l.found)-1])
		}
		if k.terms = analysis.Terms(c.text + " " + question); k.weigh(c, l.present) {
			if joined != nil {
				l.found = l.found[:len(l.found)-1]
			}
			l.found = append(l.found, k)
			return c
		}
		v.reason = reasonEmpty
	}
	l.drop[v.reason]++
	return nil
}

// heard reports whether something of a message is a candidate already.
func (l *listener) heard(s *speech) bool {
	return len(l.found) > 0 && l.found[len(l.found)-1].from == s
}
