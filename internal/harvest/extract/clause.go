package extract

import "strings"

// mostOpenings bounds how many openings are taken off: "Well, ok, thanks, so, …".
const mostOpenings = 6

// open takes off what says nothing at the start of a sentence: "Oh, by the way,",
// and the name of somebody present who is spoken to.
func (s *sentence) open(present map[string]bool) {
	for range mostOpenings {
		if len(s.words) < 2 {
			return
		}
		n := longOpenings.starts(s.words)
		if n == 0 && s.words[0].comma && called(s.words[0].low, present) {
			n = 1
		}
		if n == 0 && openings[s.words[0].low] {
			n = 1
			// "Great news" and "So far" are no openings; "And I", "But we" are.
			if w := &s.words[0]; !w.comma && !(joining[w.low] && (w.low != "so" || self[low(s.words, 1)])) {
				return
			}
		}
		if n == 0 && s.words[0].low == "" { // a dash
			n = 1
		}
		if n == 0 || n >= len(s.words) {
			return
		}
		s.cutTo(s.words[n].start)
	}
}

var joining = set("and but so also plus yeah yep yes oh well")

// cutTo drops what stands before byte i of the sentence's text.
func (s *sentence) cutTo(i int) {
	s.text = s.text[i:]
	s.words = wordsOf(s.text)
}

// cutAt drops what stands from byte i on, and the punctuation before it.
func (s *sentence) cutAt(i int) {
	s.text = strings.TrimRight(s.text[:i], " ,;:–—-")
	s.words = wordsOf(s.text)
}

// tag is how many words a question tag has at most.
const tag = 3

// head leaves of a sentence what stands before a request: "I moved to Lyon, can
// you suggest a doctor?" It reports whether anything of it is a statement.
func (s *sentence) head() bool {
	for i := 4; i < len(s.words); i++ {
		if requests.starts(s.words[i:]) == 0 {
			continue
		}
		k := i
		for k > 0 && (joining[s.words[k-1].low] || s.words[k-1].low == "") {
			k--
		}
		if k < 4 || k == i && !s.words[k-1].comma {
			continue
		}
		if follow := low(s.words, i); !s.asks && (follow == "what" || follow == "which" || follow == "right" || follow == "ok" || follow == "okay") {
			continue // ", which is …"
		}
		if s.asks && len(s.words)-i <= tag {
			return false // "It is manual, isn't it?" asks for all of it
		}
		s.cutAt(s.words[k].start)
		s.asks = false
		return !questioning(s.words)
	}
	return !s.asks && !questioning(s.words)
}

// clauses splits a sentence that is longer than limit characters where a new
// subject begins: "…, and I …". Each part is a sentence of its own.
func (s *sentence) clauses(limit int) []sentence {
	if characters(s.text) <= limit {
		return []sentence{*s}
	}
	var out []sentence
	rest := *s
	for i := 5; i < len(rest.words); i++ {
		w := rest.words
		semicolon := strings.HasSuffix(strings.TrimRight(rest.text[:w[i].start], " "), ";")
		joined := joining[w[i-1].low] && w[i-2].comma && self[w[i].low]
		if !semicolon && !joined {
			continue
		}
		first := rest
		cut := w[i].start
		if joined {
			cut = w[i-1].start
		}
		first.cutAt(cut)
		out = append(out, first)
		rest.cutTo(w[i].start)
		rest.full = rest.text
		i = 4
	}
	return append(out, rest)
}

// called reports whether a word is the name of somebody present, or a short form.
func called(w string, present map[string]bool) bool {
	if present[w] {
		return true
	}
	for name := range present {
		if len(w) >= 3 && strings.HasPrefix(name, w) {
			return true
		}
	}
	return false
}
