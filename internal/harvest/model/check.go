package model

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Reasons why a fact is dropped, as counted in Draft.Dropped.
const (
	DropInvalid     = "invalid"     // not of the requested form, even after the repair
	DropSecret      = "secret"      // contains a secret, or the marker of one
	DropReasoning   = "reasoning"   // reasoning of the model
	DropInstruction = "instruction" // addresses the agent's memory, as an injected order does
	DropUnquoted    = "unquoted"    // no message contains its quote, or the quote proves nothing
	DropUnsupported = "unsupported" // its names and numbers, or all of its content, are missing near the quote
	DropToolResult  = "tool result" // says something about the user that only a tool said
	DropSuggestion  = "suggestion"  // a suggestion of the assistant to which the user did not agree
	DropTooLong     = "too long"    // too long, as is each of its sentences
	DropDuplicate   = "duplicate"   // another fact has the same words
	DropLimit       = "limit"       // more facts than were asked for
)

// factChecker keeps the facts that pass the checks and counts the others.
type factChecker struct {
	limits  Options
	all     []message
	bySeq   map[uint64]int
	kept    []draft.Statement
	said    map[string]int // index in kept by wording
	dropped map[string]int
	people  map[string]bool // names of the people who speak

	session, spoken *supportWords // text of the whole session, and text of people and the assistant; nil until a summary is checked
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

// maxChecked is the maximum number of facts that are checked in one answer. Each
// costs a search of the transcript, and thousands of them are a fault of the
// model.
const maxChecked = 400

// add checks the facts of one answer, those with the highest confidence first,
// until a draft has its maximum number of facts. The rest is dropped as over the
// limit.
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
		if kept >= l.limits.MaxFacts || i >= maxChecked {
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

// judge turns a proposal into a statement, or returns the reason why it is
// dropped.
func (l *factChecker) judge(p proposal) (s draft.Statement, reason string) {
	text := strings.Join(strings.Fields(p.text), " ")
	switch {
	case holdsSecret(text) || holdsSecret(p.quote) || tellsCredential(text):
		return s, DropSecret
	case thinks(text) || guardrail.StripPastedReasoning(p.quote) != p.quote:
		return s, DropReasoning
	case givesOrders(text) || givesOrders(p.quote):
		return s, DropInstruction
	}
	if text = upToSentence(text, l.limits.FactChars); text == "" {
		return s, DropTooLong
	}
	m, quote, reason := l.source(p, text)
	if reason != "" {
		return s, reason
	}
	if givesOrders(m.around(quote)) { // the quote omits the words that make it an order
		return s, DropInstruction
	}
	if at, ok := l.said[wording(text)]; ok { // said twice: the higher confidence counts
		l.kept[at].Confidence = max(l.kept[at].Confidence, p.confidence)
		return s, DropDuplicate
	}
	return draft.Statement{Text: text, Quote: quote, Seq: m.seq, Sort: p.sort,
		Entities: entities(p.entities, text, m), Confidence: p.confidence}, ""
}

// source returns the message that proves a fact: the one that it names, or else
// the first other one that contains its quote and whose author could say such a
// thing.
func (l *factChecker) source(p proposal, text string) (m *message, quote, reason string) {
	q := needle(p.quote)
	reason = DropUnquoted
	named := -1
	if i, ok := l.bySeq[p.seq]; ok {
		named = i
		if isLongEnough(q) || supports(q, text) {
			if quote, ok := l.all[i].find(q); ok {
				if reason = l.mayProve(i, p, text, quote); reason == "" {
					return &l.all[i], quote, ""
				}
			}
		}
	}
	if !isLongEnough(q) {
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

// mayProve returns why the author of message i can't prove such a fact, "" if they
// can. A user can prove anything. Preferences, decisions and rules are for the
// user to say: a tool never proves them, and the assistant only if the user's next
// message agrees. Other statements of tools and the assistant are accepted; the
// evidence records who made them.
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

// agreed reports whether the user's first message after message i agrees to it.
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

// best keeps the maximum number of facts of a draft, those with the highest
// confidence, then the earliest. It returns them in the order of the transcript,
// so that of two that disagree the later one comes last.
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

// entities returns those of the names that the fact or its message contains. If it contains none, a
// part of the first name that it contains is returned.
func entities(names []string, text string, source *message) []string {
	var out []string
	part := ""
	folded := fold(text)
	for _, name := range names {
		name = strings.Join(strings.Fields(guardrail.Sanitize(name)), " ")
		if name == "" || utf8.RuneCountInString(name) > entityChars || slices.Contains(out, name) || holdsSecret(name) {
			continue
		}
		if indexWords(folded, fold(name)) < 0 && indexWords(source.folded, fold(name)) < 0 {
			if part == "" {
				part = cmp.Or(saidPart(name, folded), saidPart(name, source.folded))
			}
			continue
		}
		if out = append(out, name); len(out) == mostEntities {
			break
		}
	}
	if out == nil && part != "" {
		return []string{part}
	}
	return out
}

// saidPart returns the longest part of a name that a folded text contains, "" for none. A model often
// adds words that nobody said: "beach kiosk" for "the kiosk". Of two equally long parts the later one
// is returned, because it is the noun in most languages of Ken's users.
func saidPart(name, text string) string {
	if indexWords(text, fold(name)) >= 0 {
		return name
	}
	words := strings.Fields(name)
	if len(words) == 1 && strings.ContainsFunc(name, analysis.Unspaced) {
		return saidLetters([]rune(name), text)
	}
	terms := analysis.Terms(text)
	for n := len(words); n > 0; n-- {
		for from := len(words) - n; from >= 0; from-- {
			part := words[from : from+n]
			if analysis.IsStopWord(fold(part[0])) || analysis.IsStopWord(fold(part[n-1])) {
				continue
			}
			found := strings.Join(part, " ")
			if want := analysis.Terms(found); len(want) > 0 && hasRun(terms, want) {
				return found
			}
		}
	}
	return ""
}

// saidLetters is saidPart for a name in a script without spaces. A part has at least two letters.
func saidLetters(name []rune, text string) string {
	for n := len(name) - 1; n >= 2; n-- {
		for from := len(name) - n; from >= 0; from-- {
			if part := string(name[from : from+n]); strings.Contains(text, fold(part)) {
				return part
			}
		}
	}
	return ""
}

// hasRun reports whether all contains part without a gap.
func hasRun(all, part []string) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// redacted is the beginning of the marker of a secret; see guardrail.Redact.
const redacted = "[redacted:"

// holdsSecret reports whether text contains a secret, or the marker of one.
func holdsSecret(text string) bool {
	return strings.Contains(strings.ToLower(text), redacted) || len(guardrail.Secrets(text)) > 0
}

// thinks reports whether a text is reasoning and no statement: it has tags of
// reasoning, or starts with phrases with which models talk to themselves.
func thinks(text string) bool {
	return guardrail.StripPastedReasoning(text) != text || selfTalk.MatchString(plain(text))
}

// givesOrders reports whether a text gives orders to those who store or read knowledge,
// as an injected instruction does after an extraction. A user's wish to the agent
// ("always run gofmt first") is no such order. The patterns match demands to obey,
// to store something, to hide something from the user, or to forget the rules.
func givesOrders(text string) bool {
	s := plain(text)
	return slices.ContainsFunc(injections, func(re *lazyregexp.Regexp) bool { return re.MatchString(s) })
}

// suggests reports whether a text proposes something and does not state it.
func suggests(text string) bool {
	s := plain(text)
	return suggestion.MatchString(s) || strings.HasSuffix(strings.TrimRight(s, `"' )`), "?")
}

// consents reports whether a user's message agrees to the message before it.
// Agreement with an objection does not count.
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

// ofUser reports whether a text says something about the user, which only the
// user's words can prove.
func ofUser(text string) bool { return attribution.MatchString(plain(text)) }

// plain returns text in the form that patterns match: compatible forms normalised,
// lower case, plain apostrophes, single spaces.
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
