package model

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

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
