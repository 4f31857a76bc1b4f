package model

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// Reasons why a fact is left out, as Draft.Dropped counts them.
const (
	DropInvalid     = "invalid"     // not of the form that was asked for, even after the repair
	DropSecret      = "secret"      // holds a secret, or the mark of one
	DropReasoning   = "reasoning"   // the model's thinking
	DropInstruction = "instruction" // speaks to the agent's memory, as an injected order does
	DropUnquoted    = "unquoted"    // its quote stands in no message, or proves nothing
	DropToolResult  = "tool result" // says of the user what only a tool said
	DropSuggestion  = "suggestion"  // the assistant's own, which nobody agreed to
	DropTooLong     = "too long"    // and no sentence of it is short enough
	DropDuplicate   = "duplicate"   // said already in the same words
	DropLimit       = "limit"       // more than were asked for
)

// ledger keeps the facts that stand and counts the others.
type ledger struct {
	limits  Options
	all     []message
	bySeq   map[uint64]int
	kept    []draft.Statement
	said    map[string]int // places in kept by wording
	dropped map[string]int
}

func newLedger(limits Options, all []message) *ledger {
	l := &ledger{limits: limits, all: all, bySeq: make(map[uint64]int, len(all)), said: map[string]int{}, dropped: map[string]int{}}
	for i := range all {
		l.bySeq[all[i].seq] = i
	}
	return l
}

// mostLookedAt is how many facts of one answer are looked at: a model that answers
// thousands is out of order, and each costs a search of the transcript.
const mostLookedAt = 400

// add judges the facts of one answer, the surest first, until as many as a draft
// may have stand. The rest is over the limit.
func (l *ledger) add(facts []proposal) {
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b proposal) int {
		switch {
		case a.confidence > b.confidence:
			return -1
		case a.confidence < b.confidence:
			return 1
		}
		return 0
	})
	kept := 0
	for i, p := range facts {
		if p.broken {
			l.dropped[DropInvalid]++
			continue
		}
		if kept >= l.limits.MaxFacts || i >= mostLookedAt {
			l.dropped[DropLimit]++
			continue
		}
		s, reason := l.judge(p)
		if reason != "" {
			l.dropped[reason]++
			continue
		}
		l.said[wording(s.Text)] = len(l.kept)
		l.kept = append(l.kept, s)
		kept++
	}
}

// judge makes a statement of a proposal, or says why not.
func (l *ledger) judge(p proposal) (s draft.Statement, reason string) {
	text := strings.Join(strings.Fields(p.text), " ")
	switch {
	case holdsSecret(text) || holdsSecret(p.quote):
		return s, DropSecret
	case thinks(text) || guardrail.StripPastedReasoning(p.quote) != p.quote:
		return s, DropReasoning
	case orders(text) || orders(p.quote):
		return s, DropInstruction
	}
	m, quote, reason := l.source(p, text)
	if reason != "" {
		return s, reason
	}
	if orders(m.around(quote)) { // quoted without the words that make it an order
		return s, DropInstruction
	}
	if text = upToSentence(text, l.limits.FactChars); text == "" {
		return s, DropTooLong
	}
	if at, ok := l.said[wording(text)]; ok { // said twice, as sure as it was said at best
		l.kept[at].Confidence = max(l.kept[at].Confidence, p.confidence)
		return s, DropDuplicate
	}
	return draft.Statement{Text: text, Quote: quote, Seq: m.seq, Sort: p.sort,
		Entities: entities(p.entities, text, m), Confidence: p.confidence}, ""
}

// source finds the message that a fact rests on: the one that it names, else the
// first other one that has its quote and whose author could say such a thing.
func (l *ledger) source(p proposal, text string) (m *message, quote, reason string) {
	q := needle(p.quote)
	reason = DropUnquoted
	named := -1
	if i, ok := l.bySeq[p.seq]; ok {
		named = i
		if telling(q) || supports(q, text) {
			if quote, ok := l.all[i].find(q); ok {
				if reason = l.mayProve(i, p, text, quote); reason == "" {
					return &l.all[i], quote, ""
				}
			}
		}
	}
	if !telling(q) {
		return nil, "", reason
	}
	for i := range l.all {
		if i == named {
			continue
		}
		if quote, ok := l.all[i].find(q); ok {
			why := l.mayProve(i, p, text, quote)
			if why == "" {
				return &l.all[i], quote, ""
			}
			if reason == DropUnquoted {
				reason = why
			}
		}
	}
	return nil, "", reason
}

// mayProve says whether the author of message i can prove such a fact, or the
// reason why not. A user can prove anything. What is wanted, settled or forbidden
// is the user's to say: a tool never proves it, and the assistant only when the
// user's next words agree. Otherwise what tools and the assistant state is taken
// as what they state; its evidence says who it was.
func (l *ledger) mayProve(i int, p proposal, text, quote string) (reason string) {
	m := &l.all[i]
	users := p.sort != draft.Fact || ofUser(text)
	switch {
	case m.who == user:
		return ""
	case m.who == tool && users:
		return DropToolResult
	case m.who == assistant && (users || suggests(quote)) && !l.agreed(i):
		return DropSuggestion
	}
	return ""
}

// agreed reports whether the user's first message after message i consents.
func (l *ledger) agreed(i int) bool {
	const yes, no = 1, 2
	m := &l.all[i]
	if m.consent == 0 {
		m.consent = no
		for j := i + 1; j < len(l.all); j++ {
			if l.all[j].who == user {
				if consents(l.all[j].text) {
					m.consent = yes
				}
				break
			}
		}
	}
	return m.consent == yes
}

// best keeps the most facts that a draft may have, the surest, then the earliest,
// and puts them into the order of the transcript, so that of two that disagree the
// later comes later.
func (l *ledger) best() []draft.Statement {
	slices.SortStableFunc(l.kept, func(a, b draft.Statement) int {
		if a.Confidence != b.Confidence {
			return int(math.Copysign(1, b.Confidence-a.Confidence))
		}
		return order(a, b)
	})
	if over := len(l.kept) - l.limits.MaxFacts; over > 0 {
		l.kept = l.kept[:l.limits.MaxFacts]
		l.dropped[DropLimit] += over
	}
	slices.SortStableFunc(l.kept, order)
	return l.kept
}

func order(a, b draft.Statement) int {
	switch {
	case a.Seq < b.Seq:
		return -1
	case a.Seq > b.Seq:
		return 1
	}
	return 0
}

// Limits of the entities of a fact.
const (
	mostEntities = 8
	entityChars  = 80
)

// entities are those named things that the fact or its message does name.
func entities(names []string, text string, source *message) []string {
	var out []string
	text = fold(text)
	for _, name := range names {
		name = strings.Join(strings.Fields(guardrail.Sanitize(name)), " ")
		if name == "" || utf8.RuneCountInString(name) > entityChars || slices.Contains(out, name) ||
			holdsSecret(name) || indexWords(text, fold(name)) < 0 && indexWords(source.folded, fold(name)) < 0 {
			continue
		}
		if out = append(out, name); len(out) == mostEntities {
			break
		}
	}
	return out
}
