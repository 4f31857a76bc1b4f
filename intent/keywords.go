package intent

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// findKeywords ranks the words that a text is about. It has no statistics of a corpus. It prefers
// words at the beginning and the end of a message, which users type themselves (the middle is
// usually pasted), words in prose over those in code, and repeated words.
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
			if !strings.Contains(w.text, "://") { // "client/server" is two words, a URL is none
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
		return // numbers in logs and code are timestamps, addresses or literals
	}
	switch fillers[k] {
	case never:
		return
	case rarely:
		score -= 2
	}
	out.add(k, score)
}

// unspacedKeywords adds the probable words in a run of text without spaces. It splits the run where
// kana meets another script, and at Chinese function characters. Runs of hiragana are mostly
// grammar.
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
			k = kind // a long vowel, or a Thai or Khmer letter, continues the word
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
	particle // a Chinese function character
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
	never  filler = iota + 1 // politeness, never a keyword
	rarely                   // a keyword only if there is room
)

// fillers are words that people add around their actual question.
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

// A frame is a phrase around a question that does not belong to its subject: "can you give me a
// comprehensive summary of …", "… throughout our conversations". Its words are rare enough in the
// searched texts to outweigh the subject. Leaving them out raises recall@10 on long chats from 0.57
// to 0.59 and changes nothing elsewhere.

// frameParts lists the frames, one per line. Words are separated by spaces and alternatives by |.
// An optional word ends in ?, and _ joins words that belong together. Frames of the second list
// count only directly after another frame.
var frameParts = [2]string{`
	can|could|would|will you|we please?
	tell|give|show|remind me
	walk me through
	a|the? comprehensive|complete|detailed|full|brief|short|thorough summary|overview|description|explanation|account|breakdown of?
	a|the summary|overview of
	the? order in which i|we|you?
	brought|bring|bringing up
	different|various|several aspects|things|topics|points of|about|on?
	throughout|across|during|over all? of? our|my|the|these|those conversations|conversation|discussions|discussion|chats|chat|sessions|requests|messages
	in our|my|these|those conversations|conversation|discussions|discussion|chats|chat|sessions
	mention only and_only?
	do|did|can you remember|recall|know
	did|have|had i|we|you ever? say|said|mention|mentioned|tell|told|ask|asked|discuss|discussed|talk|talked about|wanting|that|to?
	i|we|you said|mentioned|asked|discussed
	i|we|you talked about
	am|was|were i|we trying|looking|planning|going to
	i'm trying|looking|planning|going to
	would|do|should you suggest|recommend|advise|say i|we? use|take|do?
	what steps
	step by step
	help me`, `
	help me
	walk me through
	list
	explain|provide|describe|summarize|summarise|recall|suggest|recommend
	with|me|of|us
	in order
	three|four|five|six|seven|eight|nine|ten items`}

// phrases is a tree of words. ends marks the last word of a phrase.
type phrases struct {
	next map[string]*phrases
	ends bool
}

var frames = sync.OnceValue(func() (out [2]*phrases) {
	for i, list := range frameParts {
		out[i] = &phrases{}
		for line := range strings.Lines(list) {
			if slots := strings.Fields(line); len(slots) > 0 {
				out[i].add(slots)
			}
		}
	}
	return out
})

func (p *phrases) add(slots []string) {
	if len(slots) == 0 {
		p.ends = true
		return
	}
	slot, optional := strings.CutSuffix(slots[0], "?")
	if optional {
		p.add(slots[1:])
	}
	for choice := range strings.SplitSeq(slot, "|") {
		at := p
		for word := range strings.SplitSeq(choice, "_") {
			if at.next == nil {
				at.next = map[string]*phrases{}
			}
			if at.next[word] == nil {
				at.next[word] = &phrases{}
			}
			at = at.next[word]
		}
		at.add(slots[1:])
	}
}

// longest returns the number of words, from the first, in the longest matching phrase.
func (p *phrases) longest(words []word) int {
	n := 0
	for i := range words {
		if p = p.next[words[i].low]; p == nil || words[i].code {
			break
		}
		if p.ends {
			n = i + 1
		}
	}
	return n
}

// markFrames sets frame for the words of frames.
func markFrames(words []word) {
	behind, frames := false, frames()
	for i := 0; i < len(words); {
		n := frames[0].longest(words[i:])
		if behind && n == 0 {
			n = frames[1].longest(words[i:])
		}
		behind = n > 0
		for ; n > 0; n-- {
			words[i].frame = true
			i++
		}
		if !behind {
			i++
		}
	}
	markLanguage(words)
}

// subject returns text without its frames; "" if it has no frames, or nothing else.
func subject(text string, words []word) string {
	var b strings.Builder
	from, framed, left := 0, false, false
	for i := range words {
		w := &words[i]
		left = left || !w.frame
		if !w.frame {
			continue
		}
		framed = true
		b.WriteString(text[from:w.start])
		from = w.end
	}
	if !framed || !left {
		return ""
	}
	b.WriteString(text[from:])
	return strings.Join(strings.Fields(b.String()), " ")
}

// languages are names of programming languages. A question names one to say which code is wanted,
// but that code rarely contains the name.
var languages = analysis.Set("python golang java javascript typescript ruby rust kotlin scala php perl swift c++ c#")

// markLanguage marks a programming language at the start or the end of a question of several words
// as a frame: "python sort a list by key", "… in Java?".
func markLanguage(words []word) {
	const several = 4
	if len(words) < several {
		return
	}
	if first := &words[0]; languages[first.low] && !first.code && !words[1].comma {
		first.frame = true
	}
	last := len(words) - 1
	if languages[words[last].low] && !words[last].code {
		switch words[last-1].low {
		case "in", "using", "with":
			words[last-1].frame = true
			words[last].frame = true
		case "to", "from", "into", "of", "about", "and", "or", "on", "prefer", "use", "learn", "like", "is", "than", "a", "the", "for":
		default:
			words[last].frame = true
		}
	}
}
