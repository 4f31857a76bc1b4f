package extract

import "strings"

// Where a session stands at its end.
type stop struct {
	unanswered string   // the user's last words, when nothing came after them
	open       []string // what the assistant named as still to be done
	last       string   // what the assistant said last that says where things stand
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

// stopped reads the end of a session: what comes after the last words of a user, or
// what the last words of the assistant leave open.
func stopped(all []speech) stop {
	var s stop
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
	if i < 0 || suspect(all[i].text) {
		return s
	}
	listed, item := false, false // whether the last line found was a list's
	for _, p := range sentences(all[i].text) {
		if secret(&p) || closings.in(p.words) >= 0 {
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
		if (s.last == "" || item && !p.item) && !p.asks && !strings.HasSuffix(p.text, ":") && substance(p.words) >= 2 && !polite(p.words) && !retells(p.words) {
			s.last, item = clip(unmarked(p.text), maxOpenItem), p.item
		}
	}
	return s
}

// unanswered is what a message waits to be told: its last question, or the last
// thing that it says.
func unanswered(s *speech) string {
	text := ""
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := &s.parts[i]
		n := substance(p.words)
		if secret(p) || n < 1 || n < 2 && !p.asks {
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

// retells reports a sentence of the assistant about the user: what it thinks to
// remember must not come back as knowledge.
func retells(words []word) bool {
	return has(words, len(words), other) || has(words, len(words), retelling)
}

var retelling = set("user user's users remember remembered recall recalled noted memory memorized saved")

// polite reports a sentence about how the assistant feels.
func polite(words []word) bool {
	switch w := words[0].low; w {
	case "i'm", "that's", "it's", "certainly", "yes":
		return true
	default:
		return phatic[w]
	}
}
