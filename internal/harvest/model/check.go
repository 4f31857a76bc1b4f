package model

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Reasons why a fact is left out, as Draft.Dropped counts them.
const (
	DropInvalid     = "invalid"     // not of the form that was asked for, even after the repair
	DropSecret      = "secret"      // holds a secret, or the mark of one
	DropReasoning   = "reasoning"   // the model's thinking
	DropInstruction = "instruction" // speaks to the agent's memory, as an injected order does
	DropUnquoted    = "unquoted"    // its quote stands in no message, or proves nothing
	DropUnsupported = "unsupported" // its names and numbers, or all that it tells, are not where it quotes
	DropToolResult  = "tool result" // says of the user what only a tool said
	DropSuggestion  = "suggestion"  // the assistant's own, which nobody agreed to
	DropTooLong     = "too long"    // and no sentence of it is short enough
	DropDuplicate   = "duplicate"   // said already in the same words
	DropLimit       = "limit"       // more than were asked for
)

// factChecker keeps the facts that stand and counts the others.
type factChecker struct {
	limits  Options
	all     []message
	bySeq   map[uint64]int
	kept    []draft.Statement
	said    map[string]int // places in kept by wording
	dropped map[string]int
	people  map[string]bool // names of who speaks

	session, spoken *said // all of it, and what people and the assistant said; nil until a summary is looked at
}

func newFactChecker(limits Options, all []message) *factChecker {
	l := &factChecker{limits: limits, all: all, bySeq: make(map[uint64]int, len(all)), said: map[string]int{}, dropped: map[string]int{}}
	l.people = map[string]bool{}
	for i := range all {
		l.bySeq[all[i].seq] = i
		if all[i].name != "" {
			l.people[all[i].name] = true
		}
	}
	return l
}

// mostLookedAt is how many facts of one answer are looked at: a model that answers
// thousands is out of order, and each costs a search of the transcript.
const mostLookedAt = 400

