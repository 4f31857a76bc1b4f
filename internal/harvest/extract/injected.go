package extract

import (
	"strings"

	"github.com/kenlayer/ken/guardrail"
)

// Orders that are aimed at the memory, or at whoever reads it: nobody writes them
// but who pastes or plants them, and one of them makes a whole message suspect.
var (
	overrides = set("ignore disregard forget override bypass overrule")
	overruled = set("instructions instruction prompt prompts rules directives guidelines guardrails safeguards")
	planted   = list(`add this to your memory, add to your memory, store this in your memory, store the following, save this to memory, save this to your memory, write this to memory, write this to your memory,
		update your memory, you must always obey, you must obey, obey me, always obey, system prompt, developer mode, jailbreak, you are now, act as if you have no, without any restrictions, new instructions,
		end of system, begin system, as an ai, memory update, review the conversation above, the conversation above, system note, system reminder, nothing to save, save it using the memory tool`)
)

// suspect reports a message that gives orders to the memory or to the model's
// rules. None of what it says is learned.
func suspect(text string) bool {
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

var above = set("previous prior above earlier all any your the these those preceding existing")

// credentials are words after which a secret stands in plain prose, where no rule
// can tell it by its shape.
var credentials = set("password passwords passphrase passcode pin secret token api-key apikey credential credentials")

// secret reports a sentence that tells a credential, or told one before it was
// taken out.
func secret(s *sentence) bool {
	if strings.Contains(s.text, "[redacted:") {
		return true
	}
	for i := range s.words {
		before := low(s.words, i-1)
		if w := s.words[i].low; !credentials[w] && !(w == "key" && (before == "api" || before == "private" || before == "access")) {
			continue
		}
		for k, w := range s.words[i:min(i+7, len(s.words))] { // "the password of the backup is …"
			if k > 0 && tells[w.low] || w.end < len(s.text) && s.text[w.end] == ':' {
				return true
			}
		}
	}
	return false
}

var tells = set("is are was were =")
