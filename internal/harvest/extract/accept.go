package extract

import (
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// What an assistant proposes, and how a user accepts it.
var (
	proposals = list(`i suggest, i'd suggest, i would suggest, i recommend, i'd recommend, i would recommend, i propose, i'd propose, i'd go with, i would go with, i'll use, we should use,
		we should go with, we should keep, we could use, we can use, let's use, let's go with, let's keep, let's switch, let's store, let's put, my recommendation is, my suggestion is, the best option is, i'd use, i would use,
		should we use, should i use, shall we use, shall i use, should we go with, shall we go with, should we switch, shall we switch, should i switch, shall i switch`)
	assent   = set("yes yep yeah yup sure ok okay agreed perfect great lgtm absolutely definitely go do sounds good fine exactly correct right approved please let's that works excellent nice")
	refusals = set("no not don't nope but instead rather wait stop however although except unless only why what how which when where never actually maybe hold before after first")
)

// longestAssent is how many words an assent may have: a longer answer says for
// itself what was decided.
const longestAssent = 12

// agreed finds what the assistant proposed and the user accepted in the next
// message: "I suggest pgx, because lib/pq is not maintained." "Yes, do that." The
// words are the assistant's, and so is the message that is quoted; only the last
// proposal of a message counts, for that is what an assent answers.
func agreed(all []speech, limit int) []candidate {
	var out []candidate
	for i := 1; i < len(all); i++ {
		user, agent := &all[i], &all[i-1]
		if !user.person || agent.person || !assents(user) || suspect(agent.text) {
			continue
		}
		if c, ok := proposed(agent, limit-characters(acceptedPrefix)); ok {
			out = append(out, c)
		}
	}
	return out
}

// assents reports a message that accepts and says nothing else.
func assents(s *speech) bool {
	if len(s.text) > 120 {
		return false
	}
	w := wordsOf(squeeze(s.text))
	if len(w) == 0 || len(w) > longestAssent || !assent[w[0].low] {
		return false
	}
	return !has(w, len(w), refusals) && s.text[len(s.text)-1] != '?'
}

// proposed is the last proposal of an assistant's message.
func proposed(agent *speech, limit int) (candidate, bool) {
	parts := sentences(agent.text)
	for k := len(parts) - 1; k >= 0; k-- {
		p := parts[k]
		p.open(nil)
		if proposals.starts(p.words) == 0 || secret(&p) {
			continue
		}
		if characters(p.text) > limit || leans(p.words[1:], false) {
			break
		}
		k := candidate{from: agent, text: p.text, quote: p.text, sort: draft.Decision, confidence: 0.6, terms: analysis.Terms(p.text)}
		return k, k.weigh(&p, nil)
	}
	return candidate{}, false
}
