package extract

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// word is one stretch of a sentence without spaces.
type word struct {
	start, end int    // of the core in the sentence
	low        string // the core in lower case, with straight apostrophes; "" for punctuation and code
	code       bool   // it stands between backticks
	upper      bool   // the core starts with a capital
	comma      bool   // punctuation follows it
}

// wordsOf splits a sentence at its spaces. The core of a word is what is left
// without the punctuation around it.
func wordsOf(s string) []word {
	out := make([]word, 0, 8+len(s)/6)
	code := false
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			i++
			continue
		}
		end := i + strings.IndexByte(s[i:], ' ')
		if end < i {
			end = len(s)
		}
		ticks := strings.Count(s[i:end], "`")
		core := strings.TrimLeft(s[i:end], around)
		start := end - len(core)
		core = strings.TrimRight(core, around)
		w := word{start: start, end: start + len(core), comma: start+len(core) < end, code: code || ticks > 0}
		if !w.code {
			w.low = lower(core)
		}
		code = code != (ticks%2 == 1)
		if r, _ := utf8.DecodeRuneInString(core); unicode.IsUpper(r) {
			w.upper = true
		}
		out = append(out, w)
		i = end
	}
	return out
}

// around is the punctuation that stands at the ends of words.
const around = ".,;:!?()[]{}\"'*_~“”‘’`…—–-"

func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.ReplaceAll(strings.ToLower(s), "’", "'")
		}
	}
	return s
}

// low returns the lower-case core of word i, "" beyond the end.
func low(words []word, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].low
}

// has reports whether one of the first n words is in the set.
func has(words []word, n int, in map[string]bool) bool {
	for i := range min(n, len(words)) {
		if in[words[i].low] {
			return true
		}
	}
	return false
}

// phrases are things that people say, by their first word. Words are in lower
// case and without punctuation.
type phrases struct{ byFirst func() map[string][][]string }

// list reads phrases that are separated by commas, when they are needed first.
func list(s string) phrases {
	return phrases{sync.OnceValue(func() map[string][][]string {
		out := map[string][][]string{}
		for p := range strings.SplitSeq(s, ",") {
			if words := strings.Fields(p); len(words) > 0 {
				out[words[0]] = append(out[words[0]], words)
			}
		}
		return out
	})}
}

// starts returns the number of words of the longest phrase that words start with,
// 0 for none.
func (p phrases) starts(words []word) (n int) {
	for _, phrase := range p.byFirst()[low(words, 0)] {
		if len(phrase) > n && follows(words, phrase) {
			n = len(phrase)
		}
	}
	return n
}

// in returns where the first phrase stands among words, or -1.
func (p phrases) in(words []word) int {
	for i := range words {
		if p.starts(words[i:]) > 0 {
			return i
		}
	}
	return -1
}

func follows(words []word, phrase []string) bool {
	if len(words) < len(phrase) {
		return false
	}
	for i := range phrase {
		if words[i].low != phrase[i] {
			return false
		}
	}
	return true
}

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// characters counts code points.
func characters(s string) int { return utf8.RuneCountInString(s) }

// squeeze replaces every run of white space by one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
