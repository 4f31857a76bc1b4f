package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/run/session"
)

// goal is what the session set out for: the beginning of the first message that
// is more than small talk.
func (d *digest) goal() string {
	for i := range d.all {
		s := &d.all[i]
		if !s.person {
			continue
		}
		var b strings.Builder
		for k := range s.parts {
			part := s.parts[k]
			part.open(nil)
			if secret(&part) || b.Len() == 0 && substance(part.words) < 2 {
				continue
			}
			if b.Len() > 0 {
				if characters(b.String())+characters(part.text) >= maxGoal {
					break
				}
				b.WriteByte(' ')
			}
			b.WriteString(clip(unmarked(part.text), maxGoal))
		}
		if b.Len() > 0 {
			return b.String()
		}
	}
	return ""
}

// requests are what the user asked for after that, in the user's words, each once.
func (d *digest) requests(goal string) []string {
	var out []string
	known := map[string]bool{}
	for _, t := range analysis.Terms(goal) {
		known[t] = true
	}
	for i := range d.all {
		s := &d.all[i]
		if !s.person {
			continue
		}
		for _, part := range s.parts {
			part.open(nil)
			w := part.words
			if v := judge(&part, true); len(w) == 0 || v.reason == reasonSecret || !part.asks && !questioning(w) && v.reason != reasonRequest {
				continue
			}
			fresh := 0
			for _, t := range analysis.Terms(part.text) {
				if !known[t] && !vague[t] {
					fresh++
				}
				known[t] = true
			}
			if fresh >= leastFresh && !vagueQuestion(w) {
				out = append(out, clip(unmarked(part.text), maxRequest))
			}
		}
	}
	return out
}

// States reports whether a person says anything in a session but questions, requests and
// small talk, whether or not it can stand as a fact by itself.
func States(tr *session.Transcript) bool {
	toAgent := !twoPeople(tr)
	for _, s := range speeches(tr) {
		if !s.person {
			continue
		}
		for _, part := range sentences(s.text) {
			part.open(nil)
			if part.asks || substance(part.words) < 2 || questioning(part.words) {
				continue
			}
			switch judge(&part, toAgent).reason {
			case reasonQuestion, reasonRequest, reasonTalk, reasonSecret:
			default:
				return true
			}
		}
	}
	return false
}

// leastFresh is how many words a request must bring that none before it had.
const leastFresh = 2

// substance counts the words that say something.
func substance(words []word) (n int) {
	for i := range words {
		if w := words[i].low; w != "" && !analysis.IsStopWord(w) && !self[w] && !other[w] && !vague[analysis.Stem(w)] {
			n++
		}
	}
	return n
}