// add judges the facts of one answer, the surest first, until as many as a draft
// may have stand. The rest is over the limit.
func (l *factChecker) add(facts []proposal) {
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
func (l *factChecker) judge(p proposal) (s draft.Statement, reason string) {
	text := strings.Join(strings.Fields(p.text), " ")
	switch {
	case holdsSecret(text) || holdsSecret(p.quote) || tellsCredential(text):
		return s, DropSecret
	case thinks(text) || guardrail.StripPastedReasoning(p.quote) != p.quote:
		return s, DropReasoning
	case orders(text) || orders(p.quote):
		return s, DropInstruction
	}
	if text = upToSentence(text, l.limits.FactChars); text == "" {
		return s, DropTooLong
	}
	m, quote, reason := l.source(p, text)
	if reason != "" {
		return s, reason
	}
	if orders(m.around(quote)) { // quoted without the words that make it an order
		return s, DropInstruction
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
func (l *factChecker) source(p proposal, text string) (m *message, quote, reason string) {
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
func (l *factChecker) mayProve(i int, p proposal, text, quote string) (reason string) {
	m := &l.all[i]
	users := p.sort != draft.Fact || ofUser(text)
	switch {
	case m.who == user:
	case m.who == tool && users:
		return DropToolResult
	case m.who == assistant && (users || suggests(quote)) && !l.agreed(i):
		return DropSuggestion
	}
	if !l.supported(i, text, quote) {
		return DropUnsupported
	}
	return ""
}

// agreed reports whether the user's first message after message i consents.
func (l *factChecker) agreed(i int) bool {
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
func (l *factChecker) best() []draft.Statement {
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

// redacted is how the marker of a secret starts; see guardrail.Redact.
const redacted = "[redacted:"

// holdsSecret reports whether text has a secret in it, or the mark of one.
func holdsSecret(text string) bool {
	return strings.Contains(strings.ToLower(text), redacted) || len(guardrail.Secrets(text)) > 0
}

// thinks reports whether a text is somebody's thinking and not a statement: tags of
// reasoning, or the words with which models talk to themselves.
func thinks(text string) bool {
	return guardrail.StripPastedReasoning(text) != text || selfTalk.MatchString(plain(text))
}

// orders reports whether a text speaks to whoever stores or reads knowledge,
// instead of saying something: what an injected instruction looks like after an
// extraction. That a user wants something of the agent ("always run gofmt
// first") is none: the patterns ask for obedience, for storing, for hiding things
// from the user, or for forgetting the rules.
func orders(text string) bool {
	s := plain(text)
	for _, re := range injections {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// suggests reports whether words propose something instead of telling it.
func suggests(text string) bool {
	s := plain(text)
	return suggestion.MatchString(s) || strings.HasSuffix(strings.TrimRight(s, `"' )`), "?")
}

// consents reports whether a user's message agrees to what was said before it.
// Agreement with an objection is none.
func consents(text string) bool {
	n := 0
	for s := range sentences(guardrail.Sanitize(text)) {
		sentence := plain(s)
		if n++; n > 2 || strings.Contains(sentence, "?") || objection.MatchString(sentence) {
			return false
		}
		if assent.MatchString(sentence) || n == 1 && assentFirst.MatchString(sentence) {
			return true
		}
	}
	return false
}

// ofUser reports whether a text says something of the user, which only the user's
// words can prove.
func ofUser(text string) bool { return attribution.MatchString(plain(text)) }

// plain is text in which patterns are looked for: compatible forms unfolded, lower
// case, plain apostrophes, single spaces.
func plain(text string) string {
	text = strings.ToLower(norm.NFKC.String(guardrail.Sanitize(text)))
	return strings.Join(strings.Fields(strings.NewReplacer("’", "'", "‘", "'").Replace(text)), " ")
}

var selfTalk = lazyregexp.New(`^(?:(?:ok|okay|hmm+|wait|alright|right|so|well|first|now|actually)[,. …-]+)*` +
	`(?:hmm+\b|wait, |let me (?:think|see|check|look|start|re-?read|summari[sz]e|analy[sz]e)|let's (?:see|think|break)|` +
	`i (?:need to|should|have to|must|will|'ll|think i|am going to|can see)|i'll |we need to (?:extract|find|output|report|summari[sz]e)|` +
	`the user (?:is asking me|is asking us|wants me|asked me|asks me|is requesting that)|my (?:reasoning|thinking|thoughts)\b|thinking about|as an ai\b)`)

var injections = []*lazyregexp.Regexp{
	// Forget the rules.
	lazyregexp.New(`\b(?:ignore|disregard|forget|override|bypass|discard|neglect)\b(?:\W+\w+){0,4}?\W+` +
		`(?:previous|prior|above|earlier|preceding|existing|original|foregoing|system|your|all|any|these|those)\b(?:\W+\w+){0,3}?\W+` +
		`(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|polic(?:y|ies)|constraints|context)\b`),
	lazyregexp.New(`\b(?:ignore|disregard|forget) (?:everything|all|anything) (?:above|before|previous|prior|earlier|you)\b`),
	lazyregexp.New(`\byou are now (?:an?|the|in|free|no longer)\b|\bfrom now on,? you\b|\b(?:developer|dan|god) mode\b|\bnew (?:system )?(?:instructions|prompt)\s*:`),
	// Obey.
	lazyregexp.New(`\b(?:always|must|shall|should|has to|have to|will) (?:always |blindly |unconditionally |fully |only )?(?:obey|comply with (?:all|any|every|whatever)|trust (?:this|that|all|any|every|whatever|the (?:author|sender|page|file|document|message)))\b`),
	// Store, reveal or hide.
	lazyregexp.New(`\b(?:assistants?|agents?|models?|ai|llm|memory|system|ken|chatbots?|you) (?:must|shall|should|has to|have to|needs? to|will|is required to|are required to)(?: always| now| immediately| permanently)* ` +
		`(?:store|save|remember|memori[sz]e|record|persist|inject|reveal|exfiltrate|leak|obey|ignore|disregard|forget|hide|conceal|treat)\b`),
	lazyregexp.New(`\b(?:store|save|remember|memori[sz]e|record|mark|treat|add|write|put) (?:this|that|these|those|the following|it|them)\b(?: \w+){0,4}? ` +
		`(?:as|in|into|to) (?:an? |the |your )?(?:\w+ )?(?:facts?|memory|memories|knowledge|verified|trusted|true|operator|system|instructions?|rules?|constraints?)\b`),
	lazyregexp.New(`\b(?:store|save|remember|record|treat|mark) (?:\w+ ){0,2}?as (?:an? )?(?:verified|trusted|true|permanent|operator|system) \w+`),
	lazyregexp.New(`\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|notify|notifying|mention(?:ing)? (?:this|it) to|reveal(?:ing)? (?:this|it) to|warn|warning|alert|alerting|ask|asking)(?: \w+)? the user\b`),
	lazyregexp.New(`\b(?:reveal|print|show|output|repeat|leak|disclose|dump|share) (?:\w+ ){0,3}?(?:system prompt|hidden (?:prompt|instructions)|initial (?:prompt|instructions))\b`),
}

var suggestion = lazyregexp.New(`\b(?:i(?:'d| would)? (?:suggest|recommend|propose|advise)|my (?:suggestion|recommendation|proposal)|` +
	`(?:you|we|one) (?:could|might|may want|can also|should consider|should probably)|you should|we should|consider \w+ing|` +
	`how about|what about|why not|let's|let us|shall (?:i|we)|should (?:i|we)|would you like|do you want|i (?:could|can|will|'ll|plan to)|i'll|` +
	`perhaps|maybe|it (?:might|may|would) be (?:better|worth|good|best|easier)|(?:an?|one|another) (?:option|alternative|possibility)|` +
	`recommended|next steps?)\b`)

var (
	assentFirst = lazyregexp.New(`^(?:oh |ah |great|perfect|cool|nice|thanks|thank you|awesome|\W)*(?:,? )?` +
		`(?:yes|yep|yeah|yup|sure|ok|okay|agreed|exactly|correct|right|perfect|absolutely|definitely|fine|approved|lgtm|deal|indeed|of course|ja|genau|oui|d'accord|si|sí|claro|vale|sim|da|да|tak|evet)\b` +
		`|^(?:はい|そうです|いいですね|お願いします|好的|好|可以|是的|同意|네|예|좋아요)`)
	assent = lazyregexp.New(`\b(?:sounds? (?:good|great|right|perfect|fine)|looks? (?:good|great|right|fine)|go ahead|do (?:it|that|so)|please do|works for me|` +
		`that works|makes sense|i agree|i like (?:that|it|this)|(?:good|great|nice) (?:idea|plan|call|choice)|ship it|` +
		`let's (?:do|go|use|take|stick|keep|start|try)|we(?:'ll| will) (?:do|go with|use|take))\b`)
	objection = lazyregexp.New(`\b(?:but|instead|rather|however|except|unless|no|not|don't|doesn't|isn't|won't|can't|never|although|wait|hold on|actually|nein|aber|non|mais|pero|nicht)\b`)
)

var attribution = lazyregexp.New(`\b(?:the|this|our) (?:user|customer|operator)(?:'s (?:\w+ ){1,3}(?:is|are|was)\b|` +
	` (?:\w+ly )?(?:said|says|wants?|wanted|prefers?|preferred|likes?|loves?|hates?|dislikes?|asks?|asked|decides?|decided|chose|chooses|agrees?|agreed|requires?|` +
	`required|needs?|insists?|told|expects?|plans?|avoids?|believes?|thinks?|approved|accepted|confirmed|requested|lives?|works?|owns?|is|has|was|does|doesn't|never|always)\b)` +
	`|^users? (?:said|wants?|prefers?|likes?|decided|asked|chose|agreed|requested)\b`)
