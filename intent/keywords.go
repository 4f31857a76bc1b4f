package intent

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// findKeywords ranks the words that a text is about. With no statistics of a
// corpus at hand, it trusts position (the beginning and the end of a message
// are what the user typed, the middle is what was pasted), prose over code, and
// repetition.
func findKeywords(out *ranking, text string, words []word) {
	const edge = 400
	for i := range words {
		w := &words[i]
		if w.not || w.frame || isSymbol(w) != notSymbol {
			continue
		}
		score := 1
		if !w.code {
			score += 2
		}
		if w.start < edge || len(text)-w.end < edge {
			score += 2
		}
		if w.unspaced {
			unspacedKeywords(out, w.text, score)
			continue
		}
		if strings.Contains(w.text, "/") {
			if !strings.Contains(w.text, "://") { // "client/server" is two words, an address none
				for part := range strings.SplitSeq(w.low, "/") {
					addKeyword(out, part, score, w.code)
				}
			}
			continue
		}
		addKeyword(out, w.low, score, w.code)
	}
}

func addKeyword(out *ranking, k string, score int, code bool) {
	switch {
	case k == "" || len(k) > analysis.MaxTermBytes || analysis.IsStopWord(k):
		return
	case len(k) == 1 && !isDigit(k[0]):
		return
	case code && isDigit(k[0]):
		return // numbers in logs and code: timestamps, addresses, literals
	}
	switch fillers[k] {
	case never:
		return
	case rarely:
		score -= 2
	}
	out.add(k, score)
}

// unspacedKeywords adds the stretches of a run without spaces that are likely
// words: it is cut where kana meets another script and at Chinese function
// characters. Stretches of hiragana are mostly grammar.
func unspacedKeywords(out *ranking, run string, score int) {
	const longest = 12 // characters
	start, chars, kind := 0, 0, other
	flush := func(end int) {
		s := score
		if kind == hiragana {
			s -= 2
		}
		if chars == 1 {
			s -= 2
		}
		if kind != particle {
			out.add(run[start:end], s)
		}
		start, chars = end, 0
	}
	for i, r := range run {
		k := scriptOf(r)
		if r == 'ー' || k == other && utf8.RuneLen(r) == 3 && r < 0x2E80 {
			k = kind // a long vowel, a Thai or Khmer letter: goes on
		}
		if chars > 0 && (k != kind || chars >= longest) {
			flush(i)
		}
		kind = k
		chars++
	}
	if chars > 0 {
		flush(len(run))
	}
}

type script uint8

const (
	other script = iota
	han
	hiragana
	katakana
	hangul
	particle // a Chinese character that is grammar
)

func scriptOf(r rune) script {
	switch {
	case r >= 0x3041 && r <= 0x309F:
		return hiragana
	case r >= 0x30A0 && r <= 0x30FF, r >= 0xFF66 && r <= 0xFF9F:
		return katakana
	case r >= 0xAC00 && r <= 0xD7A3:
		return hangul
	case r >= 0x3400 && r <= 0x9FFF:
		if strings.ContainsRune("的了是在我你您他她它们們这這那吗嗎呢吧啊哪什么麼怎和与與及把被给給也都就很请請", r) {
			return particle
		}
		return han
	}
	return other
}

type filler uint8

const (
	never  filler = iota + 1 // politeness: no keyword at all
	rarely                   // a keyword when there is room
)

// fillers are words that people put around what they mean.
var fillers = func() map[string]filler {
	m := map[string]filler{}
	for w := range strings.FieldsSeq(`please thanks thank thx hey hi hello ok okay yes yeah yep yup no nope oh ah hmm wow
		lol haha really actually basically maybe perhaps anyway kindly let lets gonna wanna etc not dont cant`) {
		m[w] = never
	}
	for w := range strings.FieldsSeq(`want need help tell know think guess get got gets getting go going make makes made making
		use using used do try tried trying like thing things something anything everything someone way lot bit much many
		good great nice well now then still again look looking see seems give show find happen happens happened
		will may up out all any more most other new one two first last time sure right just able keep keeps work works
		working talk talked say said mention mentioned ask asked explain remember question answer`) {
		m[w] = rarely
	}
	return m
}()
